//! `tool_choice`, as in both OpenAI APIs.

use serde_json::Value;

use crate::problem::Problem;

/// Whether tools may be called, and which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// Whether a tool may, must or must not be called.
    pub choice: ToolChoiceMode,
    /// Only these tools, of the caller or the server; `None` means all.
    pub only: Option<Vec<String>>,
}

/// Whether tools may be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoiceMode {
    /// The model decides.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

impl ToolSelection {
    /// Parses `tool_choice`: a mode, one function, or a list of allowed functions.
    pub(in crate::chat) fn parse(value: Option<&Value>) -> Result<Self, Problem> {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Self::default()) };
        if let Value::String(word) = value {
            let choice = parse_mode(word)?;
            return Ok(Self { choice, only: None });
        }
        match value["type"].as_str() {
            Some("function") => {
                let name = function_name(value)
                    .ok_or_else(|| choice_problem(".name", "expected the name of a function"))?;
                Ok(Self { choice: ToolChoiceMode::Required, only: Some(vec![name]) })
            }
            // Chat completions nest what is allowed; responses have it next to the type.
            Some("allowed_tools") => parse_allowed_tools(value.get("allowed_tools").unwrap_or(value)),
            Some(other) => {
                let text =
                    format!("tools of type {} are not supported", other.chars().take(64).collect::<String>());
                Err(choice_problem(".type", &text))
            }
            None => Err(choice_problem("", EXPECTED)),
        }
    }
}

const EXPECTED: &str = "expected auto, required, none or a function";

fn choice_problem(member: &str, why: &str) -> Problem {
    Problem::new(format!("tool_choice{member}"), why)
}

fn parse_mode(word: &str) -> Result<ToolChoiceMode, Problem> {
    match word {
        "auto" => Ok(ToolChoiceMode::Auto),
        "required" => Ok(ToolChoiceMode::Required),
        "none" => Ok(ToolChoiceMode::None),
        _ => Err(choice_problem("", EXPECTED)),
    }
}

fn parse_allowed_tools(value: &Value) -> Result<ToolSelection, Problem> {
    let choice = match value["mode"].as_str() {
        None | Some("auto") => ToolChoiceMode::Auto,
        Some("required") => ToolChoiceMode::Required,
        Some(_) => return Err(choice_problem(".mode", "expected auto or required")),
    };
    let tools = value["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Option<Vec<String>> =
        tools.iter().map(|tool| function_name(tool).filter(|_| tool["type"] == "function")).collect();
    match names {
        Some(names) if !names.is_empty() => Ok(ToolSelection { choice, only: Some(names) }),
        _ => Err(choice_problem(".tools", "expected a list of functions by name")),
    }
}

/// `{function: {name}}` or `{name}`
fn function_name(tool: &Value) -> Option<String> {
    let name = tool["function"]["name"].as_str().or_else(|| tool["name"].as_str())?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_read() {
        let only = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let f = json!({ "type": "function", "function": { "name": "f" } });
        let flat = json!({ "type": "function", "name": "f" });
        for (value, choice, names) in [
            (json!(null), ToolChoiceMode::Auto, None),
            (json!("auto"), ToolChoiceMode::Auto, None),
            (json!("required"), ToolChoiceMode::Required, None),
            (json!("none"), ToolChoiceMode::None, None),
            (f.clone(), ToolChoiceMode::Required, only(&["f"])),
            (flat.clone(), ToolChoiceMode::Required, only(&["f"])),
            (
                json!({ "type": "allowed_tools", "allowed_tools": { "mode": "required", "tools": [f] } }),
                ToolChoiceMode::Required,
                only(&["f"]),
            ),
            (
                json!({ "type": "allowed_tools", "mode": "auto", "tools": [flat] }),
                ToolChoiceMode::Auto,
                only(&["f"]),
            ),
        ] {
            let read = ToolSelection::parse(Some(&value)).unwrap();
            assert_eq!(read, ToolSelection { choice, only: names }, "{value}");
        }
    }

    #[test]
    fn what_is_none_is_named() {
        for (value, path) in [
            (json!(5), "tool_choice"),
            (json!("any"), "tool_choice"),
            (json!({}), "tool_choice"),
            (json!({ "type": "function" }), "tool_choice.name"),
            (json!({ "type": "custom", "custom": { "name": "x" } }), "tool_choice.type"),
            (json!({ "type": "web_search_preview" }), "tool_choice.type"),
            (json!({ "type": "allowed_tools", "mode": "never", "tools": [] }), "tool_choice.mode"),
            (json!({ "type": "allowed_tools", "tools": [] }), "tool_choice.tools"),
            (
                json!({ "type": "allowed_tools", "tools": [{ "type": "mcp", "name": "x" }] }),
                "tool_choice.tools",
            ),
        ] {
            assert_eq!(ToolSelection::parse(Some(&value)).unwrap_err().path, path, "{value}");
        }
    }
}
