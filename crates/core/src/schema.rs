//! JSON Schema 2020-12: compiled once per definition, bounded, without a network; and its errors in words a model can
//! act on.

use std::borrow::Cow;

use jsonschema::{
    Draft, PatternOptions, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Value, value::RawValue};
use toolyard_protocol::Problem;

/// Deepest nesting of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 32;
/// Most values (objects, lists, texts, numbers) in a schema.
pub const MAX_SCHEMA_NODES: usize = 5_000;
/// Most errors that one answer names.
pub const MAX_ERRORS: usize = 8;
/// How much of a wrong value an error shows, in characters.
const MAX_SHOWN: usize = 80;
/// Steps of the pattern engine before it gives up on a text; a crafted pattern must not hold a thread.
const BACKTRACK_LIMIT: usize = 50_000;
/// Largest compiled pattern, in bytes.
const PATTERN_BYTES: usize = 256 * 1024;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema. Says what is wrong with it, under `path`.
    pub fn compile(schema: &Value, path: &str) -> Result<Self, Problem> {
        check_bounds(schema, path)?;
        check_references(schema, schema, path)?;
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(
                PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(PATTERN_BYTES),
            )
            .offline()
            .build(schema)
            .map(Self)
            .map_err(|error| {
                let at = error.instance_path().as_str().replace('/', ".");
                Problem::new(
                    format!("{path}{at}"),
                    format!("not a JSON Schema (2020-12): {}", shown(&error.to_string())),
                )
            })
    }

    /// Every error of a value, up to a bound, each with its path.
    pub fn errors(&self, value: &Value) -> Vec<Problem> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        self.0.iter_errors(value).take(MAX_ERRORS).map(|error| in_words(&error)).collect()
    }
}

/// Arguments that fit the tool's schema. Only [`Schema`] makes them, so no source runs without the check.
#[derive(Debug)]
pub struct ValidArguments {
    raw: Box<RawValue>,
    value: Value,
}

impl ValidArguments {
    /// Checks arguments; the errors name the path, what was expected and what came.
    pub fn check(schema: &Schema, raw: &RawValue, value: Value) -> Result<Self, Vec<Problem>> {
        let errors = schema.errors(&value);
        if errors.is_empty() { Ok(Self { raw: raw.to_owned(), value }) } else { Err(errors) }
    }

    /// As the caller wrote them.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// As a value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

fn check_bounds(schema: &Value, path: &str) -> Result<(), Problem> {
    fn walk(value: &Value, depth: usize, nodes: &mut usize) -> Result<(), String> {
        *nodes += 1;
        if depth > MAX_SCHEMA_DEPTH {
            return Err(format!("nested deeper than {MAX_SCHEMA_DEPTH}"));
        }
        if *nodes > MAX_SCHEMA_NODES {
            return Err(format!("more than {MAX_SCHEMA_NODES} values"));
        }
        match value {
            Value::Object(members) => members.values().try_for_each(|v| walk(v, depth + 1, nodes)),
            Value::Array(items) => items.iter().try_for_each(|v| walk(v, depth + 1, nodes)),
            _ => Ok(()),
        }
    }
    walk(schema, 0, &mut 0).map_err(|message| Problem::new(path, message))
}

/// References stay inside the schema, and none leads back to itself without consuming a part of the value: the
/// validator would follow it for ever.
fn check_references(value: &Value, root: &Value, path: &str) -> Result<(), Problem> {
    match value {
        Value::Object(members) => {
            for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                if let Some(Value::String(target)) = members.get(keyword) {
                    check_target(target, root).map_err(|m| Problem::new(format!("{path}.{keyword}"), m))?;
                }
            }
            members
                .iter()
                .try_for_each(|(name, value)| check_references(value, root, &format!("{path}.{name}")))
        }
        Value::Array(items) => {
            let mut places = items.iter().enumerate();
            places.try_for_each(|(i, value)| check_references(value, root, &format!("{path}[{i}]")))
        }
        _ => Ok(()),
    }
}

fn check_target(target: &str, root: &Value) -> Result<(), String> {
    if !target.starts_with('#') {
        return Err(format!(
            "`{}` leads outside; only references inside the schema (`#/$defs/…`) work",
            shown(target)
        ));
    }
    let mut seen = vec![target.to_owned()];
    let mut open = same_place_references(target, root);
    while let Some(next) = open.pop() {
        if next == target {
            return Err(format!("`{}` leads back to itself at the same place", shown(target)));
        }
        if !seen.contains(&next) {
            open.extend(same_place_references(&next, root));
            seen.push(next);
        }
    }
    Ok(())
}

/// The references that apply to the same value as the schema at `target`: its own `$ref`, and those under `allOf`,
/// `anyOf`, `oneOf`, `not`, `if`, `then`, `else`, `dependentSchemas`.
fn same_place_references(target: &str, root: &Value) -> Vec<String> {
    fn collect(schema: &Value, found: &mut Vec<String>) {
        let Value::Object(members) = schema else { return };
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(next)) => found.push(next.clone()),
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                    branches.iter().for_each(|branch| collect(branch, found));
                }
                ("not" | "if" | "then" | "else", branch) => collect(branch, found),
                ("dependentSchemas", Value::Object(branches)) => {
                    branches.values().for_each(|branch| collect(branch, found));
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    let place = target.trim_start_matches('#');
    match root.pointer(place) {
        Some(schema) => collect(schema, &mut found),
        // An anchor: any schema may carry it, so look at all that do.
        None => collect_anchored(root, place, &mut |schema| collect(schema, &mut found)),
    }
    found
}

fn collect_anchored(value: &Value, anchor: &str, then: &mut dyn FnMut(&Value)) {
    match value {
        Value::Object(members) => {
            let carries = |keyword: &str| members.get(keyword).and_then(Value::as_str) == Some(anchor);
            if carries("$anchor") || carries("$dynamicAnchor") {
                then(value);
            }
            members.values().for_each(|member| collect_anchored(member, anchor, then));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_anchored(item, anchor, then)),
        _ => {}
    }
}

fn in_words(error: &jsonschema::ValidationError<'_>) -> Problem {
    let path = dotted(error.instance_path().as_str());
    let came = described(error.instance());
    let expected = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            return Problem::new(join(&path, &name), "missing; it is required");
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names =
                unexpected.iter().take(MAX_ERRORS).map(|n| format!("`{}`", shown(n))).collect::<Vec<_>>();
            return Problem::new(path, format!("has no place for {}; leave it out", names.join(", ")));
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
            format!("expected {}", a_kind(&kind.to_string()))
        }
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<_> = kinds.iter().map(|kind| a_kind(&kind.to_string())).collect();
            format!("expected {}", kinds.join(" or "))
        }
        ValidationErrorKind::Enum { options } => format!("expected one of {}", shown(&options.to_string())),
        ValidationErrorKind::Constant { expected_value } => {
            format!("expected {}", shown(&expected_value.to_string()))
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
            format!("expected a text that matches `{}`", shown(pattern))
        }
        ValidationErrorKind::Format { format } => format!("expected the format `{}`", shown(format)),
        _ => return Problem::new(path, shown(&error.to_string()).into_owned()),
    };
    Problem::new(path, format!("{expected}, got {came}"))
}

/// `/items/2/qty` as people write it: `items[2].qty`. The root is `arguments`, which is what a caller sees it as.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            path = if path.is_empty() { part } else { format!("{path}.{part}") };
        }
    }
    if path.is_empty() { "(root)".to_owned() } else { path }
}

fn join(path: &str, name: &str) -> String {
    if path == "(root)" { name.to_owned() } else { format!("{path}.{name}") }
}

fn a_kind(kind: &str) -> String {
    match kind.trim_matches('"') {
        "null" => "null".to_owned(),
        kind @ ("integer" | "object" | "array") => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the text \"{}\"", shown(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(schema: &Value, value: &Value) -> Vec<String> {
        Schema::compile(schema, "s").unwrap().errors(value).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn errors_name_path_expectation_and_what_came() {
        let schema = json!({
            "type": "object",
            "properties": {
                "todo": { "type": "string", "maxLength": 5 },
                "count": { "type": "integer", "minimum": 1 },
                "kind": { "enum": ["a", "b"] },
                "items": { "type": "array", "items": { "type": "object", "properties": { "qty": { "type": "number" } },
                    "required": ["id"] } },
            },
            "required": ["todo", "due"],
            "additionalProperties": false,
        });
        let mut found = errors(
            &schema,
            &json!({ "todo": "too long", "count": 1.5, "kind": "c", "items": [{ "qty": "two", "id": 1 }, {}], "x": 1 }),
        );
        found.sort();
        assert_eq!(
            found,
            [
                "(root): has no place for `x`; leave it out",
                "count: expected an integer, got 1.5",
                "due: missing; it is required",
                "items[0].qty: expected a number, got the text \"two\"",
                "items[1].id: missing; it is required",
                "kind: expected one of [\"a\",\"b\"], got the text \"c\"",
                "todo: expected at most 5 characters, got the text \"too long\"",
            ]
        );
    }

    #[test]
    fn errors_are_bounded_in_number_and_size() {
        let schema = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
        let value: Value = (0..50).map(|i| (format!("k{i}"), json!("x".repeat(10_000)))).collect();
        let found = errors(&schema, &value);
        assert_eq!(found.len(), MAX_ERRORS);
        assert!(found.iter().all(|error| error.len() < 400));
    }

    #[test]
    fn bounds_of_a_schema() {
        let mut deep = json!({ "type": "object" });
        for _ in 0..MAX_SCHEMA_DEPTH {
            deep = json!({ "type": "object", "properties": { "a": deep } });
        }
        assert!(Schema::compile(&deep, "s").unwrap_err().message.contains("nested deeper"));
        let wide = json!({ "type": "object", "enum": vec![1; MAX_SCHEMA_NODES] });
        assert!(Schema::compile(&wide, "s").unwrap_err().message.contains("more than"));
    }

    #[test]
    fn nothing_is_fetched() {
        for target in ["https://example.com/s.json", "file:///etc/passwd", "other.json#/a"] {
            let problem =
                Schema::compile(&json!({ "type": "object", "properties": { "a": { "$ref": target } } }), "s");
            assert_eq!(problem.unwrap_err().path, "s.properties.a.$ref");
        }
    }

    #[test]
    fn references_inside_work_and_loops_are_refused() {
        let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" }, "v": { "$ref": "#/$defs/v" } },
            "$defs": { "v": { "type": "integer" } } });
        assert_eq!(errors(&schema, &json!({ "next": { "v": "x" } })).len(), 1);
        for endless in [
            json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
            json!({ "type": "object", "$ref": "#/$defs/a",
                "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/b" }] }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
            json!({ "type": "object", "$ref": "#x", "$defs": { "a": { "$anchor": "x", "if": { "$ref": "#x" } } } }),
        ] {
            assert!(
                Schema::compile(&endless, "s").unwrap_err().message.contains("back to itself"),
                "{endless}"
            );
        }
    }

    #[test]
    fn an_older_schema_marker_does_not_change_the_rules() {
        let schema = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": { "n": { "type": "integer" } } });
        assert_eq!(errors(&schema, &json!({ "n": "x" })).len(), 1);
    }

    #[test]
    fn a_crafted_pattern_ends() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(a|aa)+\\1$(?=b)" } } });
        if let Ok(schema) = Schema::compile(&schema, "s") {
            assert!(!schema.errors(&json!({ "a": "a".repeat(5_000) })).is_empty());
        }
    }
}
