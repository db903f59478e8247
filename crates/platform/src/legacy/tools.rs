//! Tools in the format from before MCP, as older consoles and `tpa_config.json` contain them. Converted to definitions
//! wherever a request contains tools.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};
use toolyard_protocol::{Problem, legacy::read_tools, raw::to_raw};

/// The fields that distinguish the formats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolForm {
    id: Option<IgnoredAny>,
    input_schema: Option<IgnoredAny>,
}

/// Converts tools to MCP definitions. Definitions are not changed.
pub fn to_definitions(tools: Vec<Box<RawValue>>) -> Result<Vec<Box<RawValue>>, Vec<Problem>> {
    if !is_older_form(&tools) {
        return Ok(tools);
    }
    let values = tools.iter().map(|tool| serde_json::from_str::<Value>(tool.get()).unwrap_or_default());
    let tools = read_tools(&Value::Array(values.collect()))?;
    Ok(tools.iter().map(|tool| to_raw(&tool.to_definition())).collect())
}

/// If any tool has a schema, all are definitions; a tool without one is then an invalid definition.
fn is_older_form(tools: &[Box<RawValue>]) -> bool {
    let forms: Vec<ToolForm> =
        tools.iter().filter_map(|tool| serde_json::from_str(tool.get()).ok()).collect();
    forms.iter().all(|form| form.input_schema.is_none()) && forms.iter().any(|form| form.id.is_some())
}
