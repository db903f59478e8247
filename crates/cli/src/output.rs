//! The one place that prints, except for the chat screen: results to stdout, everything else to stderr.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use serde::Serialize;
use toolyard_protocol::Problem;

use crate::{error::CliError, text};

/// The result of a command: JSON for programs, text for people.
pub(crate) trait RenderText: Serialize {
    /// The text for people, without a final newline.
    fn render_text(&self) -> String;
}

/// Prints results, as text or as JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CliOutput {
    json: bool,
}

/// An error as JSON.
#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorParts<'a>,
}

#[derive(Serialize)]
struct ErrorParts<'a> {
    code: &'a str,
    message: String,
    #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
    problems: &'a [Problem],
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl CliOutput {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether results are printed as JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints a result and a newline.
    pub(crate) fn print_result<T: RenderText>(self, result: &T) -> Result<(), CliError> {
        if self.json { self.print_line(&json_line(result)) } else { self.print_line(&result.render_text()) }
    }

    /// Prints one or more lines of a result. They contain text from servers, apps and files, so control characters are
    /// always removed here.
    pub(crate) fn print_line(self, line: &str) -> Result<(), CliError> {
        let line = if self.json { text::sanitize_json(line) } else { text::sanitize_block(line) };
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{line}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a note to stderr. Errors are ignored: a note is not part of the result.
    pub(crate) fn print_note(self, note: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", text::sanitize_block(note));
    }

    /// Prints an error with its problems and the next step.
    pub(crate) fn report_error(self, error: &CliError) -> ExitCode {
        if error.is_closed_output() {
            return ExitCode::SUCCESS;
        }
        if self.json {
            let parts = ErrorParts {
                code: error.code(),
                message: error.to_string(),
                problems: error.problems(),
                next: error.next_step(),
            };
            let _ = self.print_line(&json_line(&ErrorBody { error: parts }));
        } else {
            let mut lines = vec![format!("error: {error}")];
            lines.extend(
                error.problems().iter().map(|problem| format!("  - {}", text::format_problem(problem))),
            );
            lines.extend(error.next_step().map(|next| format!("next: {next}")));
            self.print_note(&lines.join("\n"));
        }
        ExitCode::from(error.exit_code())
    }
}

fn json_line<T: Serialize>(value: &T) -> String {
    toolyard_protocol::JsonLine::new(value).into_string()
}
