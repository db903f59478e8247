//! Reading request bodies: bounded, JSON only, with errors that name the place.

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
    error::{RequestError, api_error_status},
    state::ServerState,
};

/// A JSON body as bytes, of at most the configured size.
pub(crate) struct JsonBytes(pub(crate) Bytes);

/// A JSON body as a type.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body with the larger limit for tool sets.
pub(crate) struct LargeJsonBody<T>(pub(crate) T);

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
        || (kind.to_ascii_lowercase().starts_with("application/")
            && kind.to_ascii_lowercase().ends_with("+json"))
}

/// Reads a JSON body of at most `limit` bytes.
pub(crate) async fn read_json_body(
    headers: &HeaderMap,
    body: Body,
    state: &ServerState,
    limit: usize,
) -> Result<Bytes, RequestError> {
    if !is_json(headers) {
        return Err(RequestError::invalid_request(
            "the body must be JSON: send `Content-Type: application/json`",
        ));
    }
    collect_body(body, state, limit).await
}

async fn read_json_request(
    request: Request,
    state: &ServerState,
    limit: usize,
) -> Result<Bytes, RequestError> {
    let (parts, body) = request.into_parts();
    read_json_body(&parts.headers, body, state, limit).await
}

async fn collect_body(body: Body, state: &ServerState, limit: usize) -> Result<Bytes, RequestError> {
    let patience = Duration::from_millis(state.config.load().server.body_timeout_ms);
    let body = timeout(patience, Limited::new(body, limit).collect()).await;
    let body = body.map_err(|_| RequestError::invalid_request("the body did not arrive in time"))?;
    body.map(|body| body.to_bytes()).map_err(|error| {
        if error.downcast_ref::<LengthLimitError>().is_some() {
            RequestError::new(ApiErrorCode::TooLarge, format!("the body is larger than {limit} bytes"))
        } else {
            RequestError::invalid_request("the body is incomplete")
        }
    })
}

/// Reads a body as it is, up to the largest that any route accepts.
pub(crate) async fn read_bytes(body: Body, state: &ServerState) -> Result<Bytes, RequestError> {
    let config = state.config.load_full();
    let largest = config.server.body_bytes.max(config.server.tool_set_bytes).max(config.chat.body_bytes);
    collect_body(body, state, largest).await
}

fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, RequestError> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut from).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.into_inner());
        let place = if path == "." { String::new() } else { format!("`{path}`: ") };
        RequestError::invalid_request(format!("the body cannot be read: {place}{why}"))
    })?;
    from.end().map_err(|error| {
        RequestError::invalid_request(format!("unexpected data after the JSON body: {error}"))
    })?;
    Ok(parsed)
}

/// Reads an MCP message. MCP has its own error format, so an error is a status and a text.
pub(crate) async fn read_mcp_body(
    headers: &HeaderMap,
    body: Body,
    state: &ServerState,
) -> Result<Bytes, (StatusCode, String)> {
    let limit = state.config.load().server.body_bytes;
    read_json_body(headers, body, state, limit).await.map_err(|failure| match failure {
        RequestError::Api(error) => (api_error_status(error.code), error.message),
        RequestError::Refused(_) => (StatusCode::BAD_REQUEST, "the body cannot be read".to_owned()),
    })
}

/// A form that one of our own pages submitted.
pub(crate) struct FormBytes(pub(crate) Bytes);

/// Largest form in bytes.
const MAX_FORM_BYTES: usize = 64 * 1024;

impl FromRequest<ServerState> for FormBytes {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, Response> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(RequestError::invalid_request(
                "expected `Content-Type: application/x-www-form-urlencoded`",
            )
            .into());
        }
        Ok(Self(collect_body(request.into_body(), state, MAX_FORM_BYTES).await?))
    }
}

impl FromRequest<ServerState> for JsonBytes {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, Response> {
        let limit = state.config.load().server.body_bytes;
        Ok(Self(read_json_request(request, state, limit).await?))
    }
}

impl<T: DeserializeOwned> FromRequest<ServerState> for JsonBody<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, Response> {
        let limit = state.config.load().server.body_bytes;
        Ok(Self(parse_json(&read_json_request(request, state, limit).await?)?))
    }
}

impl<T: DeserializeOwned> FromRequest<ServerState> for LargeJsonBody<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, Response> {
        let limit = state.config.load().server.tool_set_bytes;
        Ok(Self(parse_json(&read_json_request(request, state, limit).await?)?))
    }
}
