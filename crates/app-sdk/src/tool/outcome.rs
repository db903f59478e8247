//! The outcome of a call, and its two formats on the wire: one JSON object, or the last of several lines.

use std::fmt::Display;

use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use toolyard_protocol::{ErrorCode, call::CallProgress, items::request::NOT_FOUND, result::ResultExtensions};

use super::{IntoToolReply, ToolReply};
use crate::limits::MAX_REPLY_BYTES;

pub(crate) type HandlerOutcome = Result<ToolReply, CallFailure>;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallFailure {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl CallFailure {
    pub(crate) fn new(code: ErrorCode, message: String) -> Self {
        let status = StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code: code.as_str(), message }
    }

    pub(crate) fn invalid_arguments(message: String) -> Self {
        Self::new(ErrorCode::InvalidArguments, message)
    }

    /// The prompt or resource does not exist.
    pub(crate) fn not_found(message: String) -> Self {
        Self { status: StatusCode::NOT_FOUND, code: NOT_FOUND, message }
    }

    pub(crate) fn from_handler(message: impl Display) -> Self {
        Self::new(ErrorCode::HandlerError, message.to_string())
    }
}

/// Converts the result of a handler.
pub(super) fn to_outcome<R: IntoToolReply, E: Display>(result: Result<R, E>) -> HandlerOutcome {
    let reply = result.map_err(CallFailure::from_handler)?;
    reply
        .into_tool_reply()
        .map_err(|error| CallFailure::from_handler(format!("the result cannot be written as JSON: {error}")))
}

/// The body of a response.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallResponse {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallResponseError>,
    #[serde(skip_serializing_if = "ResultExtensions::is_empty")]
    mentra_extensions: ResultExtensions,
}

#[derive(Debug, Serialize)]
struct CallResponseError {
    code: &'static str,
    message: String,
}

impl CallResponse {
    /// The response to a call, with the status for the format without lines.
    fn from_outcome(outcome: HandlerOutcome) -> (StatusCode, Self) {
        match outcome {
            Ok(reply) => (StatusCode::OK, Self::from_reply(reply)),
            Err(failure) => (failure.status, Self::from_failure(failure.code, failure.message)),
        }
    }

    fn from_reply(reply: ToolReply) -> Self {
        let ToolReply { text, structured, failure, extensions } = reply;
        let error =
            failure.map(|message| CallResponseError { code: ErrorCode::ExecutionError.as_str(), message });
        Self {
            success: error.is_none(),
            content: text,
            structured_content: structured,
            error,
            mentra_extensions: extensions,
        }
    }

    fn from_failure(code: &'static str, message: String) -> Self {
        Self {
            success: false,
            content: None,
            structured_content: None,
            error: Some(CallResponseError { code, message }),
            mentra_extensions: ResultExtensions::default(),
        }
    }

    /// Encodes the response. One that is larger than the platform accepts becomes an error.
    pub(crate) fn encode_outcome(
        outcome: HandlerOutcome,
        form: impl Fn(&Self) -> Vec<u8>,
    ) -> (StatusCode, Vec<u8>) {
        let (status, answer) = Self::from_outcome(outcome);
        let body = form(&answer);
        if body.len() <= MAX_REPLY_BYTES {
            return (status, body);
        }
        let message = format!("the reply has {} bytes; at most {MAX_REPLY_BYTES} may be sent", body.len());
        let (status, answer) = Self::from_outcome(Err(CallFailure::from_handler(message)));
        (status, form(&answer))
    }
}

/// One line of a response in lines.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ResponseLine<'a> {
    Progress(&'a CallProgress),
    Result(&'a CallResponse),
}
