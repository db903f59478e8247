//! Tools that the caller's own client runs. Their definitions come with every request and are untrusted.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::text::truncate_chars;

/// Longest name.
const MAX_NAME: usize = 64;
/// Maximum number of references followed to the root of a schema.
const MAX_ROOT_REFERENCES: usize = 8;
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// A client tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientTool {
    /// Letters, digits and `_`, a letter first.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// Which rules apply to names and schemas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolDialect {
    /// `POST /api/chat`: a name starts with a letter and has no `-`; a schema has no references.
    #[default]
    Chat,
    /// OpenAI's rules: letters, digits, `_` and `-` in any order; references inside the schema are allowed.
    OpenAi,
}

impl ToolDialect {
    fn accepts_name(self, name: &str) -> bool {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || (self == Self::OpenAi && b == b'-');
        let first = self == Self::OpenAi || name.starts_with(|c: char| c.is_ascii_alphabetic());
        (1..=MAX_NAME).contains(&name.len()) && first && name.bytes().all(fits)
    }

    fn name_rule(self) -> String {
        match self {
            Self::Chat => format!(
                "the name must begin with a letter and have letters, digits and _ only, at most {MAX_NAME}"
            ),
            Self::OpenAi => format!("the name must be 1 to {MAX_NAME} letters, digits, _ and -"),
        }
    }
}

/// Limits of client tools, set in the server configuration under `[chat]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientToolLimits {
    /// Tools per request.
    pub tools: usize,
    /// All definitions together, in bytes of JSON.
    pub bytes: usize,
    /// Nesting depth of schemas.
    pub depth: usize,
    /// Properties per object.
    pub properties: usize,
}

impl Default for ClientToolLimits {
    fn default() -> Self {
        Self { tools: 64, bytes: 256 * 1024, depth: 8, properties: 64 }
    }
}

/// A definition as received.
#[derive(Debug, Deserialize)]
pub(super) struct RawClientTool {
    #[serde(default)]
    pub(super) name: Value,
    #[serde(default)]
    pub(super) description: Option<Value>,
    /// Also accepted under MCP's name.
    #[serde(default, alias = "inputSchema")]
    pub(super) parameters: Option<Value>,
}

impl RawClientTool {
    pub(super) fn into_client_tool(self, path: &str) -> Result<ClientTool, Problem> {
        let text = |value: Value, member: &str| match value {
            Value::String(text) => Ok(text),
            _ => Err(Problem::new(format!("{path}.{member}"), "expected a text")),
        };
        let name = text(self.name, "name")?;
        let description = self.description.map_or(Ok(String::new()), |value| text(value, "description"))?;
        let parameters = self.parameters.unwrap_or_else(|| serde_json::json!({ "type": "object" }));
        Ok(ClientTool { name, description, parameters })
    }
}

/// Checks the tools of a request to `POST /api/chat`. `taken` tells whether a server tool has that name.
pub fn check_client_tools(
    tools: &[ClientTool],
    limits: &ClientToolLimits,
    taken: impl Fn(&str) -> bool,
) -> Result<(), Problem> {
    check_client_tools_in_dialect(tools, limits, ToolDialect::Chat, taken)
}

/// Checks client tools by the rules of a dialect.
pub fn check_client_tools_in_dialect(
    tools: &[ClientTool],
    limits: &ClientToolLimits,
    dialect: ToolDialect,
    taken: impl Fn(&str) -> bool,
) -> Result<(), Problem> {
    if tools.len() > limits.tools {
        return Err(Problem::new("clientTools", format!("{} tools; at most {}", tools.len(), limits.tools)));
    }
    let size: usize =
        tools.iter().map(|tool| tool.parameters.to_string().len() + tool.description.len()).sum();
    if size > limits.bytes {
        let text = format!("their definitions have {size} bytes; at most {}", limits.bytes);
        return Err(Problem::new("clientTools", text));
    }
    let mut names = HashSet::new();
    for tool in tools {
        let at = |why: String| Problem::new(format!("clientTools.{}", truncate_name(&tool.name)), why);
        if !dialect.accepts_name(&tool.name) {
            return Err(at(dialect.name_rule()));
        }
        if !names.insert(&tool.name) {
            return Err(at("there are two of that name".to_owned()));
        }
        if taken(&tool.name) {
            return Err(at("a tool of the server has that name; choose another".to_owned()));
        }
        if resolve_root_schema(&tool.parameters, dialect)["type"] != "object" {
            return Err(at("parameters.type: expected `object`".to_owned()));
        }
        check_schema(&tool.parameters, "parameters", limits.depth, limits, dialect).map_err(at)?;
    }
    Ok(())
}

/// The schema of the value itself. Generators put a type that contains itself behind a reference.
fn resolve_root_schema(schema: &Value, dialect: ToolDialect) -> &Value {
    let mut current = schema;
    for _ in 0..MAX_ROOT_REFERENCES {
        let target = match current["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            Some(pointer) if dialect == ToolDialect::OpenAi && current.get("type").is_none() => {
                schema.pointer(pointer)
            }
            _ => None,
        };
        match target {
            Some(target) => current = target,
            None => break,
        }
    }
    current
}

fn truncate_name(name: &str) -> String {
    truncate_chars(name, MAX_NAME).into_owned()
}

/// Walks a schema. The content of `enum`, `const`, `default` and `examples` is data, not schema.
fn check_schema(
    value: &Value,
    path: &str,
    depth: usize,
    limits: &ClientToolLimits,
    dialect: ToolDialect,
) -> Result<(), String> {
    let fields: &Map<String, Value> = match value {
        Value::Object(fields) => fields,
        Value::Bool(_) => return Ok(()),
        _ => return Err(format!("{path}: expected a schema")),
    };
    let Some(deeper) = depth.checked_sub(1) else {
        return Err(format!("{path}: deeper than {} schemas", limits.depth));
    };
    for (keyword, inside) in fields {
        let at = format!("{path}.{keyword}");
        match keyword.as_str() {
            // The target is checked when the schema is compiled.
            "$ref" if dialect == ToolDialect::OpenAi && is_local(inside) => {}
            "$ref" if dialect == ToolDialect::OpenAi => {
                return Err(format!(
                    "{at}: expected a reference inside of this schema, such as #/$defs/Name"
                ));
            }
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                return Err(format!("{at}: references are not supported; inline the schema"));
            }
            "type" => check_types(inside, &at)?,
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                let Value::Object(members) = inside else { return Err(format!("{at}: expected an object")) };
                if members.len() > limits.properties {
                    return Err(format!("{at}: {} members; at most {}", members.len(), limits.properties));
                }
                for (name, member) in members {
                    check_schema(member, &format!("{at}.{}", truncate_name(name)), deeper, limits, dialect)?;
                }
            }
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => {
                let Value::Array(list) = inside else { return Err(format!("{at}: expected a list")) };
                for (index, one) in list.iter().enumerate() {
                    check_schema(one, &format!("{at}[{index}]"), deeper, limits, dialect)?;
                }
            }
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames" => {
                check_schema(inside, &at, deeper, limits, dialect)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_local(reference: &Value) -> bool {
    reference.as_str().is_some_and(|reference| reference.starts_with('#'))
}

fn check_types(value: &Value, path: &str) -> Result<(), String> {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let fits = match value {
        Value::Array(list) => !list.is_empty() && list.iter().all(known),
        one => known(one),
    };
    if fits { Ok(()) } else { Err(format!("{path}: expected one of {}", TYPES.join(", "))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, parameters: Value) -> ClientTool {
        ClientTool { name: name.to_owned(), description: "d".to_owned(), parameters }
    }

    fn check_error(tools: &[ClientTool]) -> String {
        check_error_in(ToolDialect::Chat, tools)
    }

    fn check_error_in(dialect: ToolDialect, tools: &[ClientTool]) -> String {
        let taken = |name: &str| name == "com_ex__taken";
        check_client_tools_in_dialect(tools, &ClientToolLimits::default(), dialect, taken)
            .map_or_else(|problem| problem.to_string(), |()| String::new())
    }

    #[test]
    fn openai_has_other_names_and_references_inside() {
        let object = || json!({ "type": "object" });
        let openai = |tool| check_error_in(ToolDialect::OpenAi, &[tool]);
        for name in ["get-weather", "1st", "-", "_x", "A9", &"a".repeat(64)] {
            assert_eq!(openai(tool(name, object())), "", "{name}");
        }
        for name in ["", "a b", "a.b", "ä", &"a".repeat(65)] {
            assert!(openai(tool(name, object())).contains("1 to 64 letters, digits, _ and -"), "{name}");
        }
        let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" } } });
        let nested = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/Node" } }, "$defs": { "Node": node } });
        assert_eq!(openai(tool("a", nested)), "");
        let at_root = json!({ "$ref": "#/$defs/Node", "$defs": { "Node": node } });
        assert_eq!(openai(tool("a", at_root)), "");
        for (schema, why) in [
            (
                json!({ "$ref": "#/$defs/Loop", "$defs": { "Loop": { "$ref": "#/$defs/Loop" } } }),
                "expected `object`",
            ),
            (
                json!({ "type": "object", "properties": { "x": { "$ref": "https://e/x.json" } } }),
                "x.$ref: expected a ref",
            ),
            (
                json!({ "type": "object", "properties": { "x": { "$ref": 5 } } }),
                "x.$ref: expected a reference",
            ),
            (
                json!({ "type": "object", "properties": { "x": { "$dynamicRef": "#x" } } }),
                "$dynamicRef: references",
            ),
        ] {
            let reported = openai(tool("a", schema));
            assert!(reported.contains(why), "{why}: {reported}");
        }
    }

    fn nested(depth: usize) -> Value {
        (1..depth).fold(
            json!({ "type": "object" }),
            |inside, _| json!({ "type": "object", "properties": { "a": inside } }),
        )
    }

    #[test]
    fn good_ones_pass() {
        let schema = json!({ "type": "object", "properties": { "type": { "type": ["string", "null"] }, "list":
            { "type": "array", "items": { "anyOf": [{ "type": "number" }, true] } } }, "required": ["type"] });
        assert_eq!(check_error(&[tool("get_local_time", schema), tool("b", nested(8))]), "");
    }

    #[test]
    fn each_rule_says_which_tool_and_why() {
        let object = || json!({ "type": "object" });
        let wide: Map<String, Value> = (0..65).map(|n| (format!("p{n}"), json!({}))).collect();
        for (tools, why) in [
            (vec![tool("1a", object())], "clientTools.1a: the name must begin"),
            (vec![tool("a-b", object())], "clientTools.a-b: the name"),
            (vec![tool(&"a".repeat(65), object())], "the name must begin"),
            (vec![tool("a", object()), tool("a", object())], "clientTools.a: there are two"),
            (vec![tool("com_ex__taken", object())], "a tool of the server has that name"),
            (vec![tool("a", json!({ "type": "string" }))], "parameters.type: expected `object`"),
            (
                vec![tool("a", json!({ "type": "object", "properties": { "x": { "type": "date" } } }))],
                "x.type: expected one of",
            ),
            (
                vec![tool("a", json!({ "type": "object", "properties": { "x": { "$ref": "#" } } }))],
                "x.$ref: references",
            ),
            (vec![tool("a", json!({ "type": "object", "properties": wide }))], "65 members; at most 64"),
            (vec![tool("a", nested(9))], "deeper than 8 schemas"),
            (vec![tool("a", json!({ "type": "object", "properties": { "x": 5 } }))], "x: expected a schema"),
            (vec![tool("a", json!({ "type": "object", "x": "y".repeat(256 * 1024) }))], "at most 262144"),
            ((0..65).map(|n| tool(&format!("t{n}"), object())).collect(), "65 tools; at most 64"),
        ] {
            let reported = check_error(&tools);
            assert!(reported.contains(why), "{why}: {reported}");
        }
    }

    #[test]
    fn alternatives_count_as_depth() {
        let either = (0..8).fold(json!({ "type": "string" }), |inside, _| json!({ "oneOf": [inside] }));
        assert!(
            check_error(&[tool("a", json!({ "type": "object", "properties": { "x": either } }))])
                .contains("deeper")
        );
    }
}
