//! `toolyard doctor`: checks what usually goes wrong and suggests fixes. Changes nothing.

mod issuers;
mod local;
mod remote;
mod upstreams;

use clap::Args;
use serde::Serialize;

use super::CommandOutcome;
use crate::{cli::CommandContext, config::ConfigArgs, error::CliError, output::RenderText, text};

const HELP: &str = "\
Configuration and files are checked for a server on this machine; the other checks use the server of --server.

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
enum CheckStatus {
    Ok,
    Warn,
    Fail,
}

impl CheckStatus {
    const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    name: String,
    status: CheckStatus,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl DoctorCheck {
    fn ok(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), status: CheckStatus::Ok, message: message.into(), next: None }
    }

    fn warn(name: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            status: CheckStatus::Warn,
            message: message.into(),
            next: Some(next.into()),
        }
    }

    fn fail(name: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            status: CheckStatus::Fail,
            message: message.into(),
            next: Some(next.into()),
        }
    }

    /// A check that failed with an error of this program.
    fn from_error(name: &str, error: &CliError) -> Self {
        Self {
            name: name.to_owned(),
            status: CheckStatus::Fail,
            message: error.to_string(),
            next: error.next_step(),
        }
    }
}

#[derive(Serialize)]
struct DoctorReport {
    checks: Vec<DoctorCheck>,
}

impl DoctorReport {
    fn count_status(&self, status: CheckStatus) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}

impl RenderText for DoctorReport {
    fn render_text(&self) -> String {
        let mut lines = Vec::new();
        for check in &self.checks {
            lines.push(text::sanitize_line(&format!(
                "{:<5} {}: {}",
                check.status.label(),
                check.name,
                check.message
            )));
            lines.extend(check.next.as_ref().map(|next| text::sanitize_line(&format!("      next: {next}"))));
        }
        let (ok, warn, fail) = (
            self.count_status(CheckStatus::Ok),
            self.count_status(CheckStatus::Warn),
            self.count_status(CheckStatus::Fail),
        );
        lines.push(format!("\n{ok} ok, {warn} with warnings, {fail} failed"));
        lines.join("\n")
    }
}

pub(crate) async fn run_doctor(cx: &CommandContext, args: &DoctorArgs) -> Result<CommandOutcome, CliError> {
    let mut checks = local::local_checks(&args.config).await;
    checks.extend(issuers::issuer_checks(&args.config).await);
    checks.extend(remote::server_checks(cx).await);
    let report = DoctorReport { checks };
    cx.output.print_result(&report)?;
    Ok(if report.count_status(CheckStatus::Fail) == 0 {
        CommandOutcome::Success
    } else {
        CommandOutcome::Failure
    })
}
