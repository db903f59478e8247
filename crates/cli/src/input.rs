//! Input: text files, and confirmations at the terminal.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _},
    path::Path,
};

use crate::{error::CliError, text};

/// Longest answer that is read, in bytes; the rest of the line does not matter.
const MAX_ANSWER_BYTES: u64 = 64;

/// Reads a text file of at most `limit` bytes.
pub(crate) fn read_text_file(path: &Path, limit: usize) -> Result<String, CliError> {
    let unreadable = |error| CliError::Unreadable { file: path.to_owned(), error };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // One byte more than allowed distinguishes a file that is too large from one that just fits.
    file.take(limit as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > limit { Err(CliError::TooLarge { file: path.to_owned(), limit }) } else { Ok(text) }
}

/// Asks before something is lost. Without a terminal, `--yes` is required.
pub(crate) fn ask_confirmation(question: &str) -> Result<(), CliError> {
    if !io::stdin().is_terminal() {
        let message = format!("confirmation required, and stdin is not a terminal: {question}");
        return Err(CliError::usage(message, "add --yes to confirm"));
    }
    print_prompt(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut answer)?;
    if parse_yes_or_no(&answer) == Some(true) { Ok(()) } else { Err(CliError::NotConfirmed) }
}

/// Prints a prompt to stderr. Names in it may come from a server or a file. Stderr is unlocked again, so that a signal
/// handler can print while the program waits for the answer.
pub(crate) fn print_prompt(prompt: &str) -> Result<(), CliError> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{}", text::sanitize_block(prompt))?;
    Ok(stderr.flush()?)
}

/// Yes, no, or neither.
pub(crate) fn parse_yes_or_no(line: &str) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (line, expected) in [
            ("y\n", Some(true)),
            (" YES ", Some(true)),
            ("n", Some(false)),
            ("No", Some(false)),
            ("", None),
            ("yy", None),
        ] {
            assert_eq!(parse_yes_or_no(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_file_over_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_text_file(&path, 5).unwrap(), "12345");
        assert!(matches!(read_text_file(&path, 4), Err(CliError::TooLarge { limit: 4, .. })));
        assert!(matches!(read_text_file(&folder.path().join("g"), 4), Err(CliError::Unreadable { .. })));
    }
}
