//! One tool in the older form.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

use crate::name::LocalName;

/// One tool in the older form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSchema {
    /// Its name inside the app.
    pub id: LocalName,
    /// For the model.
    pub description: String,
    /// Phrases that suggest the tool to an assistant. Always written: an older platform fails without it.
    pub activation_phrases: Vec<String>,
    /// Its parameters by name, in their original order.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, LegacyParameter)>,
}

/// One parameter in the older form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LegacyParameter {
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// For the model.
    pub description: String,
    /// The allowed values, each of its type; empty allows any. Written as strings.
    #[serde(rename = "enum", serialize_with = "as_texts", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
    /// Whether it is required.
    pub required: bool,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ParameterType {
    String,
    Number,
    Boolean,
}

impl ParameterType {
    /// The name on the wire, in the older form and in JSON Schema.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// The type with that name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::String, Self::Number, Self::Boolean].into_iter().find(|kind| kind.as_str() == name)
    }

    /// A value of this type, parsed from the string in the older form.
    pub(super) fn parse_choice(self, text: &str) -> Option<Value> {
        match self {
            Self::String => Some(text.into()),
            Self::Number => text.trim().parse().ok().map(Value::Number),
            Self::Boolean => text.trim().parse().ok().map(Value::Bool),
        }
    }

    /// Whether a value has this type.
    pub(super) const fn accepts(self, value: &Value) -> bool {
        matches!(
            (self, value),
            (Self::String, Value::String(_))
                | (Self::Number, Value::Number(_))
                | (Self::Boolean, Value::Bool(_))
        )
    }
}

impl ToolSchema {
    /// The tool as an MCP definition.
    pub fn to_definition(&self) -> Value {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|(name, parameter)| (name.clone(), parameter.to_schema())).collect();
        let required: Vec<&str> = self
            .parameters
            .iter()
            .filter(|(_, parameter)| parameter.required)
            .map(|(name, _)| name.as_str())
            .collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        let mut definition =
            json!({ "name": self.id, "description": self.description, "inputSchema": schema });
        if !self.activation_phrases.is_empty() {
            definition["mentraExtensions"] = json!({ "activationPhrases": self.activation_phrases });
        }
        definition
    }
}

impl LegacyParameter {
    fn to_schema(&self) -> Value {
        let mut schema = json!({ "type": self.kind });
        if !self.description.is_empty() {
            schema["description"] = json!(self.description);
        }
        if !self.choices.is_empty() {
            schema["enum"] = json!(self.choices);
        }
        schema
    }
}

fn as_map<S: Serializer>(parameters: &[(String, LegacyParameter)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(parameters.len()))?;
    for (name, parameter) in parameters {
        map.serialize_entry(name, parameter)?;
    }
    map.end()
}

fn as_texts<S: Serializer>(choices: &[Value], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(
        choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)),
    )
}
