//! `toolyard apps grant`: allows an app to call the tools of the user's other apps, or revokes that.

use clap::Args;
use http::Method;
use serde::Serialize;
use toolyard_protocol::PackageName;

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

const HELP: &str = "\
With the assistant grant an app can list and call all tools of the user, as an assistant must. Without it an app can call
only its own tools.

Examples:
  toolyard apps grant com.toolyard.assistant --user ada@example.com
  toolyard apps grant com.toolyard.assistant --revoke --user ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct GrantArgs {
    /// The app, such as com.toolyard.assistant; it must be installed for the user
    package: PackageName,
    /// Revoke the grant
    #[arg(long)]
    revoke: bool,
}

/// The state after the change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GrantState {
    package_name: PackageName,
    assistant: bool,
}

impl RenderText for GrantState {
    fn render_text(&self) -> String {
        let package = &self.package_name;
        match self.assistant {
            true => format!("{package} can call all tools of the user"),
            false => format!("{package} can call only its own tools"),
        }
    }
}

pub(super) async fn change_assistant_grant(
    cx: &CommandContext,
    args: GrantArgs,
) -> Result<CommandOutcome, CliError> {
    let method = if args.revoke { Method::DELETE } else { Method::PUT };
    cx.client()?.send_empty(method, &format!("api/installs/{}/assistant", args.package)).await?;
    cx.output.print_result(&GrantState { package_name: args.package, assistant: !args.revoke })?;
    Ok(CommandOutcome::Success)
}
