//! Schema keywords as text.

use serde_json::Value;
use toolyard_protocol::text::truncate_bytes;

/// Longest JSON value inside a note.
const MAX_JSON: usize = 200;

/// Most bytes of notes in one description.
const MAX_WORDS: usize = 2 * 1024;

/// Keywords without information for a model.
const SILENT: &[&str] = &[
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$vocabulary",
    "$defs",
    "definitions",
    "readOnly",
    "writeOnly",
    "deprecated",
    "title",
    "contentMediaType",
    "contentEncoding",
    "discriminator",
    "xml",
    "externalDocs",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
];

/// A keyword and its value as a note. None if there is nothing to say.
pub(super) fn describe_keyword(keyword: &str, value: &Value) -> Option<String> {
    let json = || json_text(value);
    Some(match (keyword, value) {
        (silent, _) if SILENT.contains(&silent) || silent.starts_with("x-") => return None,
        ("pattern", Value::String(pattern)) => format!("must match {}", truncate_value(pattern)),
        ("format", Value::String(format)) => format!("in the format {}", truncate_value(format)),
        ("minLength", _) => format!("at least {} characters", json()),
        ("maxLength", _) => format!("at most {} characters", json()),
        ("minItems", _) => format!("at least {} items", json()),
        ("maxItems", _) => format!("at most {} items", json()),
        ("minProperties", _) => format!("at least {} properties", json()),
        ("maxProperties", _) => format!("at most {} properties", json()),
        ("minimum", _) => format!("at least {}", json()),
        ("maximum", _) => format!("at most {}", json()),
        ("exclusiveMinimum", _) => format!("more than {}", json()),
        ("exclusiveMaximum", _) => format!("less than {}", json()),
        ("multipleOf", _) => format!("a multiple of {}", json()),
        ("uniqueItems" | "nullable", _) if value != true => return None,
        ("additionalProperties", Value::Bool(false)) => "no other properties".to_owned(),
        ("additionalProperties", Value::Bool(true)) => return None,
        ("additionalProperties", _) => format!("other properties are {}", json()),
        ("uniqueItems", _) => "no item twice".to_owned(),
        ("nullable", _) => "may be null".to_owned(),
        ("const", _) => format!("must be {}", json()),
        ("enum", Value::Array(values)) => {
            let values: Vec<_> = values.iter().map(self::json_text).collect();
            format!("one of {}", truncate_value(&values.join(", ")))
        }
        ("default", _) => format!("{} if not given", json()),
        ("examples", Value::Array(values)) => format!("for example {}", self::json_text(values.first()?)),
        ("example", _) => format!("for example {}", json()),
        ("prefixItems", Value::Array(items)) => format!("a list of {} values in a fixed order", items.len()),
        ("not", _) => format!("must not be {}", json()),
        ("oneOf", _) => format!("exactly one of {}", json()),
        ("anyOf", _) => format!("one of {}", json()),
        ("allOf", _) => format!("all of {}", json()),
        ("contains", _) => format!("has an item that is {}", json()),
        ("patternProperties", _) => format!("properties by pattern: {}", json()),
        ("propertyNames", _) => format!("names of properties are {}", json()),
        ("dependentRequired" | "dependencies" | "dependentSchemas", _) => {
            format!("properties that need others: {}", json())
        }
        ("if", _) => format!("if it is {}", json()),
        ("then", _) => format!("then it is {}", json()),
        ("else", _) => format!("else it is {}", json()),
        _ => return None,
    })
}

fn json_text(value: &Value) -> String {
    truncate_value(&value.to_string())
}

fn truncate_value(text: &str) -> String {
    truncate_bytes(text, MAX_JSON).into_owned()
}

/// A description followed by notes, with a limited length.
pub(super) fn append_notes(description: &str, notes: &[String], most: usize) -> String {
    let mut words = notes.join("; ");
    if words.len() > MAX_WORDS {
        words.truncate(words.floor_char_boundary(MAX_WORDS));
        words.push('…');
    }
    let room = most.saturating_sub(words.len() + 4);
    let description = description.trim_end();
    let description = &description[..description.floor_char_boundary(room)];
    match (description.is_empty(), words.is_empty()) {
        (_, true) => description.to_owned(),
        (true, false) => format!("({words})"),
        (false, false) => format!("{description} ({words})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_are_bounded() {
        let long = describe_keyword("pattern", &json!("x".repeat(1_000))).unwrap();
        assert_eq!(long.len(), "must match ".len() + MAX_JSON);
        let many = vec!["é".repeat(MAX_WORDS)];
        assert_eq!(append_notes("", &many, 1_000_000).len(), MAX_WORDS + "(…)".len());
        assert_eq!(append_notes("Does it.  ", &["once".to_owned()], 100), "Does it. (once)");
        assert_eq!(append_notes("abcdefghij", &["once".to_owned()], 12), "abcd (once)");
    }

    #[test]
    fn keywords_without_information_make_no_note() {
        for (keyword, value) in [
            ("$schema", json!("x")),
            ("x-order", json!(1)),
            ("uniqueItems", json!(false)),
            ("additionalProperties", json!(true)),
            ("examples", json!([])),
            ("neverHeardOf", json!(1)),
        ] {
            assert_eq!(describe_keyword(keyword, &value), None, "{keyword}");
        }
    }
}
