//! `toolyard backup`: everything that is stored in one file, and whether such a file is sound.

pub(crate) mod passphrase;
mod summary;
mod verify;
mod write;

use clap::{Args, Subcommand};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
Works while a server runs, with SQLite and PostgreSQL: the backup has the state of one moment, and nothing waits for it. It is
written to a temporary file beside FILE, and renamed when it is complete. An existing file is never overwritten.

The root key is not inside unless you say so. Without it, a restored server accepts no old token and opens no sealed secret:
keep a copy of it elsewhere, or use --with-root-key, which requires encryption. The configuration file is never inside.

Examples:
  openssl rand -base64 32 > /etc/toolyard/backup.passphrase; chmod 600 /etc/toolyard/backup.passphrase
  toolyard backup --to /backup/toolyard.backup --passphrase-file /etc/toolyard/backup.passphrase --with-root-key
  toolyard backup --to toolyard.backup --data /var/lib/toolyard
  toolyard backup verify toolyard.backup";

#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    write: write::BackupWriteArgs,
    #[command(subcommand)]
    command: Option<BackupCommand>,
}

#[derive(Debug, Subcommand)]
enum BackupCommand {
    /// Check that a backup is complete and undamaged, and show what it contains
    Verify(verify::BackupVerifyArgs),
}

pub(crate) async fn run_backup_command(
    cx: &CommandContext,
    args: BackupArgs,
) -> Result<CommandOutcome, CliError> {
    match args.command {
        None => write::write_backup_file(cx, args.write).await,
        Some(BackupCommand::Verify(args)) => verify::verify_backup_file(cx, &args),
    }
}
