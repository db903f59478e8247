//! Validation errors in words that a model can act on: where, what was expected, what was received.

use std::borrow::Cow;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;
use toolyard_protocol::Problem;
use toolyard_protocol::text::truncate_chars;

use super::MAX_ERRORS;

/// How much of a wrong value an error shows, in characters.
const MAX_SHOWN: usize = 80;
/// How much of a path or message an error shows, in characters.
const MAX_PATH: usize = 300;

pub(super) fn to_problem(error: &jsonschema::ValidationError<'_>) -> Problem {
    let path = dotted_path(error.instance_path().as_str());
    let came = describe_value(error.instance());
    let expected = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            return Problem::new(join_path(&path, &truncate_text(&name)), "missing; it is required");
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names = unexpected
                .iter()
                .take(MAX_ERRORS)
                .map(|n| format!("`{}`", truncate_text(n)))
                .collect::<Vec<_>>();
            return Problem::new(path, format!("has no place for {}; leave it out", names.join(", ")));
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
            format!("expected {}", with_article(&kind.to_string()))
        }
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<_> = kinds.iter().map(|kind| with_article(&kind.to_string())).collect();
            format!("expected {}", kinds.join(" or "))
        }
        ValidationErrorKind::Enum { options } => {
            format!("expected one of {}", truncate_text(&options.to_string()))
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("expected {}", truncate_text(&expected_value.to_string()))
        }
        ValidationErrorKind::Minimum { limit } => format!("expected {limit} or more"),
        ValidationErrorKind::Maximum { limit } => format!("expected {limit} or less"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("expected more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("expected less than {limit}"),
        ValidationErrorKind::MinLength { limit } => format!("expected at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("expected at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("expected at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("expected at most {limit} items"),
        ValidationErrorKind::Pattern { pattern } => {
            format!("expected a text that matches `{}`", truncate_text(pattern))
        }
        ValidationErrorKind::Custom { message, .. } => truncate_path(message),
        ValidationErrorKind::Format { format } => format!("expected the format `{}`", truncate_text(format)),
        _ => return Problem::new(path, truncate_text(&error.to_string()).into_owned()),
    };
    Problem::new(path, format!("{expected}, got {came}"))
}

/// `/items/2/qty` as people write it: `items[2].qty`. The root is `(root)`.
fn dotted_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part);
        }
    }
    if path.is_empty() { "(root)".to_owned() } else { truncate_path(&path) }
}

fn join_path(path: &str, name: &str) -> String {
    if path == "(root)" { name.to_owned() } else { format!("{path}.{name}") }
}

fn with_article(kind: &str) -> String {
    match kind.trim_matches('"') {
        "null" => "null".to_owned(),
        kind @ ("integer" | "object" | "array") => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the text \"{}\"", truncate_text(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

pub(super) fn truncate_text(text: &str) -> Cow<'_, str> {
    truncate_chars(text, MAX_SHOWN)
}

fn truncate_path(text: &str) -> String {
    truncate_chars(text, MAX_PATH).into_owned()
}
