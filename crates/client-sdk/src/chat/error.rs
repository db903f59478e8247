//! Why a chat failed.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use toolyard_protocol::Problem;

use crate::{stream::StreamError, wire::WireError};

/// How much of an unrecognized error body is shown, in characters.
const SHOWN_CHARS: usize = 200;

/// Why a chat failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The server cannot be reached, or the connection broke.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server refused the request.
    #[error("the server refused the request: {0}")]
    Refused(ChatRefusal),
    /// The response is not an event stream.
    #[error("the server answered {status} without a text/event-stream body; is that a Toolyard server?")]
    NoStream {
        /// HTTP status.
        status: u16,
    },
    /// The stream could not be parsed.
    #[error("the answer cannot be read: {0}")]
    Stream(#[from] StreamError),
    /// The stream ended before the answer was complete.
    #[error("the response ended before it was complete")]
    Truncated,
    /// No data arrived for too long.
    #[error("the server sent nothing for {wait:?}")]
    IdleTimeout {
        /// How long the client waited.
        wait: Duration,
    },
    /// The server or the model failed while answering.
    #[error("the answer failed: {0}")]
    Failed(String),
    /// A plugin's `before_request` failed.
    #[error("the plugin `{plugin}` stopped the request: {why}")]
    Hook {
        /// The plugin.
        plugin: String,
        /// The error of the hook.
        why: String,
    },
    /// The conversation is larger than any server accepts.
    #[error(
        "the request has {bytes} bytes; at most {limit}. Start a new conversation, or send less of this one"
    )]
    TooLarge {
        /// Size of the request, in bytes.
        bytes: usize,
        /// Largest size, in bytes.
        limit: usize,
    },
    /// The chat has no response to resume.
    #[error("the chat `{chat_id}` has no response to resume: it ended too long ago, or it was not resumable")]
    NothingToResume {
        /// The chat.
        chat_id: String,
    },
}

/// Why the server refused a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ChatRefusal {
    /// HTTP status.
    pub status: u16,
    /// The error code, if the server sent one.
    pub code: Option<String>,
    /// A message for people.
    pub message: String,
    /// Every problem that was found.
    pub problems: Vec<Problem>,
    /// The body as received, cut if it is long.
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
        let refusal = |code: Option<String>, message: String, problems: Vec<Problem>| Self {
            status,
            code,
            message,
            problems,
            body: body.clone(),
        };
        let error = serde_json::from_slice::<ChatRefusalBody>(&body).map(|body| body.error);
        if let Ok(Value::String(message)) = error {
            return refusal(None, message, Vec::new());
        }
        match error.and_then(serde_json::from_value::<RefusalDetails>) {
            Ok(details) => refusal(details.code, details.message, details.problems),
            Err(_) => {
                let shown: String = String::from_utf8_lossy(&body).trim().chars().take(SHOWN_CHARS).collect();
                refusal(None, format!("it answered {status}: {shown}"), Vec::new())
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
    fn refusals_of_the_server_are_parsed_in_all_formats() {
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
