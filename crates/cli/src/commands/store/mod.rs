//! `toolyard store`: what is stored, without a running server.

mod migrate;

use clap::Subcommand;

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Move everything from a database file to an empty PostgreSQL database
    Migrate(migrate::StoreMigrateArgs),
}

pub(crate) async fn run_store_command(
    cx: &CommandContext,
    command: StoreCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        StoreCommand::Migrate(args) => migrate::migrate_store(cx, args).await,
    }
}
