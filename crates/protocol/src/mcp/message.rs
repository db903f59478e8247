//! A JSON-RPC message: read without looking into what only passes through, and written.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::raw::to_raw;

/// Longest id that is taken, in bytes of JSON. Ids come back in every answer.
pub const MAX_ID_BYTES: usize = 256;

/// A message that came in.
#[derive(Debug)]
pub enum RpcMessage<'a> {
    /// Wants an answer.
    Request {
        /// A text or a number, as it came.
        id: &'a RawValue,
        /// What is asked.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours.
    Response {
        /// Which request; missing where a peer refuses what it could not read.
        id: Option<&'a RawValue>,
        /// What came of it.
        outcome: Result<&'a RawValue, RpcError>,
    },
}

/// Why a text is no message, and the id to answer under, where there is one.
#[derive(Debug, Clone)]
pub struct InvalidRpcMessage {
    /// To whom the answer goes.
    pub id: Option<Box<RawValue>>,
    /// What to answer.
    pub error: RpcError,
}

/// An error of the protocol.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// What kind.
    pub code: i64,
    /// For people.
    #[serde(default)]
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// JSON, and no message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method here.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method does not take these params.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Our own fault.
    pub const INTERNAL: i64 = -32603;
    /// Handshake revisions: there is no such resource.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A header does not fit the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client did not declare what the call needs.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The revision is not spoken here.
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// An error.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// With something for programs.
    #[must_use]
    pub fn with_data<T: Serialize>(mut self, data: &T) -> Self {
        self.data = Some(to_raw(data));
        self
    }

    /// The method is not known, or not offered.
    pub fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(80).collect();
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method `{shown}` here"))
    }

    /// The params are wrong.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Our own fault; the log says more.
    pub fn internal_error() -> Self {
        Self::new(Self::INTERNAL, "the server failed; its log says more")
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
    /// Reads one message.
    pub fn parse(text: &'a [u8]) -> Result<Self, InvalidRpcMessage> {
        let refuse = |id: Option<&RawValue>, code, message: &str| InvalidRpcMessage {
            id: id.map(RawValue::to_owned),
            error: RpcError::new(code, message),
        };
        // serde takes a list of members for an object as well.
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
                    .unwrap_or_else(|_| RpcError::new(RpcError::INTERNAL, "an error that says nothing"));
                Ok(Self::Response { id, outcome: Err(error) })
            }
            (_, id, _, _) => {
                let text = "expected a request, a notification or a response";
                Err(refuse(id, RpcError::INVALID_REQUEST, text))
            }
        }
    }
}

/// Tells a member that is null from one that is missing.
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

/// A request.
pub fn write_request(id: &RawValue, method: &str, params: Option<&RawValue>) -> String {
    to_json_text(&RpcRequest { jsonrpc: "2.0", id: Some(id), method, params })
}

/// A notification.
pub fn write_notification(method: &str, params: Option<&RawValue>) -> String {
    to_json_text(&RpcRequest { jsonrpc: "2.0", id: None, method, params })
}

/// The answer to a request.
pub fn write_result(id: &RawValue, result: &RawValue) -> String {
    // By hand: results may be large, and this is one copy.
    let (id, result) = (id.get(), result.get());
    let mut text = String::with_capacity(id.len() + result.len() + 36);
    text.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    text.push_str(id);
    text.push_str(",\"result\":");
    text.push_str(result);
    text.push('}');
    text
}

/// The refusal of a request; the id is left out where it is not known.
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
    fn what_is_no_message_says_why_and_keeps_the_id() {
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
