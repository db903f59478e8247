//! Where the outside world begins: something that takes a chat request and gives back a stream of bytes. Usually a server
//! over HTTP; a program that has a server inside brings its own.

mod http;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use toolyard_net::NetError;

pub(crate) use http::HttpWire;

/// The content type of an answer that is told while it is made.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The path and query at which answers are asked for.
pub const CHAT_PATH: &str = "api/chat?protocol=ui";
/// Names the model that answers, in the head of an answer.
pub const MODEL_HEADER: &str = "x-toolyard-model";

/// Why a request has no answer, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The network said no.
    #[error(transparent)]
    Net(#[from] NetError),
    /// It took too long.
    #[error("the server did not answer within {wait:?}")]
    Timeout {
        /// How long was waited.
        wait: Duration,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// What is asked for. Credentials are the wire's own matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireRequest {
    /// An answer to this body of `POST /api/chat?protocol=ui`.
    Chat(Bytes),
    /// The answer of a resumable chat once more: `GET /api/chat/{id}/stream`.
    Resume {
        /// The chat.
        chat_id: String,
    },
}

/// The body of an answer, piece by piece, cut anywhere.
pub type WireBody = BoxStream<'static, Result<Bytes, WireError>>;

/// The head of an answer, and its body.
pub struct WireResponse {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// The model that answers, where the server says so.
    pub model: Option<String>,
    /// The body. Dropping it ends the answer.
    pub body: WireBody,
}

/// A way to a server.
#[async_trait]
pub trait ChatWire: Send + Sync {
    /// Sends a request; returns once the head of the answer is there, whatever status it has. Dropping the future, or the
    /// pieces of the answer, ends everything. Time limits are the caller's.
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError>;
}
