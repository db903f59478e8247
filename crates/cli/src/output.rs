//! The one place that writes, the screen of a chat aside: results to stdout, everything else to stderr.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use serde::Serialize;
use toolyard_protocol::Problem;

use crate::{error::CliError, text};

/// A result: JSON for programs, text for people.
pub(crate) trait RenderText: Serialize {
    /// For people, without a newline at the end.
    fn render_text(&self) -> String;
}

/// Where results go, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CliOutput {
    json: bool,
}

/// An error for programs.
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

    /// Whether programs read it.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Writes a result, and a newline.
    pub(crate) fn print_result<T: RenderText>(self, result: &T) -> Result<(), CliError> {
        if self.json { self.print_line(&json_line(result)) } else { self.print_line(&result.render_text()) }
    }

    /// Writes a line of the result, or some. Texts of servers, apps and files are in it, so what could steer a terminal is
    /// made harmless here, whoever made the line.
    pub(crate) fn print_line(self, line: &str) -> Result<(), CliError> {
        let line = if self.json { text::sanitize_json(line) } else { text::sanitize_block(line) };
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{line}")?;
        Ok(stdout.flush()?)
    }

    /// Says something beside the result. If nobody can hear it, nothing is lost.
    pub(crate) fn print_note(self, note: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", text::sanitize_block(note));
    }

    /// Says what went wrong and what to do.
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
