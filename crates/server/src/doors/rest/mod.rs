//! The REST door: one module a noun. Handlers read the request, call a verb of the platform or the executor, and write the
//! response.

pub(crate) mod apps;
pub(crate) mod calls;
pub(crate) mod changes;
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
pub(crate) mod sdk;
pub(crate) mod seen;
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

use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use toolyard_protocol::{InvalidName, PackageName};

use crate::error::{Failure, json};

/// Longest words that are looked for in a list.
pub(crate) const MAX_WORDS: usize = 200;

/// What handlers give back.
pub(crate) type Answer = Result<Response, Failure>;

/// 200 with a body.
pub(crate) fn ok<T: Serialize>(body: &T) -> Answer {
    Ok(json(StatusCode::OK, body))
}

/// 204.
pub(crate) fn nothing() -> Answer {
    Ok(axum::response::IntoResponse::into_response(StatusCode::NO_CONTENT))
}

/// A package name from a path.
pub(crate) fn package(text: &str) -> Result<PackageName, Failure> {
    text.parse().map_err(|error: InvalidName| Failure::invalid(error.to_string()))
}
