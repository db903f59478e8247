//! Reads the two files of a set. Errors name the line.

use std::{collections::BTreeMap, io, io::BufRead, io::Read as _, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::model::ToolSpec;

/// Largest file.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Why a set cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum CallingEvalError {
    /// A file could not be read.
    #[error("cannot read the {0} file: {1}")]
    Io(&'static str, #[source] io::Error),
    /// A file is too large.
    #[error("the {0} file has more than {MAX_FILE_BYTES} bytes; make it smaller")]
    TooLarge(&'static str),
    /// A line is invalid.
    #[error("line {line} of the {file} file: {problem}")]
    Line {
        /// Which file.
        file: &'static str,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A file has no entries.
    #[error("the {0} file is empty")]
    Empty(&'static str),
}

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
    pub fn read(tools: impl BufRead, prompts: impl BufRead) -> Result<Self, CallingEvalError> {
        let mut known: Vec<Arc<ToolSpec>> = Vec::new();
        parse_json_lines("tools", tools, |tool: SuiteTool| {
            if known.iter().any(|other| other.name == tool.name) {
                return Err(format!("{} is defined twice", tool.name));
            }
            let SuiteTool { name, description, input_schema: schema } = tool;
            known.push(Arc::new(ToolSpec { name, description, schema }));
            Ok(())
        })?;
        let mut found = Vec::new();
        parse_json_lines("prompts", prompts, |prompt: EvalPrompt| {
            if let Some(tool) = &prompt.tool
                && !known.iter().any(|known| known.name == *tool)
            {
                return Err(format!("there is no tool {tool}"));
            }
            found.push(prompt);
            Ok(())
        })?;
        Ok(Self { tools: known, prompts: found })
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

fn parse_json_lines<T: DeserializeOwned>(
    file: &'static str,
    reader: impl BufRead,
    mut take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), CallingEvalError> {
    let mut text = String::new();
    reader
        .take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| CallingEvalError::Io(file, error))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(CallingEvalError::TooLarge(file));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut any = false;
    for (at, line) in lines {
        let wrong = |problem: String| CallingEvalError::Line { file, line: at + 1, problem };
        let read = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        take(read).map_err(wrong)?;
        any = true;
    }
    if any { Ok(()) } else { Err(CallingEvalError::Empty(file)) }
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
        let large = " ".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
        assert_eq!(
            error(&large, ""),
            format!("the tools file has more than {MAX_FILE_BYTES} bytes; make it smaller")
        );
        assert!(error(&large[1..], "").ends_with("empty"));
    }
}
