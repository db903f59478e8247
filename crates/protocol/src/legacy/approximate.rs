//! The closest older form of a definition, for clients that know no other. What it cannot express is left out or written
//! as text, so it is for display, never for storage.

use serde_json::Value;

use super::{LegacyParameter, ParameterType, ToolSchema};
use crate::tool::ToolDefinition;

impl ToolSchema {
    /// The closest older form of a definition.
    pub fn from_definition_lossy(definition: &ToolDefinition) -> Self {
        let schema = &definition.input_schema();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)));
        let properties = schema.get("properties").and_then(Value::as_object);
        let parameters = properties.into_iter().flatten();
        let parameters =
            parameters.map(|(name, property)| (name.clone(), nearest_parameter(property, is_required(name))));
        let phrases = definition.extensions.activation_phrases.as_ref();
        Self {
            id: definition.name.clone(),
            description: definition.description.clone(),
            activation_phrases: phrases.map(|p| p.phrases().map(str::to_owned).collect()).unwrap_or_default(),
            parameters: parameters.collect(),
        }
    }
}

fn nearest_parameter(property: &Value, required: bool) -> LegacyParameter {
    let kind = match property.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => ParameterType::Number,
        Some("boolean") => ParameterType::Boolean,
        _ => ParameterType::String,
    };
    let description = property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let choices = property.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
    LegacyParameter { kind, description, choices, required }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::raw::to_raw;

    #[test]
    fn everything_the_older_form_can_express_is_kept() {
        let definition = json!({
            "name": "add", "description": "d", "mentraExtensions": { "activationPhrases": { "en": ["a"], "de": ["b"] } },
            "inputSchema": { "type": "object", "required": ["n"], "properties": {
                "n": { "type": "integer", "description": "how many" }, "deep": { "type": "object" } } },
        });
        let definition = ToolDefinition::parse(&to_raw(&definition), "t").unwrap();
        assert_eq!(
            serde_json::to_value(ToolSchema::from_definition_lossy(&definition)).unwrap(),
            json!({ "id": "add", "description": "d", "activationPhrases": ["b", "a"], "parameters": {
                "deep": { "type": "string", "description": "", "required": false },
                "n": { "type": "number", "description": "how many", "required": true } } })
        );
    }
}
