//! The files in which MCP clients keep their servers, as the client SDK reads them, with the errors of this program.

use std::path::Path;

use toolyard_client_sdk::plugins::mcp::file::{self, FileError};

pub(crate) use file::{Entry, Found, Upstream};

use crate::{error::CliError, text};

/// Reads a file.
pub(crate) fn open(path: &Path) -> Result<Vec<Entry>, CliError> {
    let mut entries = file::open(path).map_err(|error| match error {
        FileError::Unreadable { file, error } => CliError::Unreadable { file, error },
        FileError::TooLarge { file, limit } => CliError::TooLarge { file, limit },
        FileError::Problem { file, problem } => {
            CliError::Problems { what: file.display().to_string(), problems: vec![problem] }
        }
    })?;
    for entry in &mut entries {
        // It may quote the file, and goes to a terminal.
        if let Found::Bad(why) = &mut entry.found {
            *why = text::line(why);
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_cannot_move_the_cursor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, r#"{"mcpServers":{"a":{"type":"\u001b[2J"}}}"#).unwrap();
        let entries = open(&path).unwrap();
        assert!(
            matches!(&entries[0].found, Found::Bad(why) if !why.contains('\u{1b}') && why.contains("[2J"))
        );
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(open(&path), Err(CliError::Problems { .. })));
    }
}
