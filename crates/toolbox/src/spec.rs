//! What every tool has: a description for models, hints about its effects, and an output.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use toolyard_typed_tool::arguments_schema;

/// The output of a tool.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ToolboxOutput {
    /// For the model. Complete: `structured` contains nothing more.
    pub text: String,
    /// The same for programs.
    pub structured: Option<Value>,
}

/// A tool as models and callers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolboxSpec {
    /// Lower case letters and `_`.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// For models, one to three sentences.
    pub description: &'static str,
    /// JSON Schema of the arguments: an object, everything inlined.
    pub input_schema: Value,
    /// The effects of a call.
    pub hints: ToolboxHints,
}

/// The annotations of MCP. They are true for these tools, so a caller may rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolboxHints {
    /// A call changes nothing.
    pub read_only: bool,
    /// A call may destroy data.
    pub destructive: bool,
    /// A repeated call with the same arguments has no further effect.
    pub idempotent: bool,
    /// A call reaches outside of this machine.
    pub open_world: bool,
}

impl ToolboxHints {
    /// Reads only, on this machine.
    pub const READ_ONLY: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Reads only, outside of this machine.
    pub const READ_ONLY_OUTSIDE: Self = Self { open_world: true, ..Self::READ_ONLY };
    /// Replaces existing data.
    pub const REPLACING: Self =
        Self { read_only: false, destructive: true, idempotent: true, open_world: false };
}

impl ToolboxSpec {
    /// The tool's definition in MCP form.
    pub fn to_mcp_definition(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.hints.read_only,
                "destructiveHint": self.hints.destructive,
                "idempotentHint": self.hints.idempotent,
                "openWorldHint": self.hints.open_world,
            },
        })
    }
}

/// The schema of a tool's arguments, in the subset that every model provider accepts.
pub(crate) fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = arguments_schema::<A>();
    if let Some(root) = schema.as_object_mut() {
        // The doc comment of a Rust type means nothing to a model; the tool has its own description.
        root.remove("description");
        for property in root.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            if let Some(property) = property.1.as_object_mut() {
                simplify_property(property);
            }
        }
    }
    schema
}

/// An optional argument can be left out. Allowing `null` as well would need a list of types, which some providers
/// refuse; `format: uint` is an extension of schemars.
fn simplify_property(property: &mut Map<String, Value>) {
    property.remove("format");
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    let types = property.get("type").and_then(Value::as_array);
    let real: Vec<_> = types.into_iter().flatten().filter(|kind| *kind != "null").cloned().collect();
    if let [only] = real.as_slice() {
        property.insert("type".to_owned(), only.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Not for models.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Arguments {
        /// Which one, for example 3.
        which: u32,
        /// Why.
        why: Option<String>,
    }

    #[test]
    fn a_schema_is_plain() {
        assert_eq!(
            schema_of::<Arguments>(),
            json!({
                "type": "object",
                "properties": {
                    "which": { "type": "integer", "minimum": 0, "description": "Which one, for example 3." },
                    "why": { "type": "string", "description": "Why." },
                },
                "required": ["which"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn a_definition_is_what_mcp_wants() {
        let described = ToolboxSpec {
            name: "look",
            title: "Look",
            description: "Looks.",
            input_schema: json!({ "type": "object" }),
            hints: ToolboxHints::READ_ONLY_OUTSIDE,
        };
        assert_eq!(
            described.to_mcp_definition(),
            json!({
                "name": "look",
                "title": "Look",
                "description": "Looks.",
                "inputSchema": { "type": "object" },
                "annotations": {
                    "title": "Look",
                    "readOnlyHint": true,
                    "destructiveHint": false,
                    "idempotentHint": true,
                    "openWorldHint": true,
                },
            })
        );
    }
}
