//! `toolyard plugin`: create, pack, sign and inspect plugins without a server; publish, search and install them on one.
//! Only `run` executes their code in this process.

mod formatting;
mod inspect;
mod install;
mod installed;
mod new;
mod pack;
mod publish;
mod revoke;
mod run;
mod search;
mod sign;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use toolyard_protocol::{
    Problem,
    plugin::{MAX_MANIFEST_BYTES, Manifest},
};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError, input};

const HELP: &str = "\
A plugin is one JSON file with tools, the JavaScript that runs them, and the permissions they need. You write it as a
folder and pack it into that file.

Examples:
  toolyard plugin new hello
  toolyard plugin pack hello -o hello.json
  toolyard keys new --out ada.key
  toolyard plugin sign hello.json --key ada.key
  toolyard plugin verify hello.json --key ada.key.pub
  toolyard plugin inspect hello.json
  toolyard plugin run hello.json hello name=Ada
  toolyard plugin publish hello.json
  toolyard plugin search greeting
  toolyard plugin install hello --user ada@example.com";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum PluginCommand {
    /// Create a plugin: a folder with an example tool
    New(new::PluginNewArgs),
    /// Pack a folder into one file
    Pack(pack::PackArgs),
    /// Sign a packed plugin
    Sign(sign::SignArgs),
    /// Check who signed a plugin and whether it was modified; exits with 1 unless it is signed
    Verify(verify::VerifyArgs),
    /// Show a plugin's details, permissions, and suspicious code
    #[command(
        after_help = "Examples:\n  toolyard plugin inspect hello.json\n  toolyard plugin inspect hello.json --json"
    )]
    Inspect(PluginFileArg),
    /// Call a tool of a plugin on this machine, without a server
    Run(Box<run::PluginRunArgs>),
    /// Have the server sign a plugin and add it to its catalogue; exits with 1 if it refuses
    Publish(publish::PublishArgs),
    /// Revoke a plugin permanently: it no longer runs anywhere
    Revoke(revoke::PluginRevokeArgs),
    /// Search the server's catalogue
    Search(search::SearchArgs),
    /// Install a plugin on the server for a user, or change its version
    Install(install::InstallArgs),
    /// Uninstall a plugin of a user and delete its data
    Uninstall(installed::UninstallArgs),
    /// List the plugins of a user, and whether they can run
    #[command(after_help = "Examples:\n  toolyard plugin ls --user ada@example.com")]
    Ls,
}

#[derive(Debug, Args)]
pub(crate) struct PluginFileArg {
    /// A packed plugin
    file: PathBuf,
}

pub(crate) async fn run_plugin_command(
    cx: &CommandContext,
    command: PluginCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        PluginCommand::New(args) => new::create_plugin(cx, &args),
        PluginCommand::Pack(args) => pack::pack_plugin(cx, &args),
        PluginCommand::Sign(args) => sign::sign_plugin(cx, &args),
        PluginCommand::Verify(args) => verify::verify_plugin(cx, &args),
        PluginCommand::Inspect(args) => inspect::inspect_plugin(cx, &args),
        PluginCommand::Run(args) => run::run_plugin_tool(cx, *args).await,
        PluginCommand::Publish(args) => publish::publish_plugin(cx, args).await,
        PluginCommand::Revoke(args) => revoke::revoke_plugin(cx, args).await,
        PluginCommand::Search(args) => search::search_plugins(cx, args).await,
        PluginCommand::Install(args) => install::install_plugin(cx, args).await,
        PluginCommand::Uninstall(args) => installed::uninstall_plugin(cx, args).await,
        PluginCommand::Ls => installed::list_plugins(cx).await,
    }
}

/// Points to the catalogue if a plugin was not found.
fn with_catalogue_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => {
            refused.with_not_found_hint("`toolyard plugin search` lists the plugins of the catalogue").into()
        }
        error => error,
    }
}

/// Reads a manifest.
fn read_manifest(path: &Path) -> Result<Manifest, CliError> {
    let text = input::read_text_file(path, MAX_MANIFEST_BYTES)?;
    Manifest::parse(text.as_bytes()).map_err(|error| manifest_problems(path, error.problems))
}

fn manifest_problems(path: &Path, problems: Vec<Problem>) -> CliError {
    CliError::Problems { what: path.display().to_string(), problems }
}

/// A problem with a whole file.
fn file_problem(path: &Path, why: impl ToString) -> CliError {
    manifest_problems(path, vec![Problem::new("", why.to_string())])
}
