//! `toolyard audit verify`: reads the log from the database and checks it with the root key, without a request to the server.

use clap::Args;
use serde::Serialize;
use toolyard_server::audit::{AuditFault, AuditHead, AuditSummary, verify_offline};

use crate::{
    cli::CommandContext, commands::CommandOutcome, config::ConfigArgs, error::CliError, output::RenderText,
};

const HELP: &str = "\
The hash of each entry covers its content and the hash before it, and is proved with a key that is derived from the root
key. Who can write to the database, but does not have the root key, cannot change, remove, insert or reorder entries without
being found. Entries that were removed from the end are only found with --head. The exit code is 1 if something is wrong.

Examples:
  toolyard audit verify --data /var/lib/toolyard
  toolyard audit verify --config /etc/toolyard.toml --head 1204:5c1f…";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuditVerifyArgs {
    /// The number and the hash of an entry that was noted before, as `export` and `verify` print them
    #[arg(long, value_name = "NUMBER:HASH")]
    head: Option<AuditHead>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// A log without a fault.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifiedOutput {
    valid: bool,
    entries: u64,
    /// The last entry that retention removed; 0 if none was.
    removed_up_to: u64,
    head: String,
    /// Whether the entry of `--head` was found. False if there was none to find.
    head_found: bool,
    #[serde(skip)]
    wanted_head: bool,
}

impl RenderText for VerifiedOutput {
    fn render_text(&self) -> String {
        let mut lines = vec![format!("the audit log is valid: {} entries", self.entries)];
        if self.removed_up_to > 0 {
            lines.push(format!("retention removed the entries up to {}", self.removed_up_to));
        }
        if self.wanted_head && !self.head_found {
            lines.push(
                "the entry of --head was removed by retention, so the two were not compared".to_owned(),
            );
        }
        lines.push(format!("head {}", self.head));
        lines.join("\n")
    }
}

/// The first bad entry.
#[derive(Serialize)]
struct FaultOutput {
    valid: bool,
    number: u64,
    fault: &'static str,
    message: String,
}

impl RenderText for FaultOutput {
    fn render_text(&self) -> String {
        format!("the audit log is NOT valid: {}", self.message)
    }
}

pub(super) async fn verify_log(
    cx: &CommandContext,
    args: &AuditVerifyArgs,
) -> Result<CommandOutcome, CliError> {
    let config = args.config.load_config(Vec::new())?;
    match verify_offline(&config, args.head).await.map_err(CliError::AuditVerify)? {
        Ok(summary) => {
            cx.output.print_result(&verified_output(&summary, args.head.is_some()))?;
            Ok(CommandOutcome::Success)
        }
        Err(fault) => {
            cx.output.print_result(&fault_output(&fault))?;
            Ok(CommandOutcome::Failure)
        }
    }
}

fn verified_output(summary: &AuditSummary, wanted_head: bool) -> VerifiedOutput {
    VerifiedOutput {
        valid: true,
        entries: summary.entries,
        removed_up_to: summary.removed_up_to,
        head: summary.head.to_string(),
        head_found: summary.is_head_found,
        wanted_head,
    }
}

fn fault_output(fault: &AuditFault) -> FaultOutput {
    FaultOutput { valid: false, number: fault.number(), fault: fault.code(), message: fault.to_string() }
}
