//! `toolyard apps rm`

use clap::Args;
use http::Method;
use toolyard_protocol::PackageName;

use super::AppChangeOutput;
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, input};

#[derive(Debug, Args)]
pub(crate) struct AppsRmArgs {
    /// The app, such as com.example.todo
    package: PackageName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn remove_app(cx: &CommandContext, args: AppsRmArgs) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    if !args.yes {
        input::ask_confirmation(&format!(
            "Remove {} with its tools, keys, installs and stored data?",
            args.package
        ))?;
    }
    client.send_empty(Method::DELETE, &format!("api/apps/{}", args.package)).await?;
    cx.output.print_result(&AppChangeOutput { package_name: args.package, done: "removed" })?;
    Ok(CommandOutcome::Success)
}
