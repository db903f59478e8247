//! `toolyard apps`: register, list, change, remove, install and grant.

pub(crate) mod add;
mod grant;
mod install;
mod key;
mod ls;
mod rm;
mod secret;
mod show;
pub(crate) mod tools;

use clap::{Args, Subcommand};
use serde::Serialize;
use toolyard_protocol::PackageName;

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError, output::RenderText};

const HELP: &str = "\
Examples:
  toolyard apps add --package com.example.todo --url http://127.0.0.1:7010 --kind tools-only --tools tools.json
  toolyard apps add --from-url https://todo.example.com --package com.example.todo
  toolyard apps install com.example.todo --user ada@example.com
  toolyard apps grant com.toolyard.assistant --user ada@example.com";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum AppsCommand {
    /// List the apps that you can see and change
    Ls,
    /// Register an app; shows its API key and signing secret once
    Add(Box<add::AppsAddArgs>),
    /// Remove an app with its tools, keys, installs and stored data
    Rm(rm::AppsRmArgs),
    /// Install an app for the user
    Install(PackageArg),
    /// Uninstall an app for the user and delete its data
    Uninstall(PackageArg),
    /// Allow an app to call all tools of the user, as an assistant does, or revoke that
    Grant(grant::GrantArgs),
    /// Show one app
    Show(PackageArg),
    /// List the tools of an app, or publish a new set
    Tools(tools::AppsToolsArgs),
    /// Create a new API key; the old one stops working at once
    Key(PackageArg),
    /// Create a new signing secret; until the next rotation requests are signed with the old and the new one
    Secret(PackageArg),
}

#[derive(Debug, Args)]
pub(crate) struct PackageArg {
    /// The app, such as com.example.todo
    package: PackageName,
}

/// What was done to an app.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppChangeOutput {
    package_name: PackageName,
    done: &'static str,
}

impl RenderText for AppChangeOutput {
    fn render_text(&self) -> String {
        format!("{} {}", self.done, self.package_name)
    }
}

pub(crate) async fn run_apps_command(
    cx: &CommandContext,
    command: AppsCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        AppsCommand::Ls => ls::list_apps(cx).await,
        AppsCommand::Add(args) => add::add_app(cx, *args).await,
        AppsCommand::Rm(args) => rm::remove_app(cx, args).await,
        AppsCommand::Install(args) => install::install_app(cx, args).await,
        AppsCommand::Uninstall(args) => install::uninstall_app(cx, args).await,
        AppsCommand::Grant(args) => grant::change_assistant_grant(cx, args).await,
        AppsCommand::Show(args) => show::show_app(cx, args).await,
        AppsCommand::Tools(args) => tools::list_or_publish_tools(cx, args).await,
        AppsCommand::Key(args) => key::rotate_app_key(cx, args).await,
        AppsCommand::Secret(args) => secret::rotate_signing_secret(cx, args).await,
    }
}
