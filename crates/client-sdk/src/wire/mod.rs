//! The transport: takes a chat request and returns a stream of bytes. Usually HTTP; a program that embeds a server brings its own.

mod http;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use toolyard_net::NetError;

pub(crate) use http::HttpWire;

/// The content type of a streamed response.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The path and query of chat requests.
pub const CHAT_PATH: &str = "api/chat?protocol=ui";
/// Response header that names the model.
pub const MODEL_HEADER: &str = "x-toolyard-model";

/// Why a request has no response, or an incomplete one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A network error.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The server took too long.
    #[error("the server did not answer within {wait:?}")]
    Timeout {
        /// How long the client waited.
        wait: Duration,
    },
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

/// A request. The wire adds the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireRequest {
    /// `POST /api/chat?protocol=ui` with this body.
    Chat(Bytes),
    /// Resumes a chat: `GET /api/chat/{id}/stream`.
    Resume {
        /// The id of the chat.
        chat_id: String,
    },
}

/// The body of a response, split anywhere.
pub type WireBody = BoxStream<'static, Result<Bytes, WireError>>;

/// The headers of a response, and its body.
pub struct WireResponse {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// The model that answers, if the server reports it.
    pub model: Option<String>,
    /// The body. Dropping it cancels the response.
    pub body: WireBody,
}

/// A transport to a server.
#[async_trait]
pub trait ChatWire: Send + Sync {
    /// Sends a request and returns when the response headers have arrived, whatever the status. Dropping the future or the body
    /// cancels the request. The caller applies the timeouts.
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError>;
}
