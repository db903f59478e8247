//! Parameters that are repeated in headers: `x-mcp-header` in a tool's input schema.
//!
//! A proxy that routes by header and a server that reads the body must see the same value. A client sends the headers, a
//! server compares them. Both find the mirrored parameters here, and reject invalid annotations.

use std::collections::HashSet;

use serde_json::Value;

use super::header;

/// The annotation in a schema.
pub const ANNOTATION: &str = "x-mcp-header";
/// Maximum depth of a schema.
const MAX_DEPTH: usize = 32;
/// The largest integer that every JSON parser keeps exact.
const SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A parameter that is mirrored in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredParameter {
    /// Members from the root of the arguments.
    pub path: Vec<String>,
    /// The header name in lower case, with prefix.
    pub header: String,
}

/// The mirrored parameters of an input schema, or why an annotation is invalid. A client leaves out such a tool.
pub fn mirrored_parameters(input_schema: &Value) -> Result<Vec<MirroredParameter>, String> {
    let mut found = Vec::new();
    collect_mirrored(input_schema, &mut Vec::new(), true, 0, &mut found)?;
    let mut names = HashSet::new();
    match found.iter().find(|mirrored| !names.insert(mirrored.header.as_str())) {
        Some(twice) => Err(format!("two parameters are mirrored in `{}`", twice.header)),
        None => Ok(found),
    }
}

fn collect_mirrored(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    depth: usize,
    found: &mut Vec<MirroredParameter>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => {
            return items.iter().try_for_each(|item| collect_mirrored(item, path, false, depth + 1, found));
        }
        _ => return Ok(()),
    };
    if let Some(name) = members.get(ANNOTATION) {
        if !reachable || path.is_empty() {
            return Err(format!(
                "`{ANNOTATION}` is only valid on a parameter that is reached through `properties`"
            ));
        }
        found.push(MirroredParameter { path: path.clone(), header: header_name(name, members.get("type"))? });
    }
    for (keyword, inner) in members {
        match (keyword.as_str(), inner) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect_mirrored(property, path, reachable, depth + 1, found)?;
                    path.pop();
                }
            }
            // Examples and defaults are data, not schemas.
            ("default" | "examples" | "enum" | "const", _) => {}
            (_, inner) => collect_mirrored(inner, path, false, depth + 1, found)?,
        }
    }
    Ok(())
}

fn header_name(name: &Value, kind: Option<&Value>) -> Result<String, String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let name = name.as_str().filter(|name| !name.is_empty() && name.bytes().all(token));
    let name = name.ok_or_else(|| format!("`{ANNOTATION}`: expected a header name"))?;
    match kind.and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {
            Ok(format!("{}{}", header::PARAM_PREFIX, name.to_ascii_lowercase()))
        }
        _ => Err(format!("`{ANNOTATION}`: only a string, integer or boolean can be mirrored")),
    }
}

impl MirroredParameter {
    /// Its value in the arguments; `None` if missing or null.
    pub fn argument_value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let found = self.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        (!found.is_null()).then_some(found)
    }

    /// The header value for these arguments, if there is one to send.
    pub fn header_value(&self, arguments: &Value) -> Option<String> {
        let text = match self.argument_value(arguments)? {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(header::encode_header(&text).into_owned())
    }

    /// Whether a header matches the arguments.
    pub fn matches_header(&self, arguments: &Value, sent: Option<&str>) -> bool {
        let (value, sent) = match (self.argument_value(arguments), sent) {
            (None, None) => return true,
            (None, Some(_)) | (Some(_), None) => return false,
            (Some(value), Some(sent)) => (value, sent),
        };
        let Some(sent) = header::decode_header(sent) else { return false };
        match value {
            Value::String(text) => *text == sent,
            Value::Bool(flag) => sent == if *flag { "true" } else { "false" },
            Value::Number(number) => match (number.as_f64(), sent.parse::<f64>()) {
                (Some(inside), Ok(outside)) => inside == outside && inside.abs() <= SAFE_INTEGER,
                _ => false,
            },
            // Not valid by the schema; schema validation has the better message.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(property: Value) -> Value {
        json!({ "type": "object", "properties": { "region": property } })
    }

    #[test]
    fn finds_parameters_at_any_named_place() {
        let nested = json!({ "type": "object", "properties": { "at": { "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" } } } } });
        let found = mirrored_parameters(&nested).unwrap();
        assert_eq!(
            found,
            [MirroredParameter {
                path: vec!["at".into(), "region".into()],
                header: "mcp-param-region".into()
            }]
        );
        assert_eq!(
            found[0].header_value(&json!({ "at": { "region": "köln" } })).unwrap(),
            "=?base64?a8O2bG4=?="
        );
        assert_eq!(found[0].header_value(&json!({ "at": { "region": null } })), None);
        assert_eq!(mirrored_parameters(&json!({ "type": "object" })), Ok(vec![]));
    }

    #[test]
    fn invalid_annotations_are_reported() {
        for property in [
            json!({ "type": "number", "x-mcp-header": "R" }),
            json!({ "type": "string", "x-mcp-header": "" }),
            json!({ "type": "string", "x-mcp-header": "a b" }),
            json!({ "type": "string", "x-mcp-header": 5 }),
            json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "R" } }),
            json!({ "oneOf": [{ "type": "string", "x-mcp-header": "R" }] }),
        ] {
            assert!(mirrored_parameters(&schema(property.clone())).is_err(), "{property}");
        }
        let twice = json!({ "type": "object", "properties": { "a": { "type": "string", "x-mcp-header": "R" },
            "b": { "type": "string", "x-mcp-header": "r" } } });
        assert!(mirrored_parameters(&twice).is_err());
        assert!(mirrored_parameters(&json!({ "type": "object", "x-mcp-header": "R" })).is_err());
        assert!(
            mirrored_parameters(&schema(json!({ "type": "string", "default": { "x-mcp-header": 1 } })))
                .is_ok()
        );
    }

    #[test]
    fn header_and_body_must_agree() {
        let mirrored =
            &mirrored_parameters(&schema(json!({ "type": "string", "x-mcp-header": "R" }))).unwrap()[0];
        let agrees =
            |value: Value, sent: Option<&str>| mirrored.matches_header(&json!({ "region": value }), sent);
        assert!(agrees(json!("a"), Some("a")) && agrees(json!("a"), Some("=?base64?YQ==?=")));
        assert!(
            !agrees(json!("a"), Some("b")) && !agrees(json!("a"), None) && !agrees(Value::Null, Some("a"))
        );
        assert!(agrees(Value::Null, None));
        assert!(!agrees(json!("a"), Some("=?base64?%?=")));
        assert!(agrees(json!(42), Some("42.0")) && !agrees(json!(42), Some("43")));
        assert!(agrees(json!(true), Some("true")) && !agrees(json!(true), Some("1")));
    }
}
