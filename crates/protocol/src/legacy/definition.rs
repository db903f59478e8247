//! Converts an MCP definition to the older form, only if nothing is lost.

use serde_json::{Map, Value};

use super::tool_schema::{LegacyParameter, ParameterType, ToolSchema};
use crate::{
    name::{LocalName, text_excerpt},
    problem::Problem,
    tool::MAX_PROBLEMS,
};

/// The older form cannot express the whole definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the older form cannot express everything: {}", .reasons.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
pub struct LossyConversion {
    /// Everything that would be lost, with its path.
    pub reasons: Vec<Problem>,
}

const NO_PLACE: &str = "has no place in the older form";

impl ToolSchema {
    /// The definition in the older form, or everything that it would lose.
    pub fn from_definition(definition: &Value) -> Result<Self, LossyConversion> {
        let mut lost = LossCollector::default();
        let tool = lost.convert_tool(definition);
        lost.reasons.truncate(MAX_PROBLEMS);
        match tool {
            Some(tool) if lost.reasons.is_empty() => Ok(tool),
            _ => Err(LossyConversion { reasons: lost.reasons }),
        }
    }
}

#[derive(Default)]
struct LossCollector {
    reasons: Vec<Problem>,
}

impl LossCollector {
    fn add_loss(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.reasons.push(Problem::new(path, message));
    }

    /// Reports every member that is not known, because it would be lost.
    fn add_unknown_members(&mut self, fields: &Map<String, Value>, known: &[&str], path: &str) {
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let dot = if path.is_empty() { "" } else { "." };
            self.add_loss(format!("{path}{dot}{}", text_excerpt(name)), NO_PLACE);
        }
    }

    fn convert_tool(&mut self, definition: &Value) -> Option<ToolSchema> {
        let Some(fields) = definition.as_object() else {
            self.add_loss("", "expected an object that defines a tool");
            return None;
        };
        let id = fields.get("name").and_then(Value::as_str).and_then(|name| name.parse::<LocalName>().ok());
        if id.is_none() {
            self.add_loss("name", "expected the name of a tool");
        }
        let description =
            fields.get("description").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if description.is_none() {
            self.add_loss("description", "missing; the older form needs one");
        }
        let parameters = self.convert_parameters(fields.get("inputSchema"));
        let activation_phrases = self.convert_phrases(fields.get("mentraExtensions"));
        self.add_unknown_members(fields, &["name", "description", "inputSchema", "mentraExtensions"], "");
        Some(ToolSchema { id: id?, description: description?.to_owned(), activation_phrases, parameters })
    }

    fn convert_parameters(&mut self, schema: Option<&Value>) -> Vec<(String, LegacyParameter)> {
        let Some(schema) = schema.and_then(Value::as_object) else {
            self.add_loss("inputSchema", "expected an object");
            return Vec::new();
        };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            self.add_loss("inputSchema.type", "expected \"object\"");
        }
        self.add_unknown_members(schema, &["type", "properties", "required"], "inputSchema");
        let empty = Map::new();
        let properties = match schema.get("properties") {
            None => &empty,
            Some(Value::Object(properties)) => properties,
            Some(_) => {
                self.add_loss("inputSchema.properties", "expected an object");
                &empty
            }
        };
        let required = self.convert_required(schema.get("required"), properties);
        let mut parameters = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            let path = format!("inputSchema.properties.{}", text_excerpt(name));
            let required = required.contains(&name.as_str());
            if let Some(parameter) = self.convert_parameter(property, required, &path) {
                parameters.push((name.clone(), parameter));
            }
        }
        parameters
    }

    fn convert_required<'a>(
        &mut self,
        required: Option<&'a Value>,
        properties: &Map<String, Value>,
    ) -> Vec<&'a str> {
        let list = match required {
            None => return Vec::new(),
            Some(Value::Array(list)) => list,
            Some(_) => {
                self.add_loss("inputSchema.required", "expected a list of names");
                return Vec::new();
            }
        };
        let mut names = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            match entry.as_str().filter(|name| properties.contains_key(*name)) {
                Some(name) => names.push(name),
                None => self.add_loss(format!("inputSchema.required[{index}]"), "names no property"),
            }
        }
        names
    }

    fn convert_parameter(&mut self, property: &Value, required: bool, path: &str) -> Option<LegacyParameter> {
        let Some(fields) = property.as_object() else {
            self.add_loss(path, "expected an object; the older form needs a type");
            return None;
        };
        self.add_unknown_members(fields, &["type", "description", "enum"], path);
        let kind = match fields.get("type") {
            Some(Value::String(name)) => ParameterType::from_name(name).ok_or_else(|| match name.as_str() {
                "object" => "an object inside the arguments; the older form is flat".to_owned(),
                "array" => "a list; the older form has none".to_owned(),
                "integer" => "an integer; the older form has only numbers".to_owned(),
                other => format!("`{}`; the older form has string, number and boolean", text_excerpt(other)),
            }),
            Some(_) => Err("several types; the older form has one".to_owned()),
            None => Err("missing; the older form needs one".to_owned()),
        };
        let kind = kind.map_err(|message| self.add_loss(format!("{path}.type"), message));
        let description = match fields.get("description") {
            None => Some(String::new()),
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.add_loss(format!("{path}.description"), "expected a text");
                None
            }
        };
        let kind = kind.ok()?;
        let choices = self.convert_choices(fields.get("enum"), kind, &format!("{path}.enum"));
        Some(LegacyParameter { kind, description: description?, choices, required })
    }

    fn convert_choices(&mut self, list: Option<&Value>, kind: ParameterType, path: &str) -> Vec<Value> {
        match list {
            None => Vec::new(),
            Some(Value::Array(list))
                if !list.is_empty() && list.iter().all(|choice| kind.accepts(choice)) =>
            {
                list.clone()
            }
            Some(_) => {
                self.add_loss(path, format!("expected a list of at least one {}", kind.as_str()));
                Vec::new()
            }
        }
    }

    fn convert_phrases(&mut self, extensions: Option<&Value>) -> Vec<String> {
        let extensions = match extensions {
            None => return Vec::new(),
            Some(Value::Object(extensions)) => extensions,
            Some(_) => {
                self.add_loss("mentraExtensions", "expected an object");
                return Vec::new();
            }
        };
        self.add_unknown_members(extensions, &["activationPhrases"], "mentraExtensions");
        let path = "mentraExtensions.activationPhrases";
        match extensions.get("activationPhrases") {
            None => Vec::new(),
            Some(Value::Array(list)) => {
                let phrases: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                if phrases.len() < list.len() {
                    self.add_loss(path, "expected texts only");
                }
                phrases
            }
            Some(Value::Object(_)) => {
                self.add_loss(path, "phrases by language; the older form has one list for all");
                Vec::new()
            }
            Some(_) => {
                self.add_loss(path, "expected a list of texts");
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{legacy::read_tools, raw::to_raw, tool::ToolDefinition};

    #[test]
    fn names_every_reason() {
        let definition = json!({
            "name": "plan", "title": "Plan", "description": "d",
            "inputSchema": {
                "type": "object", "additionalProperties": false, "required": ["who", "ghost"],
                "properties": {
                    "who": { "type": "object", "properties": {} },
                    "tags": { "type": "array", "items": { "type": "string" } },
                    "count": { "type": "integer" },
                    "unit": { "type": "string", "default": "m", "minLength": 1 },
                    "either": { "type": ["string", "null"] },
                    "any": true,
                    "free": {},
                    "odd": { "type": "number", "enum": ["1"] },
                },
            },
            "outputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
            "mentraExtensions": { "activationPhrases": { "en": ["plan"] }, "category": "utility" },
        });
        let lost = ToolSchema::from_definition(&definition).unwrap_err();
        let messages: Vec<String> = lost.reasons.iter().map(Problem::to_string).collect();
        assert_eq!(
            messages,
            [
                "inputSchema.additionalProperties: has no place in the older form",
                "inputSchema.required[1]: names no property",
                "inputSchema.properties.who.properties: has no place in the older form",
                "inputSchema.properties.who.type: an object inside the arguments; the older form is flat",
                "inputSchema.properties.tags.items: has no place in the older form",
                "inputSchema.properties.tags.type: a list; the older form has none",
                "inputSchema.properties.count.type: an integer; the older form has only numbers",
                "inputSchema.properties.unit.default: has no place in the older form",
                "inputSchema.properties.unit.minLength: has no place in the older form",
                "inputSchema.properties.either.type: several types; the older form has one",
                "inputSchema.properties.any: expected an object; the older form needs a type",
                "inputSchema.properties.free.type: missing; the older form needs one",
                "inputSchema.properties.odd.enum: expected a list of at least one number",
                "mentraExtensions.category: has no place in the older form",
                "mentraExtensions.activationPhrases: phrases by language; the older form has one list for all",
                "title: has no place in the older form",
                "outputSchema: has no place in the older form",
                "annotations: has no place in the older form",
            ]
        );
        assert!(
            lost.to_string().starts_with("the older form cannot express everything: inputSchema.additional")
        );
    }

    #[test]
    fn invalid_definitions_are_rejected() {
        let messages = |value: &Value| ToolSchema::from_definition(value).unwrap_err().reasons.len();
        assert_eq!((messages(&json!(7)), messages(&json!({}))), (1, 3));
        let wide: Map<String, Value> = (0..1_000).map(|n| (format!("p{n}"), json!(7))).collect();
        assert_eq!(messages(&json!({ "inputSchema": { "properties": wide } })), MAX_PROBLEMS);
    }

    fn parameter() -> impl Strategy<Value = LegacyParameter> {
        let choices = prop_oneof![
            Just((ParameterType::Boolean, Vec::new())),
            Just((ParameterType::Boolean, vec![json!(true)])),
            prop::collection::hash_set("[^ \u{0}-\u{1f}][a-z ,]{0,6}[a-z]", 0..4)
                .prop_map(|texts| (ParameterType::String, texts.into_iter().map(Value::from).collect())),
            prop::collection::hash_set(-1_000i64..1_000, 0..4)
                .prop_map(|numbers| (ParameterType::Number, numbers.into_iter().map(Value::from).collect())),
            Just((ParameterType::Number, vec![json!(0.5), json!(1e300)])),
        ];
        (choices, ".{0,20}", any::<bool>()).prop_map(|((kind, choices), description, required)| {
            LegacyParameter { kind, description, choices, required }
        })
    }

    fn tool() -> impl Strategy<Value = ToolSchema> {
        let parameters = prop::collection::vec((".{0,12}", parameter()), 0..5).prop_map(|mut list| {
            let mut names = std::collections::HashSet::new();
            list.retain(|(name, _)| names.insert(name.clone()) && crate::visible::count_invisible(name) == 0);
            list
        });
        (
            "[!-9;-~]{1,40}",
            "[a-z].{0,40}",
            prop::collection::vec("[a-zäß][a-z, ]{0,10}[a-z]", 0..4),
            parameters,
        )
            .prop_map(|(id, description, activation_phrases, parameters)| ToolSchema {
                id: id.parse().unwrap(),
                description,
                activation_phrases,
                parameters,
            })
    }

    proptest! {
        #[test]
        fn there_and_back_is_the_same_tool(tool in tool()) {
            let definition = tool.to_definition();
            prop_assert!(ToolDefinition::parse(&to_raw(&definition), "tool").is_ok());
            prop_assert_eq!(ToolSchema::from_definition(&definition).unwrap(), tool);
        }

        #[test]
        fn what_is_written_is_read_as_the_same_tool(tool in tool()) {
            let written = serde_json::to_value([&tool]).unwrap();
            prop_assert_eq!(read_tools(&written).unwrap(), vec![tool]);
        }

        #[test]
        fn nothing_that_comes_makes_it_fail_hard(text in ".{0,200}") {
            let value: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            let _ = (read_tools(&value), ToolSchema::from_definition(&value));
        }
    }
}
