//! `toolyard apps install` and `uninstall`

use http::Method;

use super::{AppChangeOutput, PackageArg};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError};

pub(super) async fn install_app(cx: &CommandContext, args: PackageArg) -> Result<CommandOutcome, CliError> {
    change_install(cx, args, Method::PUT, "installed").await
}

pub(super) async fn uninstall_app(cx: &CommandContext, args: PackageArg) -> Result<CommandOutcome, CliError> {
    change_install(cx, args, Method::DELETE, "uninstalled").await
}

async fn change_install(
    cx: &CommandContext,
    args: PackageArg,
    method: Method,
    done: &'static str,
) -> Result<CommandOutcome, CliError> {
    cx.client()?.send_empty(method, &format!("api/installs/{}", args.package)).await?;
    cx.output.print_result(&AppChangeOutput { package_name: args.package, done })?;
    Ok(CommandOutcome::Success)
}
