//! `toolyard tools`: what the user can call, and calling it.

pub(crate) mod arguments;
mod call;
pub(crate) mod ls;
mod switch;

use clap::Subcommand;
use toolyard_protocol::api::ToolSwitch;

use super::Verdict;
use crate::{cli::Context, error::CliError};

const HELP: &str = "\
Examples:
  toolyard tools ls --user ada@example.com
  toolyard tools call com.example.todo:add_todo todo_item=milk --user ada@example.com
  toolyard tools off com.example.todo:delete_all --user ada@example.com";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum ToolsCommand {
    /// List the tools that the user can call
    Ls(ls::LsArgs),
    /// Call a tool
    Call(call::CallArgs),
    /// Switch a tool on for the user
    On(switch::SwitchArgs),
    /// Switch a tool off for the user: no assistant can see or call it
    Off(switch::SwitchArgs),
}

pub(crate) async fn run(cx: &Context, command: ToolsCommand) -> Result<Verdict, CliError> {
    match command {
        ToolsCommand::Ls(args) => ls::run(cx, args).await,
        ToolsCommand::Call(args) => call::run(cx, args).await,
        ToolsCommand::On(args) => switch::run(cx, args, ToolSwitch { enabled: true }).await,
        ToolsCommand::Off(args) => switch::run(cx, args, ToolSwitch { enabled: false }).await,
    }
}
