//! The client of a request, from the request itself or its handshake.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolyard_protocol::{
    mcp::{McpRevision, RpcError, TASKS_EXTENSION},
    raw::RawFields,
};

use crate::{auth::CallerContext, calls::shown_client_name};

/// Largest declaration of client capabilities, in bytes. It is part of session ids.
const MAX_DECLARED_BYTES: usize = 2 * 1024;
/// Capabilities that sources may use. Other declared capabilities concern only this server.
const ASKABLE: [&str; 3] = ["elicitation", "sampling", "roots"];

/// An MCP client.
#[derive(Clone)]
pub(super) struct McpClientContext {
    pub(super) who: CallerContext,
    pub(super) revision: McpRevision,
    /// Declared capabilities that sources may use.
    pub(super) declared: Option<Arc<RawValue>>,
    /// Whether it supports tasks: the request declares the extension.
    pub(super) has_tasks: bool,
    /// Minimum level of log lines that it wants, if any.
    pub(super) log_level: Option<Arc<str>>,
    /// Its session, if any. Subscriptions belong to it.
    pub(super) session: Option<Arc<str>>,
    /// The name that it gave itself. Shown to people; proves nothing.
    pub(super) name: Option<Arc<str>>,
}

impl McpClientContext {
    pub(super) fn is_modern(&self) -> bool {
        self.revision.is_modern()
    }
}

/// The name of the client program in its `clientInfo`.
pub(super) fn client_name(info: Option<&RawFields>) -> Option<Arc<str>> {
    let name = info?.parse_field::<String>("name")?.ok()?;
    shown_client_name(&name)
}

/// The declared capabilities that sources may use, if any.
pub(super) fn askable_capabilities(capabilities: &RawFields) -> Option<Arc<RawValue>> {
    let mut askable = RawFields::default();
    for name in ASKABLE.into_iter().rev() {
        if let Some(raw) = capabilities.get(name) {
            askable.set(name, raw.to_owned());
        }
    }
    let raw = askable.to_raw();
    (askable.names().next().is_some() && raw.get().len() <= MAX_DECLARED_BYTES).then(|| raw.into())
}

/// Whether the capabilities of a modern client have the extension for tasks.
pub(super) fn declares_tasks(capabilities: &RawFields) -> bool {
    let extensions = capabilities.parse_field::<RawFields>("extensions").and_then(Result::ok);
    extensions.and_then(|all| all.parse_field::<RawFields>(TASKS_EXTENSION)).is_some_and(|own| own.is_ok())
}

/// Log levels, lowest first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Parses a log level.
pub(super) fn parse_log_level(name: &str) -> Result<Arc<str>, RpcError> {
    match LEVELS.iter().find(|level| **level == name) {
        Some(level) => Ok((*level).into()),
        None => Err(RpcError::invalid_params(format!("level: expected one of {}", LEVELS.join(", ")))),
    }
}

/// Whether the client wants this log line.
pub(super) fn should_send_log(wanted: Option<&str>, line: &RawValue) -> bool {
    let rank = |name: &str| LEVELS.iter().position(|level| *level == name);
    let fields: RawFields = serde_json::from_str(line.get()).unwrap_or_default();
    let level = fields.parse_field::<String>("level").and_then(Result::ok);
    let level = level.as_deref().and_then(rank).unwrap_or(LEVELS.len());
    wanted.and_then(rank).is_some_and(|wanted| level >= wanted)
}
