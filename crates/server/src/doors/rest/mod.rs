//! The REST door: one module per noun. Handlers read the request, call a verb of the platform or the executor, and write the
//! response.

pub(crate) mod account;
pub(crate) mod approval_rules;
pub(crate) mod approvals;
pub(crate) mod apps;
mod attachment;
pub(crate) mod audit;
pub(crate) mod call_visibility;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod config;
pub(crate) mod definitions;
pub(crate) mod devices;
pub(crate) mod health;
pub(crate) mod icons;
pub(crate) mod installs;
pub(crate) mod keys;
pub(crate) mod legacy;
pub(crate) mod library;
pub(crate) mod me;
pub(crate) mod models;
pub(crate) mod oauth;
pub(crate) mod plugins;
pub(crate) mod push;
pub(crate) mod sdk;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod tokens;
pub(crate) mod tool_check;
pub(crate) mod tool_sets;
pub(crate) mod tools;
pub(crate) mod tts;
pub(crate) mod upstreams;
pub(crate) mod usage;
pub(crate) mod users;

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{InvalidName, PackageName, ToolName};

use crate::error::{RequestError, json_response};

/// Longest search text, in characters.
pub(crate) const MAX_WORDS: usize = 200;

/// Longest wait of a long-polling request, in seconds.
const MAX_WAIT_S: u64 = 60;

/// The query of a long-polling request.
#[derive(Deserialize)]
pub(crate) struct WaitQuery {
    wait: Option<u64>,
}

impl WaitQuery {
    /// How long the request may wait. By default it does not.
    pub(crate) fn longest_wait(&self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(0).min(MAX_WAIT_S))
    }
}

/// The result of a handler.
pub(crate) type HandlerResult = Result<Response, RequestError>;

/// 200 with a JSON body.
pub(crate) fn ok_json<T: Serialize>(body: &T) -> HandlerResult {
    Ok(json_response(StatusCode::OK, body))
}

/// 204.
pub(crate) fn no_content() -> HandlerResult {
    Ok(axum::response::IntoResponse::into_response(StatusCode::NO_CONTENT))
}

/// A canonical tool name from a path.
pub(crate) fn parse_tool(text: &str) -> Result<ToolName, RequestError> {
    text.parse().map_err(|error: InvalidName| RequestError::invalid_request(error.to_string()))
}

/// A package name from a path.
pub(crate) fn parse_package(text: &str) -> Result<PackageName, RequestError> {
    text.parse().map_err(|error: InvalidName| RequestError::invalid_request(error.to_string()))
}
