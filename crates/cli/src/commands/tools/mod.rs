//! `toolyard tools`: list, call and switch tools.

pub(crate) mod arguments;
mod call;
pub(crate) mod ls;
mod sign_in;
mod switch;

use clap::Subcommand;
use toolyard_protocol::api::ToolSwitch;

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
Examples:
  toolyard tools ls --user ada@example.com
  toolyard tools call com.example.todo:add_todo todo_item=milk --user ada@example.com
  toolyard tools off com.example.todo:delete_all --user ada@example.com";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum ToolsCommand {
    /// List the tools that the user can call
    Ls(ls::ToolsLsArgs),
    /// Call a tool
    Call(call::CallArgs),
    /// Switch a tool on for the user
    On(switch::SwitchArgs),
    /// Switch a tool off for the user: no assistant can see or call it
    Off(switch::SwitchArgs),
}

pub(crate) async fn run_tools_command(
    cx: &CommandContext,
    command: ToolsCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        ToolsCommand::Ls(args) => ls::list_tools(cx, args).await,
        ToolsCommand::Call(args) => call::call_tool(cx, args).await,
        ToolsCommand::On(args) => switch::switch_tool(cx, args, ToolSwitch { enabled: true }).await,
        ToolsCommand::Off(args) => switch::switch_tool(cx, args, ToolSwitch { enabled: false }).await,
    }
}
