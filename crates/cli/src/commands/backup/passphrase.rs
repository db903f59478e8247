//! The passphrase of a backup. It is read from a file: the arguments of a program can be read by other users of the machine.

use std::path::Path;

use toolyard_protocol::secret::SecretText;
use toolyard_server::backup::MIN_PASSPHRASE_CHARS;

use crate::{error::CliError, input::read_text_file};

/// Longest passphrase file.
const MAX_PASSPHRASE_BYTES: usize = 4 * 1024;

/// Reads the passphrase of an existing backup.
pub(crate) fn read_passphrase(file: &Path) -> Result<SecretText, CliError> {
    let text = read_text_file(file, MAX_PASSPHRASE_BYTES)?;
    Ok(SecretText::new(text.trim_end_matches(['\r', '\n'])))
}

/// Reads the passphrase of a new backup.
pub(super) fn read_new_passphrase(file: &Path) -> Result<SecretText, CliError> {
    let passphrase = read_passphrase(file)?;
    if passphrase.expose().chars().count() < MIN_PASSPHRASE_CHARS {
        return Err(CliError::usage(
            format!("the passphrase in {} has less than {MIN_PASSPHRASE_CHARS} characters", file.display()),
            "create one with `openssl rand -base64 32`",
        ));
    }
    Ok(passphrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_a_file_without_its_line_break() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p");
        for (text, expected) in
            [("correct horse", "correct horse"), (" correct horse \r\n", " correct horse ")]
        {
            std::fs::write(&file, text).unwrap();
            assert_eq!(read_new_passphrase(&file).unwrap().expose(), expected);
        }
        std::fs::write(&file, "elevenchars\n").unwrap();
        assert!(matches!(read_new_passphrase(&file), Err(CliError::Usage { .. })));
        assert_eq!(read_passphrase(&file).unwrap().expose(), "elevenchars");
        std::fs::write(&file, "x".repeat(MAX_PASSPHRASE_BYTES + 1)).unwrap();
        assert!(matches!(read_passphrase(&file), Err(CliError::TooLarge { .. })));
    }
}
