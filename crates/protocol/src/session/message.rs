//! How a message is told apart from others, and what is wrong with one that cannot be read.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{name::shown, raw::to_raw};

/// Longest explanation of a malformed message, in characters. Explanations quote what came, which can be long.
const MAX_EXPLANATION_CHARS: usize = 200;

/// A text that is no message, or a known message with wrong fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedMessage {
    /// Not JSON, not an object, or without a text in `type`.
    #[error("expected a JSON object with a text in `type`")]
    NotAMessage,
    /// A known type whose fields are wrong.
    #[error("`{kind}`, {}: {message}", if .field.is_empty() { "fields" } else { .field })]
    Fields {
        /// The type of the message.
        kind: String,
        /// Where, as far as that is known: `layout.text`.
        field: String,
        /// What is wrong there.
        message: String,
    },
}

/// A message of which only the type was read.
pub(crate) struct RawMessage<'a> {
    kind: Cow<'a, str>,
    text: &'a str,
}

impl<'a> RawMessage<'a> {
    /// Reads the type of a message.
    pub(crate) fn parse(text: &'a str) -> Result<Self, MalformedMessage> {
        #[derive(Deserialize)]
        struct MessageHead<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
        }
        // A list would pass as an object whose fields come in order.
        if !text.trim_start().starts_with('{') {
            return Err(MalformedMessage::NotAMessage);
        }
        let head: MessageHead<'a> = serde_json::from_str(text).map_err(|_| MalformedMessage::NotAMessage)?;
        Ok(Self { kind: head.kind, text })
    }

    /// The type.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The type of a message that we do not know, short enough for a log.
    pub(crate) fn unknown_kind(&self) -> String {
        shown(&self.kind)
    }

    /// The whole message.
    pub(crate) fn raw_text(&self) -> &'a str {
        self.text
    }

    /// Reads the message as what its type says.
    pub(crate) fn parse_body<T: DeserializeOwned>(&self) -> Result<T, MalformedMessage> {
        let mut from = serde_json::Deserializer::from_str(self.text);
        serde_path_to_error::deserialize(&mut from).map_err(|error| {
            let field = match error.path().to_string() {
                path if path == "." => String::new(),
                path => shown(&path),
            };
            self.field_error(field, &error.into_inner().to_string())
        })
    }

    /// Says that a field is wrong.
    pub(crate) fn field_error(&self, field: impl Into<String>, message: &str) -> MalformedMessage {
        let message = message.chars().take(MAX_EXPLANATION_CHARS).collect();
        MalformedMessage::Fields { kind: self.kind.clone().into_owned(), field: field.into(), message }
    }
}

/// One of our messages as text.
pub(crate) fn to_text<T: Serialize>(message: &T) -> String {
    Box::<str>::from(to_raw(message)).into_string()
}

/// The fields of a message that is only passed on, without its type and without what the sender says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct MessageFields(pub Map<String, Value>);

/// What a sender says of itself in every message.
const ENVELOPE: [&str; 4] = ["type", "packageName", "sessionId", "timestamp"];

impl MessageFields {
    /// A field that is a text.
    pub fn str_field(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}

impl<'de> Deserialize<'de> for MessageFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MessageFieldsVisitor;
        impl<'de> Visitor<'de> for MessageFieldsVisitor {
            type Value = MessageFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageFields, A::Error> {
                let mut fields = Map::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value::<Value>()?;
                    if !ENVELOPE.contains(&name.as_str()) {
                        fields.insert(name, value);
                    }
                }
                Ok(MessageFields(fields))
            }
        }
        from.deserialize_map(MessageFieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "n")]
        _n: u8,
    }

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(rename = "inner")]
        _inner: Inner,
    }

    fn body(text: &str) -> String {
        RawMessage::parse(text).unwrap().parse_body::<Body>().unwrap_err().to_string()
    }

    #[test]
    fn only_an_object_with_a_type_is_a_message() {
        for text in [
            "",
            "x",
            "7",
            "null",
            "[\"ping\"]",
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"a"} x"#,
            r#"{"type":"a","type":"b"}"#,
        ] {
            assert_eq!(RawMessage::parse(text).err(), Some(MalformedMessage::NotAMessage), "{text}");
        }
        assert_eq!(RawMessage::parse(" {\"x\":[1,{}],\"type\":\"a\\u0062\"}").unwrap().kind(), "ab");
    }

    #[test]
    fn says_which_field_of_which_type_is_wrong() {
        assert_eq!(
            body(r#"{"type":"a","inner":{"n":"x"}}"#),
            "`a`, inner.n: invalid type: string \"x\", expected u8 at line 1 column 28"
        );
        assert_eq!(body(r#"{"type":"a"}"#), "`a`, fields: missing field `inner` at line 1 column 12");
    }

    #[test]
    fn a_long_text_is_not_quoted_in_full() {
        let long = format!(r#"{{"type":"a","inner":{{"n":"{}"}}}}"#, "x".repeat(10_000));
        assert!(body(&long).chars().count() < MAX_EXPLANATION_CHARS + 50);
        let long = format!(r#"{{"type":"{}"}}"#, "x".repeat(10_000));
        assert!(RawMessage::parse(&long).unwrap().unknown_kind().chars().count() < 100);
    }

    #[test]
    fn fields_leave_out_who_sent_them() {
        let text = r#"{"type":"a","packageName":"com.ex","sessionId":"","timestamp":7,"z":1,"size":"small"}"#;
        let fields: MessageFields = RawMessage::parse(text).unwrap().parse_body().unwrap();
        assert_eq!(to_text(&fields), r#"{"z":1,"size":"small"}"#);
        assert_eq!(fields.str_field("size"), Some("small"));
    }
}
