//! `toolyard audit list`

use clap::Args;
use serde::Serialize;
use toolyard_protocol::audit::{AuditEntry, AuditPage};

use super::AuditFilterArgs;
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// Most entries per page of the server.
const MAX_PAGE: u32 = 200;
/// How much of a target and of the detail is shown, in characters.
const SHOWN_CHARS: usize = 40;

const HELP: &str = "\
Examples:
  toolyard audit list --action token.issued --since 2026-11-01T00:00:00Z
  toolyard audit list --about ada@example.com --limit 200";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuditListArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// Most entries to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=MAX_PAGE as i64))]
    limit: u32,
}

/// A page of the log.
#[derive(Serialize)]
#[serde(transparent)]
struct AuditTable(AuditPage);

impl RenderText for AuditTable {
    fn render_text(&self) -> String {
        if self.0.entries.is_empty() {
            return "No entries match.".to_owned();
        }
        let head = ["NUMBER", "TIME", "ACTION", "ACTOR", "TARGET", "DETAIL"].map(str::to_owned);
        let rows = self.0.entries.iter().map(entry_row);
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

fn entry_row(entry: &AuditEntry) -> [String; 6] {
    let actor = match entry.actor.as_str() {
        "" => entry.actor_kind.clone(),
        name => format!("{} {name}", entry.actor_kind),
    };
    [
        entry.number.to_string(),
        entry.at.clone(),
        entry.action.clone(),
        actor,
        text::truncate_text(&entry.target, SHOWN_CHARS),
        text::truncate_text(entry.detail.get(), SHOWN_CHARS),
    ]
}

pub(super) async fn list_entries(
    cx: &CommandContext,
    args: &AuditListArgs,
) -> Result<CommandOutcome, CliError> {
    let page: AuditPage = cx.client()?.get(&args.filter.page_path(args.limit, None)).await?;
    cx.output.print_result(&AuditTable(page))?;
    Ok(CommandOutcome::Success)
}
