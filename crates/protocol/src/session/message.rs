//! Parsing of messages by their type, and errors of malformed ones.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{name::text_excerpt, raw::to_raw};

/// Longest explanation of a malformed message, in characters. Explanations quote the input, which can be long.
const MAX_EXPLANATION_CHARS: usize = 200;

/// A text that is not a message, or a known message with invalid fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedMessage {
    /// Not JSON, not an object, or without a string in `type`.
    #[error("expected a JSON object with a text in `type`")]
    NotAMessage,
    /// A known type with invalid fields.
    #[error("`{kind}`, {}: {message}", if .field.is_empty() { "fields" } else { .field })]
    Fields {
        /// The type of the message.
        kind: String,
        /// The path, as far as known: `layout.text`.
        field: String,
        /// What is wrong.
        message: String,
    },
}

/// A message of which only the type is parsed.
pub(crate) struct RawMessage<'a> {
    kind: Cow<'a, str>,
    text: &'a str,
}

impl<'a> RawMessage<'a> {
    /// Parses the type of a message.
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

    /// The type of an unknown message, short enough for a log.
    pub(crate) fn unknown_kind(&self) -> String {
        text_excerpt(&self.kind)
    }

    /// The whole message.
    pub(crate) fn raw_text(&self) -> &'a str {
        self.text
    }

    /// Parses the message as its type requires.
    pub(crate) fn parse_body<T: DeserializeOwned>(&self) -> Result<T, MalformedMessage> {
        let mut from = serde_json::Deserializer::from_str(self.text);
        serde_path_to_error::deserialize(&mut from).map_err(|error| {
            let field = match error.path().to_string() {
                path if path == "." => String::new(),
                path => text_excerpt(&path),
            };
            self.field_error(field, &error.into_inner().to_string())
        })
    }

    /// An error for one field.
    pub(crate) fn field_error(&self, field: impl Into<String>, message: &str) -> MalformedMessage {
        let message = message.chars().take(MAX_EXPLANATION_CHARS).collect();
        MalformedMessage::Fields { kind: self.kind.clone().into_owned(), field: field.into(), message }
    }
}

/// Serializes a message.
pub(crate) fn to_text<T: Serialize>(message: &T) -> String {
    Box::<str>::from(to_raw(message)).into_string()
}

/// The fields of a message that is passed on, without its type and sender.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct MessageFields(pub Map<String, Value>);

/// The fields that identify type and sender.
const ENVELOPE: [&str; 4] = ["type", "packageName", "sessionId", "timestamp"];

impl MessageFields {
    /// A string field.
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
