//! JSON on exactly one line, for line-based formats: server-sent events, NDJSON, data stream v1, MCP over
//! stdio, output for programs.
//!
//! Raw JSON keeps the formatting of the app, model or upstream that wrote it, including line breaks. In a line-based
//! format a line break would end the message early, so everything written as a line goes through [`JsonLine`].

use std::fmt;

use serde::Serialize;

/// JSON without a line break. Can only be created in this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonLine(String);

impl JsonLine {
    /// Serializes a value. Our types have string keys and finite numbers only, so this cannot fail; if it ever did, the line
    /// would be `null` instead of a panic.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Self {
        Self::from_json(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }

    /// From existing JSON text.
    pub fn from_json(json: impl Into<String>) -> Self {
        let json = json.into();
        Self(if json.contains(is_line_break) { compact_json(&json) } else { json })
    }

    /// The text, without a trailing line break.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, without a trailing line break.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The line with its trailing `\n`, as in NDJSON.
    pub fn into_terminated(mut self) -> String {
        self.0.push('\n');
        self.0
    }

    /// A server-sent event with data only.
    pub fn to_event(&self) -> String {
        format!("data: {self}\n\n")
    }

    /// A server-sent event with a name.
    pub fn to_named_event(&self, name: &str) -> String {
        format!("event: {name}\ndata: {self}\n\n")
    }
}

impl AsRef<str> for JsonLine {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters that end a line in NDJSON and server-sent events. U+2028 and U+2029 do not.
const fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

/// JSON without the whitespace between tokens. Strings stay as they are: valid JSON escapes line breaks inside them; in
/// invalid JSON they become spaces.
fn compact_json(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let (mut in_text, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            ' ' | '\t' | '\n' | '\r' if !in_text => continue,
            '"' if !escaped => in_text = !in_text,
            _ => {}
        }
        escaped = in_text && c == '\\' && !escaped;
        line.push(if is_line_break(c) { ' ' } else { c });
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::RawValue};

    use super::*;

    #[test]
    fn json_with_line_breaks_becomes_one_line_and_means_the_same() {
        let values = [
            json!({ "a": [1, 2.5, null, true], "text": "x\n \"quoted\" \\ \r\u{2028}", "": {}, "nested": { "b": [] } }),
            json!("one\ntwo"),
            json!([]),
            json!({ "ends with a backslash \\": "\\", "\"": "\\\"" }),
        ];
        for value in values {
            for pretty in
                [format!("{value:#}"), format!("{value:#}").replace('\n', "\r\n"), format!("\r{value:#}\r")]
            {
                let line = JsonLine::from_json(pretty.clone());
                assert!(!line.as_str().contains(['\n', '\r']), "{pretty}");
                assert_eq!(line.as_str(), value.to_string(), "only whitespace between tokens goes");
                assert_eq!(serde_json::from_str::<Value>(line.as_str()).unwrap(), value);
            }
        }
    }

    #[test]
    fn what_has_no_line_break_stays_as_it_came() {
        for json in [r#"{"b": 1.50,  "a":2}"#, "12345678901234567890123", "\"\u{2028}\""] {
            assert_eq!(JsonLine::from_json(json).as_str(), json);
        }
    }

    #[test]
    fn raw_json_inside_of_a_value_is_on_the_line_too() {
        let raw: Box<RawValue> = serde_json::from_str("{\n  \"a\": 1e400\n}").unwrap();
        let line = JsonLine::new(&std::collections::BTreeMap::from([("input", raw)]));
        assert_eq!(line.as_str(), r#"{"input":{"a":1e400}}"#);
        assert_eq!(line.to_event(), "data: {\"input\":{\"a\":1e400}}\n\n");
        assert_eq!(line.to_named_event("x"), "event: x\ndata: {\"input\":{\"a\":1e400}}\n\n");
        assert_eq!(line.into_terminated(), "{\"input\":{\"a\":1e400}}\n");
    }

    #[test]
    fn invalid_json_is_still_one_line() {
        for text in ["\"broken\ntext", "\"a\\\n\"", "not\r\njson", "\n", "{\"a\": \"b\\"] {
            assert!(!JsonLine::from_json(text).as_str().contains(['\n', '\r']), "{text:?}");
        }
    }
}
