//! `toolyard definitions`: lists and answers changed definitions of tools.

mod answer;
mod list;

use clap::{Args, Subcommand};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
If a tool changes, the accepted version stays in use until someone accepts the new one. Operators answer for everyone, users
for themselves. Without a command, it lists the changes that wait.

Examples:
  toolyard definitions list
  toolyard definitions show 5f0c7a52c1d4e6f70198c2f5b1e07d7c
  toolyard definitions accept 5f0c7a52c1d4e6f70198c2f5b1e07d7c
  toolyard definitions accept --package mcp.github          everything that waits for this upstream
  toolyard definitions reject 5f0c7a52c1d4e6f70198c2f5b1e07d7c --user ada@example.com --scope me
  toolyard definitions pins mcp.github                      what is pinned, and since when";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DefinitionsArgs {
    #[command(subcommand)]
    command: Option<DefinitionsCommand>,
}

#[derive(Debug, Subcommand)]
enum DefinitionsCommand {
    /// List changed definitions that are not in use
    #[command(visible_alias = "ls")]
    List(list::ChangeListArgs),
    /// Show a changed definition: what differs, and what looks suspicious
    Show(list::ChangeShowArgs),
    /// Use the new version from now on
    Accept(answer::ChangeAnswerArgs),
    /// Keep the accepted version
    Reject(answer::ChangeAnswerArgs),
    /// Show what is pinned for an app or upstream
    Pins(list::PinsArgs),
}

pub(crate) async fn run_definitions_command(
    cx: &CommandContext,
    args: DefinitionsArgs,
) -> Result<CommandOutcome, CliError> {
    use toolyard_protocol::definitions::DefinitionAnswer::{Accept, Reject};
    match args.command {
        None => list::list_changes(cx, &list::ChangeListArgs::default()).await,
        Some(DefinitionsCommand::List(args)) => list::list_changes(cx, &args).await,
        Some(DefinitionsCommand::Show(args)) => list::show_change(cx, &args).await,
        Some(DefinitionsCommand::Accept(args)) => answer::answer_changes(cx, Accept, &args).await,
        Some(DefinitionsCommand::Reject(args)) => answer::answer_changes(cx, Reject, &args).await,
        Some(DefinitionsCommand::Pins(args)) => list::show_pins(cx, &args).await,
    }
}

/// "Not found" of a change.
fn with_list_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => {
            refused.with_not_found_hint("`toolyard definitions list` lists what waits").into()
        }
        other => other,
    }
}
