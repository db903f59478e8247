//! `toolyard approvals grants`, `grant` and `revoke`

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{
    ApprovalId, ToolName,
    approval::{ApprovalGrantInfo, ArgumentPredicate, GrantRequest},
};

use super::{
    choose::with_tool_hint,
    predicate::{format_predicate, parse_predicate},
    with_list_hint,
};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

const GRANT_HELP: &str = "\
A condition is a JSON pointer to an argument, a comparison and a value: <, >=, = or `in` with a JSON list. Values that parse
as JSON are JSON, others are text. All conditions must hold; a call without the argument is not covered.

Examples:
  toolyard approvals grant com.example.bank:pay --days 7 --uses 5 --where '/amount<50' --where '/to in [\"Anna\",\"Bob\"]'
  toolyard approvals grant com.example.notes:delete --days 1 --uses 1 --where /id=n42";

#[derive(Debug, Args)]
#[command(after_help = GRANT_HELP)]
pub(crate) struct ApprovalGrantArgs {
    /// The tool, as package:tool
    tool: ToolName,
    /// For this many days
    #[arg(long, value_name = "N")]
    days: u32,
    /// For this many calls
    #[arg(long, value_name = "N")]
    uses: u64,
    /// A condition on an argument, such as /amount<50; can be repeated
    #[arg(long = "where", value_name = "CONDITION", value_parser = parse_predicate)]
    conditions: Vec<ArgumentPredicate>,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The id, as `toolyard approvals grants` shows it
    id: ApprovalId,
}

/// Response to `GET /api/approvals/grants`.
#[derive(Serialize, Deserialize)]
struct GrantTable {
    grants: Vec<ApprovalGrantInfo>,
}

impl RenderText for GrantTable {
    fn render_text(&self) -> String {
        if self.grants.is_empty() {
            return "Nothing is remembered or allowed in advance.".to_owned();
        }
        let head = ["TOOL", "COVERS", "CALLS", "UNTIL", "ID"].map(str::to_owned);
        text::format_table(
            &std::iter::once(head).chain(self.grants.iter().map(grant_row)).collect::<Vec<_>>(),
        )
    }
}

fn grant_row(grant: &ApprovalGrantInfo) -> [String; 5] {
    let conditions = grant.arguments.iter().map(format_predicate);
    let fixed = [
        grant.in_conversation.then(|| "one conversation".to_owned()),
        grant.same_arguments.then(|| "the same arguments".to_owned()),
    ];
    let covers: Vec<_> = fixed.into_iter().flatten().chain(conditions).collect();
    [
        grant.tool.to_string(),
        if covers.is_empty() { "every call".to_owned() } else { covers.join(", ") },
        grant.uses.map_or_else(|| "any number".to_owned(), |uses| uses.to_string()),
        grant.until.clone().unwrap_or_else(|| "revoked".to_owned()),
        grant.id.to_string(),
    ]
}

/// A new grant.
#[derive(Serialize)]
#[serde(transparent)]
struct AddedGrant(ApprovalGrantInfo);

impl RenderText for AddedGrant {
    fn render_text(&self) -> String {
        let [tool, covers, calls, until, id] = grant_row(&self.0);
        format!(
            "{tool}: {covers}, {calls} calls, until {until}\nrevoke it with `toolyard approvals revoke {id}`"
        )
    }
}

/// A revoked grant.
#[derive(Serialize)]
struct RevokedGrant {
    revoked: ApprovalId,
}

impl RenderText for RevokedGrant {
    fn render_text(&self) -> String {
        format!("revoked {}", self.revoked)
    }
}

pub(super) async fn list_grants(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let grants: GrantTable = cx.client()?.get("api/approvals/grants").await?;
    cx.output.print_result(&grants)?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn add_grant(
    cx: &CommandContext,
    args: ApprovalGrantArgs,
) -> Result<CommandOutcome, CliError> {
    let ApprovalGrantArgs { tool, days, uses, conditions: arguments } = args;
    let request = GrantRequest { tool, days, uses, arguments };
    let added = cx.client()?.post("api/approvals/grants", &request).await.map_err(with_tool_hint)?;
    cx.output.print_result(&AddedGrant(added))?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn revoke_grant(cx: &CommandContext, args: &RevokeArgs) -> Result<CommandOutcome, CliError> {
    let path = format!("api/approvals/grants/{}", args.id);
    cx.client()?.send_empty(Method::DELETE, &path).await.map_err(with_list_hint)?;
    cx.output.print_result(&RevokedGrant { revoked: args.id.clone() })?;
    Ok(CommandOutcome::Success)
}
