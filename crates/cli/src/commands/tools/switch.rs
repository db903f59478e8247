//! `toolyard tools on` and `toolyard tools off`

use clap::Args;
use http::Method;
use serde::Serialize;
use toolyard_protocol::{ToolName, api::ToolSwitch};

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolyard tools off com.example.todo:delete_all --user ada@example.com
  toolyard tools on com.example.todo:delete_all --user ada@example.com")]
pub(crate) struct SwitchArgs {
    /// The tool, as package:tool
    name: ToolName,
}

/// The new state of a tool.
#[derive(Serialize)]
struct SwitchedTool {
    name: ToolName,
    enabled: bool,
}

impl RenderText for SwitchedTool {
    fn render_text(&self) -> String {
        let state = if self.enabled { "on" } else { "off: no assistant can see or call it" };
        format!("{} is {state}", self.name)
    }
}

pub(super) async fn switch_tool(
    cx: &CommandContext,
    args: SwitchArgs,
    switch: ToolSwitch,
) -> Result<CommandOutcome, CliError> {
    let path = format!("api/settings/tools/{}", crate::client::path_segment(&args.name.to_string()));
    cx.client()?.send_document(Method::PUT, &path, &switch).await?;
    cx.output.print_result(&SwitchedTool { name: args.name, enabled: switch.enabled })?;
    Ok(CommandOutcome::Success)
}
