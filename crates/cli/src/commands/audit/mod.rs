//! `toolyard audit`: lists and exports the audit log of a server, and verifies it without one.

mod export;
mod list;
mod verify;

use clap::{Args, Subcommand};
use toolyard_protocol::{UserId, audit::AuditAction};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
`list` and `export` send requests to the server and require the role operator. `verify` reads the database with the root
key, so run it on the machine with the server's data folder; the server may run meanwhile.

Examples:
  toolyard audit list
  toolyard audit list --action token.issued --since 2026-11-01T00:00:00Z
  toolyard audit list --about ada@example.com
  toolyard audit export -o audit.jsonl
  toolyard audit verify --data /var/lib/toolyard
  toolyard audit verify --head 1204:5c1f…            also finds entries that were removed from the end";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum AuditCommand {
    /// List who changed what, newest first
    #[command(visible_alias = "ls")]
    List(list::AuditListArgs),
    /// Write the audit log as JSON lines, oldest first
    Export(export::AuditExportArgs),
    /// Check that no entry was changed, removed, inserted or reordered (works without a running server)
    Verify(verify::AuditVerifyArgs),
}

pub(crate) async fn run_audit_command(
    cx: &CommandContext,
    command: AuditCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        AuditCommand::List(args) => list::list_entries(cx, &args).await,
        AuditCommand::Export(args) => export::export_entries(cx, &args).await,
        AuditCommand::Verify(args) => verify::verify_log(cx, &args).await,
    }
}

/// Which entries. Not `--user`: that is the flag for the user to act for.
#[derive(Debug, Args)]
struct AuditFilterArgs {
    /// Only this action, such as token.issued
    #[arg(long, value_name = "NAME")]
    action: Option<AuditAction>,
    /// Only what this actor did: a user id, or the package of an app
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only what is about this user
    #[arg(long, value_name = "USER")]
    about: Option<UserId>,
    /// Only entries since this time, such as 2026-11-16T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<jiff::Timestamp>,
    /// Only entries before this time
    #[arg(long, value_name = "TIME")]
    until: Option<jiff::Timestamp>,
}

impl AuditFilterArgs {
    /// The path of a page of the log.
    fn page_path(&self, limit: u32, after: Option<u64>) -> String {
        let pairs = [
            ("limit", Some(limit.to_string())),
            ("after", after.map(|number| number.to_string())),
            ("action", self.action.map(|action| action.as_str().to_owned())),
            ("actor", self.actor.clone()),
            ("user", self.about.as_ref().map(ToString::to_string)),
            ("since", self.since.map(|time| time.to_string())),
            ("until", self.until.map(|time| time.to_string())),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in pairs {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        }
        format!("api/audit?{}", query.finish())
    }
}
