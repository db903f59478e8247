//! Checks of the modern era on a request over HTTP, before its method is handled: `_meta`, version, headers.

use http::HeaderMap;
use serde_json::{Value, json};

use super::message::{META_PREFIX, MODERN, RpcFailure};

/// Methods of the modern era. Others are rejected before their parameters are checked.
const METHODS: [&str; 13] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// Checks the fields of `_meta`, for every transport.
pub(super) fn check_meta(message: &Value, versions: &[&str]) -> Result<(), RpcFailure> {
    let meta = &message["params"]["_meta"];
    let Some(version) = meta[format!("{META_PREFIX}protocolVersion")].as_str() else {
        return Err(RpcFailure::bad_meta(format!("_meta has no {META_PREFIX}protocolVersion")));
    };
    if !meta[format!("{META_PREFIX}clientCapabilities")].is_object() {
        return Err(RpcFailure::bad_meta(format!("_meta has no {META_PREFIX}clientCapabilities")));
    }
    if version != MODERN || !versions.contains(&MODERN) {
        let data = json!({ "supported": versions, "requested": version });
        return Err(RpcFailure::new(-32022, 400, "Unsupported protocol version").with_data(data));
    }
    Ok(())
}

/// Checks the headers that mirror the body, for HTTP only.
pub(super) fn check_headers(headers: &HeaderMap, message: &Value) -> Result<(), RpcFailure> {
    let params = &message["params"];
    let method = message["method"].as_str().unwrap_or_default();
    check_mirrored(headers, "mcp-method", method)?;
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => None,
    };
    name.map_or(Ok(()), |name| check_mirrored(headers, "mcp-name", name))
}

/// Checks that the version in the header matches the body.
pub(super) fn check_version(headers: &HeaderMap, message: &Value) -> Result<(), RpcFailure> {
    match message["params"]["_meta"][format!("{META_PREFIX}protocolVersion")].as_str() {
        Some(version) => check_mirrored(headers, "mcp-protocol-version", version),
        None => Ok(()),
    }
}

/// Checks that the method exists in the modern era.
pub(super) fn check_method(message: &Value) -> Result<(), RpcFailure> {
    let method = message["method"].as_str().unwrap_or_default();
    if METHODS.contains(&method) { Ok(()) } else { Err(RpcFailure::method_not_found(method)) }
}

/// Checks that the mirrored arguments, and only those, are in the headers.
pub(super) fn check_arguments(
    headers: &HeaderMap,
    schema: &Value,
    arguments: &Value,
) -> Result<(), RpcFailure> {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let argument = &arguments[name];
        if let Some(header) = property["x-mcp-header"].as_str() {
            let header = format!("mcp-param-{}", header.to_lowercase());
            let plain = match argument {
                Value::String(text) => Some(text.clone()),
                Value::Bool(_) | Value::Number(_) => Some(argument.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            };
            match plain {
                Some(plain) => check_mirrored(headers, &header, &plain)?,
                None if headers.contains_key(&header) => {
                    return Err(RpcFailure::header_mismatch(format!("{header} is there, but {name} is not")));
                }
                None => {}
            }
        }
        self::check_arguments(headers, property, argument)?;
    }
    Ok(())
}

fn check_mirrored(headers: &HeaderMap, name: &str, body: &str) -> Result<(), RpcFailure> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(RpcFailure::header_mismatch(format!("{name} has to be there once")));
    };
    let decoded = value.to_str().ok().and_then(|value| decode_header(value.trim()));
    match decoded {
        Some(value) if value == body => Ok(()),
        Some(value) => {
            Err(RpcFailure::header_mismatch(format!("{name} is {value}, but the body says {body}")))
        }
        None => Err(RpcFailure::header_mismatch(format!("{name} is neither plain text nor valid Base64"))),
    }
}

/// Decodes a header value, from `=?base64?…?=` if it is encoded.
fn decode_header(value: &str) -> Option<String> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(decode_base64(inner)?).ok()
}

/// Strict: requires correct padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    if text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in body.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_wrapped_values_strictly() {
        assert_eq!(decode_header("plain").as_deref(), Some("plain"));
        assert_eq!(decode_header("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decode_header("=?base64?SGk=?=").as_deref(), Some("Hi"));
        assert_eq!(decode_header("=?base64?w6TDtsO8?=").as_deref(), Some("äöü"));
        assert_eq!(decode_header("=?base64?SGVsbG8?="), None);
        assert_eq!(decode_header("=?base64?SGVs!!!bG8=?="), None);
        assert_eq!(decode_header("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
    }
}
