//! `toolyard plugin`: write, pack, sign and look at plugins, without a server; and publish, find and install them on one.
//! Only `run` runs their code here.

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
A plugin is one JSON file: tools, the JavaScript that runs them, and what they ask for. It is written as a folder
and packed into that file.

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
    /// Begin a plugin: a folder with a tool to start from
    New(new::PluginNewArgs),
    /// Put a folder into one file
    Pack(pack::PackArgs),
    /// Sign a packed plugin
    Sign(sign::SignArgs),
    /// Say who signed a plugin and whether it was changed; ends with 1 unless it is signed
    Verify(verify::VerifyArgs),
    /// Say what a plugin is, what it asks for, and what is odd about its code
    #[command(
        after_help = "Examples:\n  toolyard plugin inspect hello.json\n  toolyard plugin inspect hello.json --json"
    )]
    Inspect(PluginFileArg),
    /// Call a tool of a plugin here, without a server
    Run(Box<run::PluginRunArgs>),
    /// Have the server sign a plugin and add it to its catalogue; ends with 1 unless it did
    Publish(publish::PublishArgs),
    /// Call a plugin back: it runs no more, anywhere
    Revoke(revoke::PluginRevokeArgs),
    /// Look for plugins in the server's catalogue
    Search(search::SearchArgs),
    /// Install a plugin on the server for a user, or another version of it
    Install(install::InstallArgs),
    /// Remove a plugin of a user, with all that it keeps
    Uninstall(installed::UninstallArgs),
    /// List the plugins of a user, and whether they run
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

/// What is not there may be in the catalogue under another name.
fn with_catalogue_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => {
            refused.with_not_found_hint("`toolyard plugin search` lists the plugins of the catalogue").into()
        }
        error => error,
    }
}

/// The manifest in a file.
fn read_manifest(path: &Path) -> Result<Manifest, CliError> {
    let text = input::read_text_file(path, MAX_MANIFEST_BYTES)?;
    Manifest::parse(text.as_bytes()).map_err(|error| manifest_problems(path, error.problems))
}

fn manifest_problems(path: &Path, problems: Vec<Problem>) -> CliError {
    CliError::Problems { what: path.display().to_string(), problems }
}

/// One thing that is wrong with a whole file.
fn file_problem(path: &Path, why: impl ToString) -> CliError {
    manifest_problems(path, vec![Problem::new("", why.to_string())])
}
