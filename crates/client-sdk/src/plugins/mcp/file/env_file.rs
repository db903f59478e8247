//! `envFile`: a file of `NAME=value` lines next to a client's file.

use std::{collections::BTreeMap, path::Path};

use super::{read_bounded, variables::is_variable_name};

/// Largest file, in bytes.
const MAX_ENV_FILE_BYTES: usize = 64 * 1024;

/// Reads a file. Its path is relative to the folder of the client's file.
pub(super) fn read_env_file(folder: &Path, path: &str) -> Result<BTreeMap<String, String>, String> {
    let text = read_bounded(&folder.join(path), MAX_ENV_FILE_BYTES).map_err(|error| error.to_string())?;
    parse_env(&text).map_err(|why| format!("{path}: {why}"))
}

fn parse_env(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| parse_env_line(line).map_err(|why| format!("line {number}: {why}"))).collect()
}

fn parse_env_line(line: &str) -> Result<(String, String), String> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or("expected NAME=value")?;
    let (name, value) = (name.trim(), value.trim());
    if !is_variable_name(name) {
        return Err(format!("`{name}` is not a valid variable name"));
    }
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let value = match (quoted('"'), quoted('\'')) {
        (Some(value), _) | (_, Some(value)) => value,
        // After a space, `#` begins a comment.
        (None, None) => value.split(" #").next().unwrap_or_default().trim_end(),
    };
    // The server would replace it with a variable of its own environment.
    if value.contains("${") {
        return Err(format!("the value of {name} refers to another variable; write the value"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_variables() {
        let text =
            "# keys\nA=1\n\nexport B = two words # said\nC=\"# not a comment\"\nD='x=y'\nE=\nF=\"\r\nG=a#b";
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "# not a comment"),
            ("D", "x=y"),
            ("E", ""),
            ("F", "\""),
            ("G", "a#b"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse_env(text).unwrap(), BTreeMap::from(expected));
    }

    #[test]
    fn invalid_lines_are_reported_with_their_number() {
        for (text, words) in [
            ("A=1\nB", "line 2: expected NAME=value"),
            ("1A=x", "line 1: `1A` is not a valid variable name"),
            ("A=${B}", "refers to another variable"),
        ] {
            let refused = parse_env(text).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(read_env_file(folder.path(), ".env").unwrap_err().contains("cannot read"));
        std::fs::write(folder.path().join(".env"), "#".repeat(MAX_ENV_FILE_BYTES + 1)).unwrap();
        assert!(read_env_file(folder.path(), ".env").unwrap_err().contains("larger than"));
    }
}
