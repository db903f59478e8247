//! `tool_choice`, in the forms of both of OpenAI's APIs.

use serde_json::Value;

use crate::problem::Problem;

/// Whether tools may be called, and which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// Whether a tool may, must or must not be called.
    pub choice: Choice,
    /// Only these, of the caller and of the server; missing is all.
    pub only: Option<Vec<String>>,
}

/// Whether tools may be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// As the model likes.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

impl ToolSelection {
    /// Reads `tool_choice`: a word, one function, or a list of allowed ones.
    pub(in crate::chat) fn read(value: Option<&Value>) -> Result<Self, Problem> {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Self::default()) };
        if let Value::String(word) = value {
            let choice = choice(word)?;
            return Ok(Self { choice, only: None });
        }
        match value["type"].as_str() {
            Some("function") => {
                let name = function_name(value)
                    .ok_or_else(|| problem(".name", "expected the name of a function"))?;
                Ok(Self { choice: Choice::Required, only: Some(vec![name]) })
            }
            // Chat completions have what is allowed in a member of its own, responses have it beside the type.
            Some("allowed_tools") => allowed(value.get("allowed_tools").unwrap_or(value)),
            Some(other) => {
                let text = format!(
                    "tools of the type {} are not run here",
                    other.chars().take(64).collect::<String>()
                );
                Err(problem(".type", &text))
            }
            None => Err(problem("", EXPECTED)),
        }
    }
}

const EXPECTED: &str = "expected auto, required, none or a function";

fn problem(member: &str, why: &str) -> Problem {
    Problem::new(format!("tool_choice{member}"), why)
}

fn choice(word: &str) -> Result<Choice, Problem> {
    match word {
        "auto" => Ok(Choice::Auto),
        "required" => Ok(Choice::Required),
        "none" => Ok(Choice::None),
        _ => Err(problem("", EXPECTED)),
    }
}

fn allowed(value: &Value) -> Result<ToolSelection, Problem> {
    let choice = match value["mode"].as_str() {
        None | Some("auto") => Choice::Auto,
        Some("required") => Choice::Required,
        Some(_) => return Err(problem(".mode", "expected auto or required")),
    };
    let tools = value["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Option<Vec<String>> =
        tools.iter().map(|tool| function_name(tool).filter(|_| tool["type"] == "function")).collect();
    match names {
        Some(names) if !names.is_empty() => Ok(ToolSelection { choice, only: Some(names) }),
        _ => Err(problem(".tools", "expected a list of functions by name")),
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
            (json!(null), Choice::Auto, None),
            (json!("auto"), Choice::Auto, None),
            (json!("required"), Choice::Required, None),
            (json!("none"), Choice::None, None),
            (f.clone(), Choice::Required, only(&["f"])),
            (flat.clone(), Choice::Required, only(&["f"])),
            (
                json!({ "type": "allowed_tools", "allowed_tools": { "mode": "required", "tools": [f] } }),
                Choice::Required,
                only(&["f"]),
            ),
            (json!({ "type": "allowed_tools", "mode": "auto", "tools": [flat] }), Choice::Auto, only(&["f"])),
        ] {
            let read = ToolSelection::read(Some(&value)).unwrap();
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
            assert_eq!(ToolSelection::read(Some(&value)).unwrap_err().path, path, "{value}");
        }
    }
}
