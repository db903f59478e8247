//! Reads a file with tools, in one of three formats: MCP definitions, the tool list of an older console, or a
//! `tpa_config.json`. The result is validated MCP definitions. Files that already have definitions stay byte for byte.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use toolyard_protocol::{
    Problem,
    items::AppItems,
    legacy::{ToolSchema, TpaConfig, read_tools},
    raw::to_raw,
    tool::ToolDefinition,
};

use crate::{error::CliError, input};

/// Largest file, in bytes: as large as the largest tool set that a server accepts by default.
pub(crate) const MAX_TOOL_FILE_BYTES: usize = 8 * 1024 * 1024;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToolFileFormat {
    /// MCP definitions.
    Definitions,
    /// The tool list of an older console.
    Console,
    /// `tpa_config.json`, later renamed to `app_config.json`.
    TpaConfig,
}

impl ToolFileFormat {
    /// The format's name for people.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Definitions => "MCP tool definitions",
            Self::Console => "a tool list of an older console",
            Self::TpaConfig => "a tpa_config.json",
        }
    }
}

/// A file with tools.
#[derive(Debug)]
pub(crate) struct ToolFile {
    pub(crate) form: ToolFileFormat,
    /// MCP definitions.
    pub(crate) tools: Vec<Box<RawValue>>,
    /// Prompts, resources and resource templates in the same file.
    pub(crate) items: AppItems,
    /// The other fields of the file, which describe the app; empty for a bare list.
    pub(crate) about: Map<String, Value>,
}

impl ToolFile {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let text = input::read_text_file(path, MAX_TOOL_FILE_BYTES)?;
        Self::parse(&text)
            .map_err(|problems| CliError::Problems { what: path.display().to_string(), problems })
    }

    /// Parses a text. Reports every problem at once.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let document: Value = serde_json::from_str(text)
            .map_err(|error| vec![Problem::new("", format!("not JSON: {error}"))])?;
        let (form, tools, about) = match document {
            Value::Array(list) if are_definitions(&list) => {
                (ToolFileFormat::Definitions, raw_list(text)?, Map::new())
            }
            Value::Array(list) => {
                (ToolFileFormat::Console, convert_tools(&read_tools(&Value::Array(list))?), Map::new())
            }
            Value::Object(mut about) => {
                let tools = about.remove("tools");
                match tools {
                    Some(Value::Array(list)) if are_definitions(&list) => {
                        (ToolFileFormat::Definitions, raw_member(text)?, about)
                    }
                    _ => (ToolFileFormat::TpaConfig, convert_tools(&TpaConfig::parse(text)?.tools), about),
                }
            }
            _ => {
                let expected = "expected a list of tools, or an object with `tools`";
                return Err(vec![Problem::new("", expected)]);
            }
        };
        let items = read_items(text, &about)?;
        let mut problems = ToolDefinition::parse_set(&tools).err().unwrap_or_default();
        problems.extend(items.problems());
        if problems.is_empty() { Ok(Self { form, tools, items, about }) } else { Err(problems) }
    }
}

/// One schema is enough: a tool without one is then an incomplete definition, not a tool in an older format.
fn are_definitions(list: &[Value]) -> bool {
    list.iter().any(|tool| tool.get("inputSchema").is_some())
}

fn convert_tools(tools: &[ToolSchema]) -> Vec<Box<RawValue>> {
    tools.iter().map(|tool| to_raw(&tool.to_definition())).collect()
}

fn tools_problem(error: serde_json::Error) -> Vec<Problem> {
    vec![Problem::new("tools", error.to_string())]
}

/// The prompts, resources and templates, if the file is an object that has them.
fn read_items(text: &str, about: &Map<String, Value>) -> Result<AppItems, Vec<Problem>> {
    if about.is_empty() {
        return Ok(AppItems::default());
    }
    let lists = "expected lists of definitions in `prompts`, `resources` and `resourceTemplates`";
    serde_json::from_str(text).map_err(|error| vec![Problem::new("", format!("{lists}: {error}"))])
}

fn raw_list(text: &str) -> Result<Vec<Box<RawValue>>, Vec<Problem>> {
    serde_json::from_str(text).map_err(tools_problem)
}

fn raw_member(text: &str) -> Result<Vec<Box<RawValue>>, Vec<Problem>> {
    #[derive(Deserialize)]
    struct Set {
        tools: Vec<Box<RawValue>>,
    }
    serde_json::from_str(text).map(|set: Set| set.tools).map_err(tools_problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &str = r#"{"name":"a", "inputSchema":{"type":"object"},"x":1.50}"#;

    fn problems(text: &str) -> Vec<String> {
        ToolFile::parse(text).unwrap_err().iter().map(Problem::to_string).collect()
    }

    #[test]
    fn definitions_stay_byte_for_byte() {
        for text in [format!("[{DEFINITION}]"), format!(r#"{{"tools":[{DEFINITION}],"version":1}}"#)] {
            let file = ToolFile::parse(&text).unwrap();
            assert_eq!((file.form, file.tools[0].get()), (ToolFileFormat::Definitions, DEFINITION));
        }
    }

    #[test]
    fn prompts_and_resources_come_along_byte_for_byte() {
        let prompt = r#"{"name":"p", "x":1.50}"#;
        let file = ToolFile::parse(&format!(r#"{{"tools":[{DEFINITION}],"prompts":[{prompt}]}}"#)).unwrap();
        assert_eq!(file.items.prompts[0].get(), prompt);
        let found =
            problems(&format!(r#"{{"tools":[{DEFINITION}],"resources":[{{"uri":"list","name":"n"}}]}}"#));
        assert!(found[0].starts_with("resources[0].uri: expected a URI"), "{found:?}");
        assert!(
            problems(&format!(r#"{{"tools":[{DEFINITION}],"prompts":5}}"#))[0].contains("expected lists")
        );
    }

    #[test]
    fn older_forms_are_converted() {
        let tool = r#"{"id":"add","description":"Adds","parameters":{"n":{"type":"number","description":"d","required":true}}}"#;
        let list = ToolFile::parse(&format!("[{tool}]")).unwrap();
        let config = ToolFile::parse(&format!(r#"{{"name":"My app","tools":[{tool}]}}"#)).unwrap();
        assert_eq!((list.form, config.form), (ToolFileFormat::Console, ToolFileFormat::TpaConfig));
        assert_eq!(config.about["name"], "My app");
        assert_eq!(list.tools[0].get(), config.tools[0].get());
        assert!(list.tools[0].get().starts_with(r#"{"name":"add","description":"Adds","inputSchema":{"#));
    }

    #[test]
    fn every_problem_has_its_path() {
        assert_eq!(
            problems(r#"[{"id":"a"},{"id":"b","description":"d","parameters":{"x":{"type":"thing"}}}]"#),
            [
                "tools[0].description: missing; expected a text",
                "tools[1].parameters.x.type: expected string, number or boolean, found `thing`"
            ]
        );
        assert_eq!(
            problems(&format!(r#"{{"tools":[{DEFINITION},{{"name":"b"}}]}}"#)),
            [r#"tools[1].inputSchema: missing; a tool without arguments has {"type":"object"}"#]
        );
        assert!(problems("[")[0].starts_with(": not JSON"));
        assert_eq!(problems("7"), [": expected a list of tools, or an object with `tools`"]);
    }
}
