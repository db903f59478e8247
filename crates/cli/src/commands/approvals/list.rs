//! `toolyard approvals ls` and `show`

use clap::Args;
use serde::Serialize;
use toolyard_protocol::{
    ApprovalId,
    approval::{ApprovalInfo, ApprovalList, ApprovalState},
};

use super::{formatting, with_list_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// Longest title in the table, in characters.
const MAX_TITLE_CHARS: usize = 60;
/// Most approvals per page of the server.
const MAX_PAGE: u32 = 200;

#[derive(Debug, Args)]
pub(crate) struct ApprovalListArgs {
    /// Only approvals in this state: pending, approved, denied, expired, running, done, void; or all
    #[arg(long, default_value = "pending", value_parser = parse_state)]
    state: StateFilter,
    /// Most approvals to list
    #[arg(long, value_name = "N", default_value_t = MAX_PAGE, value_parser = clap::value_parser!(u32).range(1..=MAX_PAGE as i64))]
    limit: u32,
}

impl Default for ApprovalListArgs {
    fn default() -> Self {
        Self { state: StateFilter::Only(ApprovalState::Pending), limit: MAX_PAGE }
    }
}

/// Which approvals are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateFilter {
    All,
    Only(ApprovalState),
}

fn parse_state(text: &str) -> Result<StateFilter, String> {
    if text == "all" { Ok(StateFilter::All) } else { text.parse().map(StateFilter::Only) }
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalShowArgs {
    /// The approval's id
    id: ApprovalId,
}

impl RenderText for ApprovalList {
    fn render_text(&self) -> String {
        if self.approvals.is_empty() {
            return "No approvals match.".to_owned();
        }
        let head = ["REQUESTED", "QUESTION", "RISK", "STATE", "ID"].map(str::to_owned);
        let rows = self.approvals.iter().map(|one| {
            [
                one.created_at.clone(),
                text::truncate_text(&one.summary.title, MAX_TITLE_CHARS),
                one.risk.as_str().to_owned(),
                one.state.as_str().to_owned(),
                one.id.to_string(),
            ]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

/// One approval.
#[derive(Serialize)]
#[serde(transparent)]
struct ApprovalDetails(ApprovalInfo);

impl RenderText for ApprovalDetails {
    fn render_text(&self) -> String {
        let info = &self.0;
        let mut rows = vec![
            ["state".to_owned(), formatting::format_state(info)],
            ["requested".to_owned(), info.created_at.clone()],
            ["call".to_owned(), info.call_id.to_string()],
        ];
        rows.extend(info.run_id.as_ref().map(|run| ["run".to_owned(), run.to_string()]));
        rows.push(["page".to_owned(), info.url.clone()]);
        format!("{}\n{}", formatting::format_question(info), text::format_table(&rows))
    }
}

pub(super) async fn list_approvals(
    cx: &CommandContext,
    args: &ApprovalListArgs,
) -> Result<CommandOutcome, CliError> {
    let state = match args.state {
        StateFilter::All => String::new(),
        StateFilter::Only(state) => format!("&state={}", state.as_str()),
    };
    let list: ApprovalList = cx.client()?.get(&format!("api/approvals?limit={}{state}", args.limit)).await?;
    cx.output.print_result(&list)?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn show_approval(
    cx: &CommandContext,
    args: &ApprovalShowArgs,
) -> Result<CommandOutcome, CliError> {
    let shown = cx.client()?.get(&format!("api/approvals/{}", args.id)).await.map_err(with_list_hint)?;
    cx.output.print_result(&ApprovalDetails(shown))?;
    Ok(CommandOutcome::Success)
}
