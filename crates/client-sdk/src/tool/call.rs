//! A tool call, in any of its formats.

use serde_json::{Map, Value, value::RawValue};

use super::ToolError;

/// A tool call, as the model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Identifies the call and its result.
    pub id: String,
    /// The tool, as the model calls it.
    pub tool: String,
    /// The arguments: an object, unless the model or the server made a mistake.
    pub input: Value,
    /// Whether the server runs it. This client runs the others.
    pub of_server: bool,
}

impl ToolCall {
    /// A call for this client, for tests of a plugin.
    pub fn new(id: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), tool: tool.into(), input, of_server: false }
    }

    /// Reads `toolCallId`, `toolName` and `input`, or the older `id`, `name` and `args` or `arguments`. Arguments may also be a
    /// string with JSON. Missing arguments become an empty object.
    pub fn from_fields(fields: &Map<String, Value>) -> Result<Self, String> {
        let id = first_text(fields, &["toolCallId", "id"]).ok_or("`toolCallId` is missing")?;
        let tool = first_text(fields, &["toolName", "name"]).ok_or("`toolName` is missing")?;
        let input = ["input", "args", "arguments"].iter().find_map(|name| fields.get(*name));
        let of_server = fields.get("providerExecuted") == Some(&Value::Bool(true));
        Ok(Self { id: id.to_owned(), tool: tool.to_owned(), input: read_input(input), of_server })
    }

    /// From a chunk. The arguments are read as in [`ToolCall::from_fields`]; it fails only if they are nested too deeply or
    /// have a number out of range.
    pub(crate) fn from_chunk(
        id: String,
        tool: String,
        input: &RawValue,
        provider_executed: Option<bool>,
    ) -> Result<Self, serde_json::Error> {
        let input = serde_json::from_str(input.get())?;
        let of_server = provider_executed == Some(true);
        Ok(Self { id, tool, input: read_input(Some(&input)), of_server })
    }

    /// The arguments as an object.
    pub fn arguments(&self) -> Result<Map<String, Value>, ToolError> {
        match &self.input {
            Value::Object(fields) => Ok(fields.clone()),
            Value::Null => Ok(Map::new()),
            _ => Err(ToolError::new("the arguments are not a JSON object")),
        }
    }
}

fn first_text<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str()).filter(|text| !text.is_empty())
}

fn read_input(input: Option<&Value>) -> Value {
    let empty = || Value::Object(Map::new());
    match input {
        None | Some(Value::Null) => empty(),
        Some(Value::String(text)) if text.trim().is_empty() => empty(),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Value::Object(fields),
            _ => Value::String(text.clone()),
        },
        Some(value) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(call: Value) -> Result<ToolCall, String> {
        ToolCall::from_fields(call.as_object().unwrap())
    }

    #[test]
    fn calls_are_read_with_their_old_field_names_as_well() {
        let wanted = ToolCall::new("c", "t", json!({ "a": 1 }));
        for call in [
            json!({ "toolCallId": "c", "toolName": "t", "input": { "a": 1 } }),
            json!({ "toolCallId": "c", "toolName": "t", "args": { "a": 1 } }),
            json!({ "id": "c", "name": "t", "arguments": { "a": 1 } }),
            json!({ "id": "c", "name": "t", "arguments": "{\"a\":1}" }),
            json!({ "id": "other", "toolCallId": "c", "name": "other", "toolName": "t", "input": { "a": 1 }, "args": 5 }),
        ] {
            assert_eq!(read(call.clone()), Ok(wanted.clone()), "{call}");
        }
    }

    #[test]
    fn missing_arguments_are_empty_and_other_values_are_an_error() {
        for input in [json!(null), json!(""), json!({})] {
            let call = read(json!({ "id": "c", "name": "t", "input": input })).unwrap();
            assert_eq!(call.arguments(), Ok(Map::new()));
        }
        for input in [json!("half {"), json!([1]), json!("[1]")] {
            let call = read(json!({ "id": "c", "name": "t", "input": input })).unwrap();
            assert!(call.arguments().unwrap_err().to_string().contains("not a JSON object"), "{input}");
        }
    }

    #[test]
    fn a_call_has_an_id_and_a_name() {
        assert_eq!(read(json!({ "name": "t" })), Err("`toolCallId` is missing".to_owned()));
        assert_eq!(read(json!({ "id": "", "name": "t" })), Err("`toolCallId` is missing".to_owned()));
        assert_eq!(read(json!({ "id": "c", "name": 5 })), Err("`toolName` is missing".to_owned()));
    }
}
