//! Parses tools in the older form and reports every problem at once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::tool_schema::{LegacyParameter, ParameterType, ToolSchema};
use crate::{
    name::{LocalName, text_excerpt},
    problem::Problem,
    tool::{MAX_PROBLEMS, MAX_TOOLS},
};

/// Parses a list of tools: `[{id, description, activationPhrases?, parameters?}]`. Unknown fields are dropped,
/// as on the older platform, and so are the `_id`s of its database.
pub fn read_tools(list: &Value) -> Result<Vec<ToolSchema>, Vec<Problem>> {
    let mut problems = Vec::new();
    let tools = tools_at(list, "tools", &mut problems);
    value_or_problems(Some(tools), problems)
}

/// The value, or the problems if there are any.
pub(super) fn value_or_problems<T>(value: Option<T>, mut problems: Vec<Problem>) -> Result<T, Vec<Problem>> {
    problems.truncate(MAX_PROBLEMS);
    match value {
        Some(value) if problems.is_empty() => Ok(value),
        _ => Err(problems),
    }
}

/// Parses a list of tools under a path.
pub(super) fn tools_at(list: &Value, path: &str, problems: &mut Vec<Problem>) -> Vec<ToolSchema> {
    let Some(list) = list.as_array() else {
        problems
            .push(Problem::new(path, format!("expected a list of tools, found {}", json_type_name(list))));
        return Vec::new();
    };
    if list.len() > MAX_TOOLS {
        problems.push(Problem::new(path, format!("{} tools; at most {MAX_TOOLS}", list.len())));
        return Vec::new();
    }
    let (mut tools, mut first) = (Vec::with_capacity(list.len()), HashMap::new());
    for (index, value) in list.iter().enumerate() {
        // Stop early: nobody reads that many problems.
        if problems.len() >= MAX_PROBLEMS {
            break;
        }
        let path_of_tool = format!("{path}[{index}]");
        let Some(tool) = read_tool(value, &path_of_tool, problems) else { continue };
        match first.get(&tool.id) {
            Some(earlier) => {
                let message = format!("`{}` is already the id of {path}[{earlier}]", tool.id);
                problems.push(Problem::new(format!("{path_of_tool}.id"), message));
            }
            None => {
                first.insert(tool.id.clone(), index);
                tools.push(tool);
            }
        }
    }
    tools
}

fn read_tool(value: &Value, path: &str, problems: &mut Vec<Problem>) -> Option<ToolSchema> {
    let Some(tool) = value.as_object() else {
        problems.push(Problem::new(path, format!("expected an object, found {}", json_type_name(value))));
        return None;
    };
    let id = read_id(tool, path, problems);
    let description = match text_at(tool, "description", path, problems) {
        Some(text) if text.trim().is_empty() => {
            problems.push(Problem::new(format!("{path}.description"), "missing; say what the tool does"));
            None
        }
        description => description,
    };
    let phrases = texts_at(tool, "activationPhrases", path, problems);
    let phrases = phrases.iter().filter_map(Value::as_str).map(str::trim).filter(|phrase| !phrase.is_empty());
    let activation_phrases = phrases.map(str::to_owned).collect();
    let parameters = read_parameters(tool.get("parameters"), &format!("{path}.parameters"), problems);
    Some(ToolSchema { id: id?, description: description?, activation_phrases, parameters })
}

fn read_id(tool: &Map<String, Value>, path: &str, problems: &mut Vec<Problem>) -> Option<LocalName> {
    let path_of_id = format!("{path}.id");
    let text = text_at(tool, "id", path, problems)?;
    let id = match text.parse::<LocalName>() {
        _ if text.is_empty() => Err("missing; each tool needs an id".to_owned()),
        Ok(_) if text.contains(':') => {
            Err("a colon separates package and tool, so an id has none".to_owned())
        }
        Ok(id) => Ok(id),
        Err(error) => Err(error.to_string()),
    };
    id.map_err(|message| problems.push(Problem::new(path_of_id, message))).ok()
}

fn read_parameters(
    value: Option<&Value>,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Vec<(String, LegacyParameter)> {
    let parameters = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(parameters)) => parameters,
        Some(other) => {
            problems.push(Problem::new(
                path,
                format!("expected an object of parameters by name, found {}", json_type_name(other)),
            ));
            return Vec::new();
        }
    };
    let mut read = Vec::with_capacity(parameters.len());
    for (name, value) in parameters {
        // The database adds its own `_id` next to the parameters; a real parameter of that name has a type.
        if name == "_id" && value.get("type").is_none() {
            continue;
        }
        if let Some(parameter) = read_parameter(value, &format!("{path}.{}", text_excerpt(name)), problems) {
            read.push((name.clone(), parameter));
        }
    }
    read
}

fn read_parameter(value: &Value, path: &str, problems: &mut Vec<Problem>) -> Option<LegacyParameter> {
    let Some(fields) = value.as_object() else {
        problems.push(Problem::new(path, format!("expected an object, found {}", json_type_name(value))));
        return None;
    };
    let kind = match fields.get("type") {
        Some(Value::String(name)) => {
            ParameterType::from_name(name).ok_or_else(|| format!("`{}`", text_excerpt(name)))
        }
        Some(other) => Err(json_type_name(other).to_owned()),
        None => Err("nothing".to_owned()),
    };
    let kind = kind.map_err(|found| {
        problems.push(Problem::new(
            format!("{path}.type"),
            format!("expected string, number or boolean, found {found}"),
        ));
    });
    let description = match fields.get("description") {
        None | Some(Value::Null) => Some(String::new()),
        Some(_) => text_at(fields, "description", path, problems),
    };
    let required = match fields.get("required") {
        None | Some(Value::Null) => Some(false),
        Some(Value::Bool(required)) => Some(*required),
        Some(other) => {
            problems.push(Problem::new(
                format!("{path}.required"),
                format!("expected true or false, found {}", json_type_name(other)),
            ));
            None
        }
    };
    let listed = texts_at(fields, "enum", path, problems);
    let kind = kind.ok()?;
    let choices = read_choices(kind, &listed, &format!("{path}.enum"), problems);
    Some(LegacyParameter { kind, description: description?, choices, required: required? })
}

/// Converts the entries of `enum` to the type of the parameter: the older form writes numbers as `["1", "2"]`.
fn read_choices(
    kind: ParameterType,
    listed: &[Value],
    path: &str,
    problems: &mut Vec<Problem>,
) -> Vec<Value> {
    let mut choices = Vec::with_capacity(listed.len());
    for entry in listed {
        let choice = match entry {
            Value::String(text) => kind.parse_choice(text),
            other => kind.accepts(other).then(|| other.clone()),
        };
        match choice {
            Some(choice) if choices.contains(&choice) => {}
            Some(choice) => choices.push(choice),
            None => {
                let message = format!("{} is no {}", text_excerpt(&entry.to_string()), kind.as_str());
                problems.push(Problem::new(path, message));
            }
        }
    }
    choices
}

/// A required string field.
pub(super) fn text_at(
    fields: &Map<String, Value>,
    name: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    let found = match fields.get(name) {
        Some(Value::String(text)) => return Some(text.clone()),
        Some(other) => format!("expected a text, found {}", json_type_name(other)),
        None => "missing; expected a text".to_owned(),
    };
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    problems.push(Problem::new(path, found));
    None
}

/// A list of simple values, or the same in one string separated by commas, as web forms send it.
fn texts_at(fields: &Map<String, Value>, name: &str, path: &str, problems: &mut Vec<Problem>) -> Vec<Value> {
    let (list, path) = (fields.get(name), format!("{path}.{name}"));
    match list {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => {
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect()
        }
        Some(Value::Array(list)) => {
            for (index, entry) in list.iter().enumerate() {
                // Other values are checked against the type of the parameter.
                if !entry.is_string()
                    && (name == "activationPhrases" || entry.is_array() || entry.is_object())
                {
                    problems.push(Problem::new(
                        format!("{path}[{index}]"),
                        format!("expected a text, found {}", json_type_name(entry)),
                    ));
                }
            }
            list.iter().filter(|entry| !entry.is_array() && !entry.is_object()).cloned().collect()
        }
        Some(other) => {
            let message =
                format!("expected a list of texts, or one text with commas, found {}", json_type_name(other));
            problems.push(Problem::new(path, message));
            Vec::new()
        }
    }
}

/// The type of a value, for messages.
pub(super) const fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
