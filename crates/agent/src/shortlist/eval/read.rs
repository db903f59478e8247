//! Reads the two files of a set, line by line. Errors name the line.

use std::{
    collections::HashSet,
    io::{self, BufRead, Read},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use toolyard_protocol::tool::ToolExtensions;

use crate::shortlist::MAX_TOOLS;

/// Longest line, in bytes.
pub const MAX_LINE_BYTES: usize = 256 * 1024;
/// Most questions.
pub const MAX_QUESTIONS: usize = 100_000;

/// Why a set cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ShortlistEvalError {
    /// A file could not be read.
    #[error("cannot read the {0} file: {1}")]
    Io(&'static str, #[source] io::Error),
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

const TOOLS: &str = "tools";
const QUESTIONS: &str = "questions";

pub(super) fn read_tools(reader: impl BufRead) -> Result<Vec<EvalTool>, ShortlistEvalError> {
    let mut names = HashSet::new();
    read_json_lines(reader, TOOLS, MAX_TOOLS, |tool: EvalTool| {
        if names.insert(tool.id()) { Ok(tool) } else { Err(format!("{} is defined twice", tool.id())) }
    })
}

pub(super) fn read_questions(
    reader: impl BufRead,
    find: impl Fn(&str) -> Option<usize>,
) -> Result<Vec<EvalQuestion>, ShortlistEvalError> {
    read_json_lines(reader, QUESTIONS, MAX_QUESTIONS, |raw: RawQuestion| {
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

/// Reads up to `most` lines of JSON. Empty lines are skipped.
fn read_json_lines<Raw: DeserializeOwned, T>(
    mut reader: impl BufRead,
    file: &'static str,
    most: usize,
    mut check: impl FnMut(Raw) -> Result<T, String>,
) -> Result<Vec<T>, ShortlistEvalError> {
    let (mut found, mut line, mut bytes) = (Vec::new(), 0, Vec::new());
    loop {
        bytes.clear();
        line += 1;
        let mut part = reader.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        if part.read_until(b'\n', &mut bytes).map_err(|error| ShortlistEvalError::Io(file, error))? == 0 {
            break;
        }
        let wrong = |problem: String| ShortlistEvalError::Line { file, line, problem };
        if bytes.len() > MAX_LINE_BYTES {
            return Err(wrong(format!("longer than {MAX_LINE_BYTES} bytes")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        if found.len() == most {
            return Err(wrong(format!("there are more than {most}")));
        }
        let raw = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        found.push(check(raw).map_err(wrong)?);
    }
    if found.is_empty() { Err(ShortlistEvalError::Empty(file)) } else { Ok(found) }
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

    #[test]
    fn lines_and_files_have_bounds() {
        let long = format!("{{\"name\":\"{}\"}}", "a".repeat(MAX_LINE_BYTES));
        assert_eq!(
            tools_error(&long),
            format!("line 1 of the tools file: longer than {MAX_LINE_BYTES} bytes")
        );
        let error = read_json_lines(&b"1\n2\n3\n"[..], "test", 2, |number: u8| Ok(number)).unwrap_err();
        assert_eq!(error.to_string(), "line 3 of the test file: there are more than 2");
        assert_eq!(read_json_lines(&b"1\n2\n"[..], "test", 2, |number: u8| Ok(number)).unwrap(), [1, 2]);
    }

    #[test]
    fn a_file_that_breaks_off_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let error = read_tools(io::BufReader::new(Broken)).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the tools file: gone");
    }
}
