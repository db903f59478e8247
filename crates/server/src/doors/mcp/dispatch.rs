//! Dispatches a request to its method, for clients of both eras and every transport. `subscriptions/listen` and the
//! handshake belong to the transport.

use bytes::Bytes;
use serde_json::{json, value::RawValue};
use toolyard_core::catalog::McpListKind;
use toolyard_protocol::{
    mcp::{RpcError, method},
    raw::to_raw,
};

use super::{
    about, call,
    call::MessageSender,
    client::{McpClientContext, parse_log_level},
    items,
    params::RpcParams,
    tasks,
};
use crate::state::ServerState;

/// A result as JSON.
pub(super) enum RpcResponse {
    /// A prepared page of a list.
    Page(Bytes),
    /// Anything else.
    Raw(Box<RawValue>),
}

impl RpcResponse {
    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Page(bytes) => bytes,
            Self::Raw(raw) => raw.get().as_bytes(),
        }
    }
}

/// Handles one request.
pub(super) async fn dispatch_request(
    state: &ServerState,
    client: &McpClientContext,
    method_name: &str,
    params: &RpcParams,
    out: &MessageSender,
) -> Result<RpcResponse, RpcError> {
    let raw = match method_name {
        method::TOOLS_LIST => return list_page(state, client, params, McpListKind::Tools).await,
        method::PROMPTS_LIST => return list_page(state, client, params, McpListKind::Prompts).await,
        method::RESOURCES_LIST => return list_page(state, client, params, McpListKind::Resources).await,
        method::RESOURCES_TEMPLATES_LIST => {
            return list_page(state, client, params, McpListKind::Templates).await;
        }
        method::TOOLS_CALL => call::call_tool(state, client, params, out).await?,
        method::PROMPTS_GET => items::get_prompt(state, client, params, out).await?,
        method::RESOURCES_READ => items::read_resource(state, client, params, out).await?,
        method::COMPLETE => items::complete_argument(state, client, params, out).await?,
        method::TASKS_GET if client.is_modern() => tasks::get_task(state, client, params).await?,
        method::TASKS_UPDATE if client.is_modern() => tasks::update_task(state, client, params).await?,
        method::TASKS_CANCEL if client.is_modern() => tasks::cancel_task(state, client, params).await?,
        method::DISCOVER if client.is_modern() => about::discover_result(),
        // The following methods exist only in the handshake revisions.
        method::PING if !client.is_modern() => to_raw(&json!({})),
        method::SET_LEVEL if !client.is_modern() => set_log_level(state, client, params)?,
        method::RESOURCES_SUBSCRIBE if !client.is_modern() => {
            items::set_subscription(state, client, params, out, true).await?
        }
        method::RESOURCES_UNSUBSCRIBE if !client.is_modern() => {
            items::set_subscription(state, client, params, out, false).await?
        }
        other => return Err(RpcError::method_not_found(other)),
    };
    Ok(RpcResponse::Raw(raw))
}

async fn list_page(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    kind: McpListKind,
) -> Result<RpcResponse, RpcError> {
    let cursor: Option<String> = params.get("cursor")?;
    let view = about::client_view(state, &client.who).await?;
    let page = view.list_page(kind, cursor.as_deref());
    page.map(RpcResponse::Page).map_err(|error| RpcError::invalid_params(format!("params.cursor: {error}")))
}

fn set_log_level(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
) -> Result<Box<RawValue>, RpcError> {
    let level = parse_log_level(&params.required::<String>("level")?)?;
    if let Some(session) = &client.session {
        state.mcp.sessions.set_log_level(session, level);
    }
    Ok(to_raw(&json!({})))
}
