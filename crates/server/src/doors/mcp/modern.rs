//! Requests without a handshake: the client in `_meta`, and headers that must match the body.

use ::http::HeaderMap;
use serde_json::Value;
use toolyard_protocol::mcp::{McpRevision, RpcError, header, meta, method};

use super::{
    client::{McpClientContext, askable_capabilities, client_name, declares_tasks, parse_log_level},
    params::RpcParams,
};
use crate::auth::CallerContext;

/// Characters of a version that an error repeats.
const MAX_SHOWN: usize = 40;

/// Whether a request needs no handshake, according to its `_meta` or its header.
pub(super) fn looks_modern(params: &RpcParams, headers: Option<&HeaderMap>) -> bool {
    let by_header =
        headers.and_then(|headers| header_text(headers, header::PROTOCOL_VERSION)).is_some_and(|version| {
            // Dates sort as text. Every revision after the last handshake revision is modern.
            version > McpRevision::NEWEST_HANDSHAKE.as_str()
        });
    by_header
        || params.meta_raw(meta::PROTOCOL_VERSION).is_some()
        || params.meta_raw(meta::CLIENT_CAPABILITIES).is_some()
}

/// The client from `_meta`. The version header must match if headers are given.
pub(super) fn modern_client(
    who: CallerContext,
    params: &RpcParams,
    headers: Option<&HeaderMap>,
) -> Result<McpClientContext, RpcError> {
    let missing =
        |name: &str| RpcError::invalid_params(format!("params._meta[\"{name}\"]: missing or malformed"));
    let version = params.meta_text(meta::PROTOCOL_VERSION).ok_or_else(|| missing(meta::PROTOCOL_VERSION))?;
    let declared =
        params.meta_fields(meta::CLIENT_CAPABILITIES).ok_or_else(|| missing(meta::CLIENT_CAPABILITIES))?;
    if let Some(headers) = headers {
        check_header(headers, header::PROTOCOL_VERSION, &version)?;
    }
    let revision = version.parse().ok().filter(|revision: &McpRevision| revision.is_modern());
    let revision = revision.ok_or_else(|| unsupported_version(&version))?;
    let log_level = params.meta_text(meta::LOG_LEVEL).map(|name| parse_log_level(&name)).transpose()?;
    Ok(McpClientContext {
        who,
        revision,
        declared: askable_capabilities(&declared),
        has_tasks: declares_tasks(&declared),
        log_level,
        session: None,
        name: client_name(params.meta_fields(meta::CLIENT_INFO).as_ref()),
    })
}

fn unsupported_version(version: &str) -> RpcError {
    let shown: String = version.chars().take(MAX_SHOWN).collect();
    let supported: Vec<&str> = McpRevision::SERVED.map(McpRevision::as_str).to_vec();
    RpcError::new(RpcError::UNSUPPORTED_VERSION, format!("revision {shown} is not supported"))
        .with_data(&serde_json::json!({ "supported": supported, "requested": shown }))
}

/// Checks that the headers match the body: method and name.
pub(super) fn check_headers(
    headers: &HeaderMap,
    method_name: &str,
    params: &RpcParams,
) -> Result<(), RpcError> {
    check_header(headers, header::METHOD, method_name)?;
    let member = match method_name {
        method::TOOLS_CALL | method::PROMPTS_GET => "name",
        method::RESOURCES_READ => "uri",
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => "taskId",
        _ => return Ok(()),
    };
    // Without a name there is nothing to compare. The method itself reports that it is missing.
    match params.get::<String>(member) {
        Ok(Some(name)) => check_header(headers, header::NAME, &name),
        Ok(None) | Err(_) => Ok(()),
    }
}

fn check_header(headers: &HeaderMap, name: &'static str, body: &str) -> Result<(), RpcError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| header_mismatch(format!("the header {name} is missing")))?;
    if values.next().is_some() {
        return Err(header_mismatch(format!("the header {name} occurs twice")));
    }
    let value = value.to_str().ok().map(str::trim).and_then(header::decode_header);
    match value {
        Some(value) if value == body => Ok(()),
        Some(_) => Err(header_mismatch(format!("the header {name} does not match the body"))),
        None => Err(header_mismatch(format!("the header {name} cannot be read"))),
    }
}

/// Checks that the headers of a tool's mirrored parameters match its arguments.
pub(super) fn check_mirrored(
    headers: &HeaderMap,
    tool: &toolyard_core::Tool,
    arguments: Option<&serde_json::value::RawValue>,
) -> Result<(), RpcError> {
    let mirrored = tool.mirrored_parameters();
    if mirrored.is_empty() {
        return Ok(());
    }
    let arguments: Value =
        arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
    for parameter in mirrored {
        let sent = header_text(headers, &parameter.header);
        if headers.get_all(&parameter.header).iter().count() > 1
            || !parameter.matches_header(&arguments, sent)
        {
            let text = format!("the header {} does not match the arguments", parameter.header);
            return Err(header_mismatch(text));
        }
    }
    Ok(())
}

fn header_mismatch(text: String) -> RpcError {
    RpcError::new(RpcError::HEADER_MISMATCH, text)
}

pub(super) fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}
