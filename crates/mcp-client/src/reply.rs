//! The reply to a request: a result, or a request for input.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::mcp::{COMPLETE, INPUT_REQUIRED, McpRevision, method};

use crate::error::McpClientError;

/// The reply to a request.
#[derive(Debug, Clone)]
pub enum UpstreamReply {
    /// The result, unchanged.
    Complete(Box<RawValue>),
    /// The server needs input first (`inputRequests`, `requestState`), unchanged. Send the request again under a new
    /// id, with `inputResponses` and the unchanged `requestState`.
    InputRequired(Box<RawValue>),
}

impl UpstreamReply {
    /// Reads `resultType`, which only modern servers send. Missing means complete.
    pub(crate) fn from_result(
        revision: McpRevision,
        method: &str,
        raw: Box<RawValue>,
    ) -> Result<Self, McpClientError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Typed<'a> {
            #[serde(borrow, default)]
            result_type: Option<Cow<'a, str>>,
        }
        if !revision.is_modern() {
            return Ok(Self::Complete(raw));
        }
        let typed: Typed<'_> = parse_object(&raw).map_err(|error| {
            McpClientError::Malformed(format!("the result is not an object with a `resultType`: {error}"))
        })?;
        let may_ask = matches!(method, method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ);
        match typed.result_type.as_deref() {
            None | Some(COMPLETE) => Ok(Self::Complete(raw)),
            Some(INPUT_REQUIRED) if may_ask => Ok(Self::InputRequired(raw)),
            Some(other) => {
                let shown: String = other.chars().take(80).collect();
                Err(McpClientError::Malformed(format!(
                    "`resultType` is `{shown}`, which `{method}` cannot have here"
                )))
            }
        }
    }

    /// The result; an error if the server needs input.
    pub fn into_complete(self) -> Result<Box<RawValue>, McpClientError> {
        match self {
            Self::Complete(raw) => Ok(raw),
            Self::InputRequired(_) => Err(McpClientError::Malformed(
                "the server needs input, which this caller cannot provide".to_owned(),
            )),
        }
    }
}

/// Parses an object. serde alone would also accept an array of its members.
pub(crate) fn parse_object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, serde_json::Error> {
    if raw.get().starts_with('{') {
        serde_json::from_str(raw.get())
    } else {
        Err(serde::de::Error::custom("expected an object"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(revision: McpRevision, method: &str, raw: &str) -> Result<UpstreamReply, McpClientError> {
        UpstreamReply::from_result(revision, method, RawValue::from_string(raw.to_owned()).unwrap())
    }

    #[test]
    fn the_type_decides_in_the_modern_era_only() {
        let modern = |method, raw| read(McpRevision::NEWEST, method, raw);
        assert!(matches!(modern("tools/call", "{}"), Ok(UpstreamReply::Complete(_))));
        assert!(matches!(modern("x", r#"{"resultType":"complete"}"#), Ok(UpstreamReply::Complete(_))));
        let asks = r#"{"resultType":"input_required","requestState":"s"}"#;
        assert!(matches!(modern("tools/call", asks), Ok(UpstreamReply::InputRequired(_))));
        for (method, bad) in [
            ("tools/list", asks),
            ("tools/call", r#"{"resultType":"task"}"#),
            ("x", "[]"),
            ("x", r#"{"resultType":1}"#),
        ] {
            assert!(matches!(modern(method, bad), Err(McpClientError::Malformed(_))), "{method} {bad}");
        }
        assert!(matches!(
            read(McpRevision::NEWEST_HANDSHAKE, "tools/call", asks),
            Ok(UpstreamReply::Complete(_))
        ));
        assert!(modern("tools/call", asks).unwrap().into_complete().is_err());
    }
}
