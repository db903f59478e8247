//! `toolyard doctor`: looks at everything that usually goes wrong and says what to do about it. Changes nothing.

mod local;
mod remote;
mod upstreams;

use clap::Args;
use serde::Serialize;

use super::Verdict;
use crate::{cli::Context, config::ConfigArgs, error::CliError, output::Show, text};

const HELP: &str = "\
The checks of configuration and files are about a server on this machine, the others about the one of --server.

Examples:
  toolyard doctor
  toolyard doctor --user ada@example.com --data /var/lib/toolyard
  toolyard doctor --server https://tools.example.com --token \"$TOKEN\" --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    status: Status,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Check {
    fn ok(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), status: Status::Ok, message: message.into(), next: None }
    }

    fn warn(name: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { name: name.to_owned(), status: Status::Warn, message: message.into(), next: Some(next.into()) }
    }

    fn fail(name: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { name: name.to_owned(), status: Status::Fail, message: message.into(), next: Some(next.into()) }
    }

    /// A check that ended with one of our errors.
    fn failed(name: &str, error: &CliError) -> Self {
        Self { name: name.to_owned(), status: Status::Fail, message: error.to_string(), next: error.next() }
    }
}

#[derive(Serialize)]
struct Report {
    checks: Vec<Check>,
}

impl Report {
    fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}

impl Show for Report {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for check in &self.checks {
            lines.push(text::line(&format!("{:<5} {}: {}", check.status.word(), check.name, check.message)));
            lines.extend(check.next.as_ref().map(|next| text::line(&format!("      next: {next}"))));
        }
        let (ok, warn, fail) = (self.count(Status::Ok), self.count(Status::Warn), self.count(Status::Fail));
        lines.push(format!("\n{ok} ok, {warn} to look at, {fail} failed"));
        lines.join("\n")
    }
}

pub(crate) async fn run(cx: &Context, args: &DoctorArgs) -> Result<Verdict, CliError> {
    let mut checks = local::checks(&args.config);
    checks.extend(remote::checks(cx).await);
    let report = Report { checks };
    cx.output.show(&report)?;
    Ok(if report.count(Status::Fail) == 0 { Verdict::Good } else { Verdict::Bad })
}
