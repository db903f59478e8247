//! The two files of a set: tools, and prompts for them.

use std::{
    collections::{BTreeMap, HashSet},
    io::BufRead,
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_agent::model::ToolSpec;

use crate::json_lines::{EvalFileError, MAX_ENTRIES, read_json_lines};

/// The tools of our own set of 60 prompts.
pub const OWN_TOOLS: &str = include_str!("../../tools/tools.jsonl");
/// The prompts of our own set.
pub const OWN_PROMPTS: &str = include_str!("../../tools/prompts.jsonl");

/// Tools, and prompts for them.
#[derive(Debug, Clone)]
pub struct PromptSuite {
    pub(super) tools: Vec<Arc<ToolSpec>>,
    pub(super) prompts: Vec<EvalPrompt>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvalPrompt {
    pub(super) text: String,
    #[serde(default)]
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SuiteTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default = "empty_schema")]
    input_schema: Value,
}

fn empty_schema() -> Value {
    json!({ "type": "object" })
}

impl PromptSuite {
    /// Reads a set.
    pub fn read(tools: impl BufRead, prompts: impl BufRead) -> Result<Self, EvalFileError> {
        let mut names = HashSet::new();
        let tools = read_json_lines(tools, "tools", MAX_ENTRIES, |tool: SuiteTool| {
            if !names.insert(tool.name.clone()) {
                return Err(format!("{} is defined twice", tool.name));
            }
            let SuiteTool { name, description, input_schema: schema } = tool;
            Ok(Arc::new(ToolSpec { name, description, schema }))
        })?;
        let prompts =
            read_json_lines(prompts, "prompts", MAX_ENTRIES, |prompt: EvalPrompt| match &prompt.tool {
                Some(tool) if !names.contains(tool) => Err(format!("there is no tool {tool}")),
                _ => Ok(prompt),
            })?;
        Ok(Self { tools, prompts })
    }

    /// The number of prompts.
    pub fn len(&self) -> usize {
        self.prompts.len()
    }

    /// Always false, because an empty set is an error.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(tools: &str, prompts: &str) -> String {
        PromptSuite::read(tools.as_bytes(), prompts.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_the_file_and_the_line() {
        let tool = "{\"name\":\"a\"}";
        assert_eq!(error(&format!("{tool}\n\n{tool}"), ""), "line 3 of the tools file: a is defined twice");
        assert_eq!(error("\n", ""), "the tools file is empty");
        assert_eq!(error(tool, "  "), "the prompts file is empty");
        assert_eq!(
            error(tool, "{\"text\":\"x\",\"tool\":\"b\"}"),
            "line 1 of the prompts file: there is no tool b"
        );
        assert!(
            error(tool, "{\"txt\":\"x\"}").starts_with("line 1 of the prompts file: unknown field `txt`")
        );
    }

    #[test]
    fn our_own_set_has_sixty_prompts_over_eight_tools() {
        let suite = PromptSuite::read(OWN_TOOLS.as_bytes(), OWN_PROMPTS.as_bytes()).unwrap();
        assert_eq!((suite.tools.len(), suite.len()), (8, 60));
    }
}
