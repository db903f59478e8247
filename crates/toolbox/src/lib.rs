//! Calculator, time, files, pages and web search as plain functions with schemas.
//!
//! | module | tools |
//! | --- | --- |
//! | `calculate` | `calculate` |
//! | `time` | `current_time`, `convert_time`, `time_difference`, `add_to_time` |
//! | `files` | `list_files`, `read_file`, `write_file`, `search_files` |
//! | `page` | `fetch_page` |
//! | `web_search` | `web_search` |
//!
//! Each tool has a type for its arguments, one function, one error type whose text a model can act on, and a
//! description for models. What it needs from outside (the time, folders, the network, a time limit) is passed in. Who
//! may call a tool, and under which name, is decided elsewhere.

#![warn(missing_docs)]

mod blocking;
pub mod calculate;
pub mod files;
pub mod page;
mod spec;
mod text;
pub mod time;
pub mod web_search;

pub use spec::{ToolboxHints, ToolboxOutput, ToolboxSpec};

/// All tools of this crate, in a stable order.
pub fn all_tool_specs() -> Vec<ToolboxSpec> {
    let mut all = vec![calculate::calculate_spec()];
    all.extend(time::time_tool_specs());
    all.extend(files::file_tool_specs());
    all.push(page::fetch_page_spec());
    all.push(web_search::web_search_spec());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Every key and every `type` of a schema, at any depth.
    fn walk(schema: &Value, see: &mut impl FnMut(&str, &Value)) {
        match schema {
            Value::Object(members) => {
                for (key, value) in members {
                    see(key, value);
                    walk(value, see);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn names_are_unique_and_plain() {
        let names: Vec<_> = all_tool_specs().iter().map(|tool| tool.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(
            names,
            [
                "calculate",
                "current_time",
                "convert_time",
                "time_difference",
                "add_to_time",
                "list_files",
                "read_file",
                "write_file",
                "search_files",
                "fetch_page",
                "web_search",
            ]
        );
    }

    #[test]
    fn schemas_hold_only_what_every_provider_takes() {
        for tool in all_tool_specs() {
            let name = tool.name;
            assert_eq!(tool.input_schema["type"], "object", "{name}");
            assert_eq!(tool.input_schema["additionalProperties"], false, "{name}");
            walk(&tool.input_schema, &mut |key, value| {
                assert!(
                    !["$ref", "$schema", "$defs", "oneOf", "anyOf", "allOf", "format", "title"]
                        .contains(&key),
                    "{name} has {key}"
                );
                assert!(key != "type" || value.is_string(), "{name} has the type {value}");
            });
        }
    }

    #[test]
    fn every_argument_is_described_and_no_text_is_long() {
        for tool in all_tool_specs() {
            assert!((20..400).contains(&tool.description.len()), "{}: {}", tool.name, tool.description);
            for (argument, schema) in tool.input_schema["properties"].as_object().unwrap() {
                let text = schema["description"].as_str().unwrap_or_default();
                assert!((10..400).contains(&text.len()), "{}.{argument}: {text:?}", tool.name);
            }
        }
    }

    #[test]
    fn unknown_arguments_are_refused_and_null_counts_as_missing() {
        let read = serde_json::from_value::<files::ReadFileArguments>;
        assert!(read(serde_json::json!({ "path": "a", "start": null })).is_ok());
        let error = read(serde_json::json!({ "path": "a", "offset": 1 })).unwrap_err().to_string();
        assert!(error.contains("unknown field `offset`, expected one of `path`"), "{error}");
    }

    #[test]
    fn only_one_tool_changes_anything() {
        let changing: Vec<_> =
            all_tool_specs().iter().filter(|t| !t.hints.read_only).map(|t| t.name).collect();
        assert_eq!(changing, ["write_file"]);
        let outside: Vec<_> =
            all_tool_specs().iter().filter(|t| t.hints.open_world).map(|t| t.name).collect();
        assert_eq!(outside, ["fetch_page", "web_search"]);
    }
}
