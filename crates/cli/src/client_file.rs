//! Files in which MCP clients keep their servers. The client SDK reads them; errors become those of this program.

use std::path::Path;

use toolyard_client_sdk::plugins::mcp::file::{self, ClientFileError};

pub(crate) use file::{EntryOutcome, FileEntry, FileUpstream};

use crate::{error::CliError, text};

/// Reads a file.
pub(crate) fn read_client_file(path: &Path) -> Result<Vec<FileEntry>, CliError> {
    let mut entries = file::read_entries(path).map_err(|error| match error {
        ClientFileError::Unreadable { file, error } => CliError::Unreadable { file, error },
        ClientFileError::TooLarge { file, limit } => CliError::TooLarge { file, limit },
        ClientFileError::Problem { file, problem } => {
            CliError::Problems { what: file.display().to_string(), problems: vec![problem] }
        }
    })?;
    for entry in &mut entries {
        // The reason may quote the file, and is printed to a terminal.
        if let EntryOutcome::Rejected(why) = &mut entry.outcome {
            *why = text::sanitize_line(why);
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_file_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, r#"{"mcpServers":{"a":{"type":"\u001b[2J"}}}"#).unwrap();
        let entries = read_client_file(&path).unwrap();
        assert!(
            matches!(&entries[0].outcome, EntryOutcome::Rejected(why) if !why.contains('\u{1b}') && why.contains("[2J"))
        );
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(read_client_file(&path), Err(CliError::Problems { .. })));
    }
}
