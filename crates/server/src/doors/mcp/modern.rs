//! What a request without a handshake has to carry: who asks in `_meta`, and headers that say the same as the body.

use ::http::HeaderMap;
use serde_json::Value;
use toolyard_protocol::mcp::{Revision, RpcError, header, meta, method};

use super::{
    client::{Client, askable, level},
    params::Params,
};
use crate::auth::ActingFor;

/// Longest version that is repeated in an error.
const MAX_SHOWN: usize = 40;

/// Whether a request speaks without a handshake: it says so in `_meta`, or in its header.
pub(super) fn looks_modern(params: &Params, headers: Option<&HeaderMap>) -> bool {
    let by_header =
        headers.and_then(|headers| text(headers, header::PROTOCOL_VERSION)).is_some_and(|version| {
            // Dates sort as text: whatever is newer than the last handshake has none.
            version > Revision::NEWEST_HANDSHAKE.as_str()
        });
    by_header
        || params.meta_raw(meta::PROTOCOL_VERSION).is_some()
        || params.meta_raw(meta::CLIENT_CAPABILITIES).is_some()
}

/// The client, as `_meta` says, and the header where there is one to compare.
pub(super) fn client(
    who: ActingFor,
    params: &Params,
    headers: Option<&HeaderMap>,
) -> Result<Client, RpcError> {
    let missing = |name: &str| RpcError::params(format!("params._meta[\"{name}\"]: missing or malformed"));
    let version = params.meta_text(meta::PROTOCOL_VERSION).ok_or_else(|| missing(meta::PROTOCOL_VERSION))?;
    let declared =
        params.meta_fields(meta::CLIENT_CAPABILITIES).ok_or_else(|| missing(meta::CLIENT_CAPABILITIES))?;
    if let Some(headers) = headers {
        same(headers, header::PROTOCOL_VERSION, &version)?;
    }
    let revision = version.parse().ok().filter(|revision: &Revision| revision.is_modern());
    let revision = revision.ok_or_else(|| unsupported(&version))?;
    let log_level = params.meta_text(meta::LOG_LEVEL).map(|name| level(&name)).transpose()?;
    Ok(Client { who, revision, declared: askable(&declared), log_level, session: None })
}

fn unsupported(version: &str) -> RpcError {
    let shown: String = version.chars().take(MAX_SHOWN).collect();
    let supported: Vec<&str> = Revision::SERVED.map(Revision::as_str).to_vec();
    RpcError::new(RpcError::UNSUPPORTED_VERSION, format!("revision {shown} is not spoken here"))
        .with(&serde_json::json!({ "supported": supported, "requested": shown }))
}

/// Whether the headers say the same as the body: method and name.
pub(super) fn check_headers(headers: &HeaderMap, asked: &str, params: &Params) -> Result<(), RpcError> {
    same(headers, header::METHOD, asked)?;
    let member = match asked {
        method::TOOLS_CALL | method::PROMPTS_GET => "name",
        method::RESOURCES_READ => "uri",
        _ => return Ok(()),
    };
    // Without a name there is nothing to compare; that it is missing is said where it is needed.
    match params.get::<String>(member) {
        Ok(Some(name)) => same(headers, header::NAME, &name),
        Ok(None) | Err(_) => Ok(()),
    }
}

fn same(headers: &HeaderMap, name: &'static str, body: &str) -> Result<(), RpcError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or_else(|| mismatch(format!("the header {name} is missing")))?;
    if values.next().is_some() {
        return Err(mismatch(format!("the header {name} is there twice")));
    }
    let value = value.to_str().ok().map(str::trim).and_then(header::decode);
    match value {
        Some(value) if value == body => Ok(()),
        Some(_) => Err(mismatch(format!("the header {name} does not say what the body says"))),
        None => Err(mismatch(format!("the header {name} cannot be read"))),
    }
}

/// Whether the mirrored parameters of a tool travel in headers as they do in the body.
pub(super) fn check_mirrored(
    headers: &HeaderMap,
    tool: &toolyard_core::Tool,
    arguments: Option<&serde_json::value::RawValue>,
) -> Result<(), RpcError> {
    let mirrored = tool.mirrored();
    if mirrored.is_empty() {
        return Ok(());
    }
    let arguments: Value =
        arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
    for parameter in mirrored {
        let sent = text(headers, &parameter.header);
        if headers.get_all(&parameter.header).iter().count() > 1 || !parameter.agrees(&arguments, sent) {
            let text = format!("the header {} does not say what the arguments say", parameter.header);
            return Err(mismatch(text));
        }
    }
    Ok(())
}

fn mismatch(text: String) -> RpcError {
    RpcError::new(RpcError::HEADER_MISMATCH, text)
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}
