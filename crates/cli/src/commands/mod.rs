//! The commands, one file each.

pub(crate) mod apps;
pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod glasses;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod models;
pub(crate) mod plugin;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod upstreams;

use crate::{
    cli::{Cli, Command, Context},
    error::CliError,
};

/// How a command that has said everything itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Exit code 0.
    Good,
    /// It did its work, and what it found or tried is not good: exit code 1.
    Bad,
}

/// Runs a command.
pub(crate) async fn run(cli: Cli) -> Result<Verdict, CliError> {
    let cx = Context::new(cli.globals);
    match cli.command {
        Command::Serve(args) => serve::run(&cx, args).await,
        Command::Apps(command) => apps::run(&cx, command).await,
        Command::Tools(command) => tools::run(&cx, command).await,
        Command::Calls(args) => calls::run(&cx, *args).await,
        Command::Upstreams(command) => upstreams::run(&cx, command).await,
        Command::Chat(args) => chat::run(&cx, *args).await,
        Command::Models(args) => models::run(&cx, args).await,
        Command::Plugin(command) => plugin::run(&cx, command).await,
        Command::Keys(command) => keys::run(&cx, command),
        Command::Mcp(args) => mcp::run(&cx, *args).await,
        Command::Migrate(args) => migrate::run(&cx, args).await,
        Command::Import(args) => import::run(&cx, args).await,
        Command::Glasses(args) => glasses::run(&cx, args).await,
        Command::Token(command) => token::run(&cx, command).await,
        Command::Doctor(args) => doctor::run(&cx, &args).await,
        Command::Eval(command) => eval::run(&cx, command).await,
        Command::Completions(args) => completions::run(&cx, &args),
        Command::Man(args) => man::run(&cx, &args),
        Command::Schema(args) => schema::run(&cx, &args),
    }
}
