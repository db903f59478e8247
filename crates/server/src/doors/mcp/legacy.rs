//! The session of a request in the handshake revisions over HTTP.

use ::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::value::RawValue;
use toolyard_protocol::mcp::{McpRevision, RpcError, header};

use super::{client::McpClientContext, modern::header_text, sse::error_response};
use crate::{auth::CallerContext, state::ServerState};

/// The client of the session that a message names, or an error response under the message's id.
pub(super) fn session_client(
    state: &ServerState,
    who: CallerContext,
    headers: &HeaderMap,
    id: Option<&RawValue>,
) -> Result<McpClientContext, Box<Response>> {
    let refuse = |status, text: &str| {
        Box::new(error_response(status, id, &RpcError::new(RpcError::INVALID_REQUEST, text)))
    };
    if header_text(headers, header::PROTOCOL_VERSION)
        .is_some_and(|version| McpRevision::parse_served(version).is_none())
    {
        return Err(refuse(StatusCode::BAD_REQUEST, "MCP-Protocol-Version: not a supported revision"));
    }
    let session = header_text(headers, header::SESSION).ok_or_else(|| {
        refuse(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing; start with `initialize`")
    })?;
    state.mcp.sessions.find_client(session, who, state.clock.now()).ok_or_else(|| {
        refuse(
            StatusCode::NOT_FOUND,
            "the session does not exist or has ended; start again with `initialize`",
        )
    })
}
