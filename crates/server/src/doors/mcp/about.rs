//! Describes this server to clients of both eras: `server/discover` and `initialize`.

use serde_json::{Value, json, value::RawValue};
use toolyard_core::{CatalogView, catalog::LIST_TTL_MS};
use toolyard_protocol::{
    mcp::{McpRevision, RpcError, TASKS_EXTENSION, meta},
    raw::{RawFields, to_raw},
};

use super::{
    client::{McpClientContext, askable_capabilities, client_name},
    params::RpcParams,
};
use crate::{auth::CallerContext, state::ServerState};

/// Describes this server to the model.
const INSTRUCTIONS: &str = "Tools of this user's apps, devices and connected servers. A tool's name begins with the app \
it belongs to. Tools may come and go with the user's apps and device; list them again when notified.";

fn server_info() -> Value {
    json!({ "name": "toolyard", "title": "Toolyard", "version": env!("CARGO_PKG_VERSION") })
}

/// Capabilities of the server. The same for all users, because apps and upstreams come and go while a client is connected.
fn server_capabilities() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    })
}

/// `server/discover`
pub(super) fn discover_result() -> Box<RawValue> {
    let mut capabilities = server_capabilities();
    // In the handshake revisions a client chooses which calls are tasks; here the server does.
    capabilities["extensions"] = json!({ TASKS_EXTENSION: {} });
    let supported: Vec<&str> = McpRevision::SERVED.map(McpRevision::as_str).to_vec();
    to_raw(&json!({
        "resultType": "complete",
        "supportedVersions": supported,
        "capabilities": capabilities,
        "instructions": INSTRUCTIONS,
        "ttlMs": LIST_TTL_MS,
        "cacheScope": "private",
        "_meta": { meta::SERVER_INFO: server_info() },
    }))
}

/// `initialize`: the client and the result.
pub(super) fn accept_handshake(
    who: CallerContext,
    params: &RpcParams,
) -> Result<(McpClientContext, Box<RawValue>), RpcError> {
    let requested: String = params.required("protocolVersion")?;
    let declared: RawFields = params.get("capabilities")?.unwrap_or_default();
    let revision = McpRevision::parse_served(&requested).filter(|revision| !revision.is_modern());
    let revision = revision.unwrap_or(McpRevision::NEWEST_HANDSHAKE);
    let answer = to_raw(&json!({
        "protocolVersion": revision.as_str(),
        "capabilities": server_capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    }));
    let client = McpClientContext {
        who,
        revision,
        declared: askable_capabilities(&declared),
        has_tasks: false,
        log_level: None,
        session: None,
        name: client_name(params.get("clientInfo").ok().flatten().as_ref()),
    };
    Ok((client, answer))
}

/// The view of the client.
pub(super) async fn client_view(state: &ServerState, who: &CallerContext) -> Result<CatalogView, RpcError> {
    state.catalog.view(&who.user, who.scope.clone()).await.map_err(|error| {
        tracing::error!(%error, "store failed during mcp request");
        RpcError::internal_error()
    })
}
