//! The two files of a set: tools, and questions with the tools that they need.

use std::{collections::HashSet, io::BufRead};

use serde::Deserialize;
use serde_json::Value;
use toolyard_protocol::tool::ToolExtensions;

use crate::json_lines::{EvalFileError, MAX_ENTRIES, read_json_lines};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvalTool {
    package: Option<String>,
    pub(super) app: Option<String>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) input_schema: Value,
    #[serde(default, rename = "mentraExtensions")]
    pub(super) extensions: ToolExtensions,
}

impl EvalTool {
    /// The id that questions use.
    pub(super) fn id(&self) -> String {
        match &self.package {
            Some(package) => format!("{package}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

#[derive(Debug)]
pub(super) struct EvalQuestion {
    pub(super) text: String,
    pub(super) kind: Option<String>,
    pub(super) recent: Vec<String>,
    /// Positions of the expected tools, at least one.
    pub(super) right: Vec<usize>,
}

#[derive(Deserialize)]
struct RawQuestion {
    text: String,
    tools: Vec<String>,
    kind: Option<String>,
    #[serde(default)]
    recent: Vec<String>,
}

pub(super) fn read_tools(reader: impl BufRead) -> Result<Vec<EvalTool>, EvalFileError> {
    let mut names = HashSet::new();
    read_json_lines(reader, "tools", MAX_ENTRIES, |tool: EvalTool| {
        if names.insert(tool.id()) { Ok(tool) } else { Err(format!("{} is defined twice", tool.id())) }
    })
}

pub(super) fn read_questions(
    reader: impl BufRead,
    find: impl Fn(&str) -> Option<usize>,
) -> Result<Vec<EvalQuestion>, EvalFileError> {
    read_json_lines(reader, "questions", MAX_ENTRIES, |raw: RawQuestion| {
        let found = raw.tools.iter().map(|name| find(name).ok_or_else(|| format!("there is no tool {name}")));
        let mut right = found.collect::<Result<Vec<usize>, String>>()?;
        right.sort_unstable();
        right.dedup();
        if right.is_empty() {
            return Err("it names no expected tool".to_owned());
        }
        Ok(EvalQuestion { text: raw.text, kind: raw.kind, recent: raw.recent, right })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools_error(text: &str) -> String {
        read_tools(text.as_bytes()).unwrap_err().to_string()
    }

    fn questions_error(text: &str) -> String {
        read_questions(text.as_bytes(), |name| (name == "a").then_some(0)).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_the_file_and_the_line() {
        let twice = "{\"name\":\"a\"}\n\n{\"name\":\"a\",\"package\":\"p\"}\n{\"name\":\"a\"}";
        assert_eq!(tools_error(twice), "line 4 of the tools file: a is defined twice");
        assert!(tools_error("{\"name\":\"a\"}\n{\"name\":").starts_with("line 2 of the tools file: EOF"));
        assert!(tools_error("{}").contains("missing field `name`"));
        assert_eq!(tools_error("\n \n"), "the tools file is empty");
        let unknown = "{\"text\":\"q\",\"tools\":[\"b\"]}";
        assert_eq!(questions_error(unknown), "line 1 of the questions file: there is no tool b");
        let none = "{\"text\":\"q\",\"tools\":[]}";
        assert_eq!(questions_error(none), "line 1 of the questions file: it names no expected tool");
    }
}
