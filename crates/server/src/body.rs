//! Reading bodies: bounded, JSON only, with errors that say where.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::time::{Duration, timeout};
use toolyard_protocol::api::ApiErrorCode;

use crate::{
    error::{Failure, status_of},
    state::AppState,
};

/// A JSON body as bytes, of at most the configured size.
pub(crate) struct JsonBytes(pub(crate) Bytes);

/// A JSON body as a type.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A tool set: larger than other bodies.
pub(crate) struct LargeJsonBody<T>(pub(crate) T);

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
        || (kind.to_ascii_lowercase().starts_with("application/")
            && kind.to_ascii_lowercase().ends_with("+json"))
}

/// A JSON body of at most so many bytes.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    state: &AppState,
    limit: usize,
) -> Result<Bytes, Failure> {
    if !is_json(headers) {
        return Err(Failure::invalid("the body must be JSON: send `Content-Type: application/json`"));
    }
    collected(body, state, limit).await
}

async fn json(request: Request, state: &AppState, limit: usize) -> Result<Bytes, Failure> {
    let (parts, body) = request.into_parts();
    read(&parts.headers, body, state, limit).await
}

async fn collected(body: Body, state: &AppState, limit: usize) -> Result<Bytes, Failure> {
    let patience = Duration::from_millis(state.config.server.body_timeout_ms);
    let body = timeout(patience, Limited::new(body, limit).collect()).await;
    let body = body.map_err(|_| Failure::invalid("the body did not arrive in time"))?;
    body.map(|body| body.to_bytes()).map_err(|error| {
        if error.downcast_ref::<LengthLimitError>().is_some() {
            Failure::new(ApiErrorCode::TooLarge, format!("the body is larger than {limit} bytes"))
        } else {
            Failure::invalid("the body did not arrive whole")
        }
    })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.into_inner());
        let place = if path == "." { String::new() } else { format!("`{path}`: ") };
        Failure::invalid(format!("the body cannot be read: {place}{why}"))
    })?;
    from.end().map_err(|error| Failure::invalid(format!("the body goes on after its JSON: {error}")))?;
    Ok(parsed)
}

/// A message of MCP, refused with a status and words for its own form of errors.
pub(crate) async fn mcp(
    headers: &HeaderMap,
    body: Body,
    state: &AppState,
) -> Result<Bytes, (StatusCode, String)> {
    read(headers, body, state, state.config.server.body_bytes).await.map_err(|failure| match failure {
        Failure::Api(error) => (status_of(error.code), error.message),
        Failure::Refused(_) => (StatusCode::BAD_REQUEST, "the body cannot be read".to_owned()),
    })
}

/// A form of a page of ours.
pub(crate) struct FormBytes(pub(crate) Bytes);

/// Largest form.
const MAX_FORM_BYTES: usize = 64 * 1024;

impl FromRequest<AppState> for FormBytes {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(Failure::invalid("expected the form of the page").into());
        }
        Ok(Self(collected(request.into_body(), state, MAX_FORM_BYTES).await?))
    }
}

impl FromRequest<AppState> for JsonBytes {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        Ok(Self(json(request, state, state.config.server.body_bytes).await?))
    }
}

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBody<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        Ok(Self(parse(&json(request, state, state.config.server.body_bytes).await?)?))
    }
}

impl<T: DeserializeOwned> FromRequest<AppState> for LargeJsonBody<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        Ok(Self(parse(&json(request, state, state.config.server.tool_set_bytes).await?)?))
    }
}
