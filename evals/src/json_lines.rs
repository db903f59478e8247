//! The files of a set: a JSON document a line, within bounds. Errors name the line.

use std::io::{self, BufRead, Read as _};

use serde::de::DeserializeOwned;

/// Longest line, in bytes.
pub const MAX_LINE_BYTES: usize = 256 * 1024;
/// Most tools, prompts or questions in one file: as many as an index of tools holds.
pub const MAX_ENTRIES: usize = toolyard_agent::shortlist::MAX_TOOLS;

/// Why a set cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum EvalFileError {
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

/// Reads up to `most` entries, each checked and converted by `check`. Empty lines are skipped.
pub(crate) fn read_json_lines<Raw: DeserializeOwned, T>(
    mut reader: impl BufRead,
    file: &'static str,
    most: usize,
    mut check: impl FnMut(Raw) -> Result<T, String>,
) -> Result<Vec<T>, EvalFileError> {
    let (mut found, mut line, mut bytes) = (Vec::new(), 0, Vec::new());
    loop {
        bytes.clear();
        line += 1;
        let mut part = reader.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        if part.read_until(b'\n', &mut bytes).map_err(|error| EvalFileError::Io(file, error))? == 0 {
            break;
        }
        let wrong = |problem: String| EvalFileError::Line { file, line, problem };
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
    if found.is_empty() { Err(EvalFileError::Empty(file)) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &[u8]) -> Result<Vec<u8>, String> {
        read_json_lines(text, "test", 2, Ok).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_and_files_have_bounds() {
        let mut longest = vec![b' '; MAX_LINE_BYTES];
        longest[0] = b'1';
        assert_eq!(numbers(&longest).unwrap(), [1]);
        longest.push(b' ');
        let error = numbers(&longest).unwrap_err();
        assert_eq!(error, format!("line 1 of the test file: longer than {MAX_LINE_BYTES} bytes"));
        assert_eq!(numbers(b"1\n\n2\n").unwrap(), [1, 2]);
        assert_eq!(numbers(b"1\n2\n3\n").unwrap_err(), "line 3 of the test file: there are more than 2");
        assert_eq!(numbers(b"\n \n").unwrap_err(), "the test file is empty");
    }

    #[test]
    fn a_line_that_is_no_text_is_an_error() {
        assert!(numbers(b"1\n\xff\n").unwrap_err().starts_with("line 2 of the test file: "));
    }

    #[test]
    fn a_file_that_breaks_off_is_an_error() {
        struct BrokenFile;
        impl io::Read for BrokenFile {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let error = read_json_lines(io::BufReader::new(BrokenFile), "test", 2, Ok::<u8, _>).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the test file: gone");
    }
}
