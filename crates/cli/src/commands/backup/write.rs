//! `toolyard backup --to FILE`

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use tempfile::NamedTempFile;
use toolyard_server::{
    ServerDependencies,
    backup::{BackupError, BackupManifest, BackupRequest, SnapshotError, write_backup},
    config::Config,
    serve::root_key_file,
};

use super::{passphrase::read_new_passphrase, summary::BackupSummary};
use crate::{
    cli::CommandContext, commands::CommandOutcome, config::ConfigArgs, error::CliError,
    new_file::already_exists, output::RenderText,
};

#[derive(Debug, Args)]
pub(super) struct BackupWriteArgs {
    /// The file to create
    #[arg(long, value_name = "FILE", required = true)]
    to: Option<PathBuf>,
    /// Encrypt the backup with the passphrase in this file, of at least 12 characters
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Include the root key, so that the file is all that a restore needs; requires --passphrase-file
    #[arg(long, requires = "passphrase_file")]
    with_root_key: bool,
    /// Leave the root key out, which is the default, and do not remind of it
    #[arg(long, conflicts_with = "with_root_key")]
    without_root_key: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Serialize)]
#[serde(transparent)]
struct WrittenBackup(BackupSummary);

impl RenderText for WrittenBackup {
    fn render_text(&self) -> String {
        format!("Wrote {}: {}.", self.0.shown_file(), self.0.describe())
    }
}

pub(super) async fn write_backup_file(
    cx: &CommandContext,
    args: BackupWriteArgs,
) -> Result<CommandOutcome, CliError> {
    let Some(to) = args.to else {
        return Err(CliError::usage("no file to write to", "name it with --to FILE"));
    };
    let config = args.config.load_config(Vec::new())?;
    let passphrase = args.passphrase_file.as_deref().map(read_new_passphrase).transpose()?;
    let request = BackupRequest { passphrase: passphrase.as_ref(), with_root_key: args.with_root_key };
    let manifest = write_new_file(&config, request, &to).await?;
    if !args.with_root_key && !args.without_root_key {
        cx.output.print_note(&format!(
            "the root key is not in the backup: without {}, a restored server accepts no old token and opens no sealed secret. \
             Keep a copy of it elsewhere",
            shown_key(&config)
        ));
    }
    if passphrase.is_none() {
        cx.output.print_note(
            "the backup is not encrypted: it contains personal data and hashes of passwords. Keep it private, or use \
             --passphrase-file",
        );
    }
    cx.output.print_result(&WrittenBackup(BackupSummary::new(&to, passphrase.is_some(), manifest)))?;
    Ok(CommandOutcome::Success)
}

fn shown_key(config: &Config) -> String {
    match config.auth.root_key {
        Some(_) => "auth.root_key".to_owned(),
        None => root_key_file(config).display().to_string(),
    }
}

/// Writes to a temporary file that only its owner can read, and renames it when it is complete and on the disk.
async fn write_new_file(
    config: &Config,
    request: BackupRequest<'_>,
    to: &Path,
) -> Result<BackupManifest, CliError> {
    // Checked again when the file is renamed; this saves the work.
    if to.symlink_metadata().is_ok() {
        return Err(already_exists(to));
    }
    let unwritable = |error| CliError::Unwritable { file: to.to_owned(), error };
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let builder = tempfile::Builder::new().prefix(".toolyard-").suffix(".partial").tempfile_in(folder);
    let file: NamedTempFile = builder.map_err(unwritable)?;
    let mut out = BufWriter::new(file);
    let manifest = write_backup(config, &ServerDependencies::default(), request, &mut out).await;
    let manifest = manifest.map_err(|error| match error {
        BackupError::Output(error) | BackupError::Snapshot(SnapshotError::Output(error)) => unwritable(error),
        error => CliError::Backup(error),
    })?;
    out.flush().map_err(unwritable)?;
    let file = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
    file.as_file().sync_all().map_err(unwritable)?;
    file.persist_noclobber(to).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(to),
        _ => unwritable(error.error),
    })?;
    // The name, too, is on the disk then. Not every file system can do that.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(manifest)
}
