//! Why a chat failed.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use toolyard_protocol::Problem;

use crate::{stream::StreamError, wire::WireError};

/// How much of an answer in no known form is shown, in characters.
const SHOWN_CHARS: usize = 200;

/// Why a chat failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The server cannot be reached, or the connection broke.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server said no before it said anything else.
    #[error("the server refused the request: {0}")]
    Refused(ChatRefusal),
    /// Not an answer of our kind.
    #[error("the server answered {status} and no text/event-stream; is that a Toolyard server?")]
    NoStream {
        /// HTTP status.
        status: u16,
    },
    /// The stream cannot be read.
    #[error("the answer cannot be read: {0}")]
    Stream(#[from] StreamError),
    /// It ended without an end.
    #[error("the answer ended in the middle")]
    Truncated,
    /// Nothing came for too long.
    #[error("the server said nothing for {wait:?}")]
    IdleTimeout {
        /// How long was waited.
        wait: Duration,
    },
    /// The server or the model failed while it answered.
    #[error("the answer failed: {0}")]
    Failed(String),
    /// A plugin's `before_request` failed.
    #[error("the plugin `{plugin}` stopped the request: {why}")]
    Hook {
        /// The plugin.
        plugin: String,
        /// Its words.
        why: String,
    },
    /// The conversation is larger than any server takes.
    #[error(
        "the request has {bytes} bytes; at most {limit}. Begin a new conversation, or send less of this one"
    )]
    TooLarge {
        /// How many.
        bytes: usize,
        /// Most.
        limit: usize,
    },
    /// There is no answer of that chat.
    #[error(
        "there is no answer of the chat `{chat_id}` to go on with: it is over for too long, or was not resumable"
    )]
    NothingToResume {
        /// The chat.
        chat_id: String,
    },
}

/// The server said no.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ChatRefusal {
    /// HTTP status.
    pub status: u16,
    /// Of the server's table of codes, where it says one.
    pub code: Option<String>,
    /// For people.
    pub message: String,
    /// Every place that is wrong.
    pub problems: Vec<Problem>,
    /// The body as it came, cut where it is long.
    pub body: Bytes,
}

#[derive(Deserialize)]
struct ChatRefusalBody {
    error: Value,
}

#[derive(Deserialize)]
struct RefusalDetails {
    code: Option<String>,
    message: String,
    #[serde(default)]
    problems: Vec<Problem>,
}

impl ChatRefusal {
    pub(super) fn from_response(status: u16, body: Bytes) -> Self {
        let said = |code: Option<String>, message: String, problems: Vec<Problem>| Self {
            status,
            code,
            message,
            problems,
            body: body.clone(),
        };
        let error = serde_json::from_slice::<ChatRefusalBody>(&body).map(|body| body.error);
        if let Ok(Value::String(message)) = error {
            return said(None, message, Vec::new());
        }
        match error.and_then(serde_json::from_value::<RefusalDetails>) {
            Ok(told) => said(told.code, told.message, told.problems),
            Err(_) => {
                let shown: String = String::from_utf8_lossy(&body).trim().chars().take(SHOWN_CHARS).collect();
                said(None, format!("it answered {status}: {shown}"), Vec::new())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> ChatRefusal {
        ChatRefusal::from_response(400, Bytes::copy_from_slice(body.as_bytes()))
    }

    #[test]
    fn what_the_server_says_is_wrong_is_read_in_all_its_forms() {
        let api = read(
            r#"{"error":{"code":"INVALID_REQUEST","message":"no","problems":[{"path":"a","message":"b"}]}}"#,
        );
        assert_eq!(
            (api.code.as_deref(), api.message.as_str(), api.problems.len()),
            (Some("INVALID_REQUEST"), "no", 1)
        );
        assert_eq!(read(r#"{"error":"Missing X-User-Id header"}"#).message, "Missing X-User-Id header");
        assert_eq!(read(r#"{"error":{"message":"no"}}"#).message, "no");
        let other = read(&format!("<html>{}", "x".repeat(1_000)));
        assert!(
            other.message.starts_with("it answered 400: <html>x") && other.message.len() < 300,
            "{other}"
        );
    }
}
