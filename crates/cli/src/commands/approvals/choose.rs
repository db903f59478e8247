//! `toolyard approvals choose` and `choices`

use clap::{Args, ValueEnum};
use http::Method;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{
    ToolName,
    approval::{ChoiceRequest, ToolChoice, ToolChoiceInfo},
};

use crate::{
    cli::CommandContext, client::path_segment, commands::CommandOutcome, error::CliError, output::RenderText,
    text,
};

#[derive(Debug, Args)]
pub(crate) struct ChooseArgs {
    /// The tool, as package:tool
    tool: ToolName,
    /// Run it always, ask each time, never run it, or do what the policy says
    #[arg(value_enum)]
    choice: ChoiceFlag,
    /// Ask again after this many days; for `always`
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// Do not ask again when the definition of the tool changes; for `always`
    #[arg(long)]
    keep_after_change: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ChoiceFlag {
    Always,
    Ask,
    Never,
    Default,
}

/// The choice that was removed.
#[derive(Serialize)]
struct RemovedChoice {
    removed: ToolName,
}

impl RenderText for RemovedChoice {
    fn render_text(&self) -> String {
        format!("{}: the policy decides", self.removed)
    }
}

/// A stored choice.
#[derive(Serialize)]
#[serde(transparent)]
struct StoredToolChoice(ToolChoiceInfo);

impl RenderText for StoredToolChoice {
    fn render_text(&self) -> String {
        format!("{}: {}", self.0.tool, describe_choice(&self.0))
    }
}

/// Response to `GET /api/approvals/choices`.
#[derive(Serialize, Deserialize)]
struct ChoiceTable {
    choices: Vec<ToolChoiceInfo>,
}

impl RenderText for ChoiceTable {
    fn render_text(&self) -> String {
        if self.choices.is_empty() {
            return "You have chosen nothing: the policy decides.".to_owned();
        }
        let rows = self.choices.iter().map(|one| [one.tool.to_string(), describe_choice(one)]);
        text::format_table(&rows.collect::<Vec<_>>())
    }
}

/// `always, until 2026-12-01T00:00:00.000Z or until the definition changes`
fn describe_choice(info: &ToolChoiceInfo) -> String {
    let until = info.until.as_ref().map(|until| format!("until {until}"));
    let changed = info.until_changed.then(|| "until the definition changes".to_owned());
    let ends: Vec<_> = until.into_iter().chain(changed).collect();
    let ends = if ends.is_empty() { String::new() } else { format!(", {}", ends.join(" or ")) };
    format!("{}{ends}", info.choice.as_str())
}

pub(super) async fn choose_for_tool(
    cx: &CommandContext,
    args: &ChooseArgs,
) -> Result<CommandOutcome, CliError> {
    if args.choice != ChoiceFlag::Always && (args.days.is_some() || args.keep_after_change) {
        let next = "leave them out, or choose always";
        return Err(CliError::usage("--days and --keep-after-change are for `always` only", next));
    }
    let (client, path) =
        (cx.client()?, format!("api/approvals/choices/{}", path_segment(args.tool.as_str())));
    let choice = match args.choice {
        ChoiceFlag::Always => ToolChoice::Always,
        ChoiceFlag::Ask => ToolChoice::Ask,
        ChoiceFlag::Never => ToolChoice::Never,
        ChoiceFlag::Default => {
            client.send_empty(Method::DELETE, &path).await?;
            cx.output.print_result(&RemovedChoice { removed: args.tool.clone() })?;
            return Ok(CommandOutcome::Success);
        }
    };
    let until_changed = args.keep_after_change.then_some(false);
    let request = ChoiceRequest { choice, days: args.days, until_changed };
    let stored = client.put(&path, &request).await.map_err(with_tool_hint)?;
    cx.output.print_result(&StoredToolChoice(stored))?;
    Ok(CommandOutcome::Success)
}

pub(super) async fn list_choices(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    let choices: ChoiceTable = cx.client()?.get("api/approvals/choices").await?;
    cx.output.print_result(&choices)?;
    Ok(CommandOutcome::Success)
}

/// "Not found" of a tool.
pub(super) fn with_tool_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => {
            refused.with_not_found_hint("`toolyard tools ls --hidden` lists your tools").into()
        }
        other => other,
    }
}
