//! JSON-RPC messages: parsed without looking into params and results, and written.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::raw::to_raw;

/// Longest accepted id, in bytes of JSON. Ids are repeated in every response.
pub const MAX_ID_BYTES: usize = 256;

/// A received message.
#[derive(Debug)]
pub enum RpcMessage<'a> {
    /// Expects a response.
    Request {
        /// A string or a number, as received.
        id: &'a RawValue,
        /// The method.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<&'a RawValue>,
    },
    /// Expects no response.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// Its parameters.
        params: Option<&'a RawValue>,
    },
    /// Responds to one of our requests.
    Response {
        /// The id of the request; missing if the peer rejects what it could not parse.
        id: Option<&'a RawValue>,
        /// The result or the error.
        outcome: Result<&'a RawValue, RpcError>,
    },
}

/// Why a text is not a valid message, and the id to respond with, if there is one.
#[derive(Debug, Clone)]
pub struct InvalidRpcMessage {
    /// The id of the request.
    pub id: Option<Box<RawValue>>,
    /// The error to respond with.
    pub error: RpcError,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// Human-readable message.
    #[serde(default)]
    pub message: String,
    /// Data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// Valid JSON, but not a message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The params are invalid.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Internal error.
    pub const INTERNAL: i64 = -32603;
    /// Handshake revisions: the resource does not exist.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A header does not match the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client did not declare a required capability.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The protocol revision is not supported.
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data for programs.
    #[must_use]
    pub fn with_data<T: Serialize>(mut self, data: &T) -> Self {
        self.data = Some(to_raw(data));
        self
    }

    /// The method is unknown, or not offered.
    pub fn method_not_found(method: &str) -> Self {
        let excerpt: String = method.chars().take(80).collect();
        Self::new(Self::METHOD_NOT_FOUND, format!("unknown method `{excerpt}`"))
    }

    /// The params are invalid.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Internal error; details are in the log.
    pub fn internal_error() -> Self {
        Self::new(Self::INTERNAL, "internal server error; see the server log")
    }
}

#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "even_null")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "even_null")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl<'a> RpcMessage<'a> {
    /// Parses one message.
    pub fn parse(text: &'a [u8]) -> Result<Self, InvalidRpcMessage> {
        let refuse = |id: Option<&RawValue>, code, message: &str| InvalidRpcMessage {
            id: id.map(RawValue::to_owned),
            error: RpcError::new(code, message),
        };
        // serde also accepts a list of members for an object.
        let is_list = text.trim_ascii_start().starts_with(b"[");
        let read = match is_list {
            true => Err(serde::de::Error::custom("a list")),
            false => serde_json::from_slice(text),
        };
        let message: RpcEnvelope<'a> = match read {
            Ok(message) => message,
            Err(error) if error.is_data() => {
                let one = "expected one JSON-RPC 2.0 message: an object with `jsonrpc`, `method` and, for a request, `id`";
                return Err(refuse(None, RpcError::INVALID_REQUEST, one));
            }
            Err(error) => return Err(refuse(None, RpcError::PARSE, &format!("not JSON: {error}"))),
        };
        let (id, given) = (message.id.filter(|id| is_id(id)), message.id.is_some());
        let refusal = message.method.is_none() && message.error.is_some();
        if message.jsonrpc.as_deref() != Some("2.0") {
            return Err(refuse(id, RpcError::INVALID_REQUEST, "expected `\"jsonrpc\": \"2.0\"`"));
        }
        if given && id.is_none() && !refusal {
            let text = format!("`id`: expected a text or a number of at most {MAX_ID_BYTES} bytes");
            return Err(refuse(None, RpcError::INVALID_REQUEST, &text));
        }
        let params = message.params.filter(|params| params.get() != "null");
        match (message.method, id, message.result, message.error) {
            (Some(method), Some(id), None, None) => Ok(Self::Request { id, method, params }),
            (Some(method), None, None, None) => Ok(Self::Notification { method, params }),
            (None, Some(id), Some(result), None) => Ok(Self::Response { id: Some(id), outcome: Ok(result) }),
            (None, id, None, Some(error)) => {
                let error = serde_json::from_str(error.get())
                    .unwrap_or_else(|_| RpcError::new(RpcError::INTERNAL, "an error without a message"));
                Ok(Self::Response { id, outcome: Err(error) })
            }
            (_, id, _, _) => {
                let text = "expected a request, a notification or a response";
                Err(refuse(id, RpcError::INVALID_REQUEST, text))
            }
        }
    }
}

/// Distinguishes a null member from a missing one.
fn even_null<'de: 'a, 'a, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&'a RawValue>::deserialize(from).map(Some)
}

fn is_id(raw: &RawValue) -> bool {
    let text = raw.get();
    text.len() <= MAX_ID_BYTES && text.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

#[derive(Serialize)]
struct RpcRequest<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

/// Writes a request.
pub fn write_request(id: &RawValue, method: &str, params: Option<&RawValue>) -> String {
    to_json_text(&RpcRequest { jsonrpc: "2.0", id: Some(id), method, params })
}

/// Writes a notification.
pub fn write_notification(method: &str, params: Option<&RawValue>) -> String {
    to_json_text(&RpcRequest { jsonrpc: "2.0", id: None, method, params })
}

/// Writes a successful response.
pub fn write_result(id: &RawValue, result: &RawValue) -> String {
    // Written by hand: results may be large, and this copies them once.
    let (id, result) = (id.get(), result.get());
    let mut text = String::with_capacity(id.len() + result.len() + 36);
    text.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    text.push_str(id);
    text.push_str(",\"result\":");
    text.push_str(result);
    text.push('}');
    text
}

/// Writes an error response; without an id if it is not known.
pub fn write_error(id: Option<&RawValue>, error: &RpcError) -> String {
    #[derive(Serialize)]
    struct RpcErrorResponse<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RawValue>,
        error: &'a RpcError,
    }
    to_json_text(&RpcErrorResponse { jsonrpc: "2.0", id, error })
}

fn to_json_text<T: Serialize>(message: &T) -> String {
    String::from(Box::<str>::from(to_raw(message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_three_kinds_apart_and_keeps_what_came() {
        let text = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"n": 1.50}}"#;
        let Ok(RpcMessage::Request { id, method, params }) = RpcMessage::parse(text) else { panic!() };
        assert_eq!((id.get(), &*method, params.unwrap().get()), ("\"a\"", "tools/call", "{\"n\": 1.50}"));
        let text = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(matches!(RpcMessage::parse(text), Ok(RpcMessage::Notification { .. })));
        let text = br#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
        assert!(matches!(RpcMessage::parse(text), Ok(RpcMessage::Response { outcome: Ok(_), .. })));
        let text = br#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#;
        let Ok(RpcMessage::Response { outcome: Err(error), .. }) = RpcMessage::parse(text) else { panic!() };
        assert_eq!((error.code, error.message.as_str()), (-1, "no"));
        for text in
            [r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#, r#"{"jsonrpc":"2.0","error":{"code":1}}"#]
        {
            let read = RpcMessage::parse(text.as_bytes());
            assert!(matches!(read, Ok(RpcMessage::Response { id: None, outcome: Err(_) })), "{read:?}");
        }
    }

    #[test]
    fn an_invalid_message_says_why_and_keeps_the_id() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "a".repeat(MAX_ID_BYTES));
        for (text, code, id) in [
            ("{", RpcError::PARSE, None),
            ("[]", RpcError::INVALID_REQUEST, None),
            (r#"["2.0",1,"ping"]"#, RpcError::INVALID_REQUEST, None),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, RpcError::INVALID_REQUEST, None),
            (r#"{"id":1,"method":"ping"}"#, RpcError::INVALID_REQUEST, Some("1")),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, RpcError::INVALID_REQUEST, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, RpcError::INVALID_REQUEST, None),
            (r#"{"jsonrpc":"2.0","id":7}"#, RpcError::INVALID_REQUEST, Some("7")),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, RpcError::INVALID_REQUEST, None),
            (&long, RpcError::INVALID_REQUEST, None),
        ] {
            let refused = RpcMessage::parse(text.as_bytes()).unwrap_err();
            assert_eq!(refused.error.code, code, "{text}");
            assert_eq!(refused.id.as_deref().map(RawValue::get), id, "{text}");
        }
    }

    #[test]
    fn writes_messages() {
        let id = to_raw(&1);
        assert_eq!(write_request(&id, "ping", None), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let params = to_raw(&serde_json::json!({ "a": 1 }));
        assert_eq!(
            write_notification("n", Some(&params)),
            r#"{"jsonrpc":"2.0","method":"n","params":{"a":1}}"#
        );
        assert_eq!(write_result(&id, &params), r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#);
        let refusal = RpcError::invalid_params("no").with_data(&[1]);
        let text = r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no","data":[1]}}"#;
        assert_eq!(write_error(None, &refusal), text);
    }
}
