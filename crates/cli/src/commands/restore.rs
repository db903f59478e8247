//! `toolyard restore`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_server::{
    ServerDependencies,
    backup::{
        BackupArchive, LoadedTable, RestoreError, RestoreMode, RestoreReport, RestoredKey, restore_backup,
    },
    serve::shown_store,
};

use super::{CommandOutcome, backup::passphrase::read_passphrase};
use crate::{cli::CommandContext, config::ConfigArgs, error::CliError, output::RenderText};

const HELP: &str = "\
The store must be empty, and no server may use it: a new data folder, or a new PostgreSQL database in store.url. A backup of
either kind of store can be restored into the other. The whole backup is verified first. Then everything is restored in one
transaction, read back and compared. If anything fails, the store stays empty.

The backup must be from a version with the same tables. Restore an older one with the version that made it, then upgrade.

Examples:
  toolyard restore --from toolyard.backup --data /var/lib/toolyard --passphrase-file backup.passphrase
  toolyard restore --from toolyard.backup --data /tmp/drill --dry-run
  TOOLYARD_STORE__URL=postgres://db.example.com/toolyard toolyard restore --from toolyard.backup";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The file with the passphrase, if the backup is encrypted
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Check the backup, the root key and that the store is empty, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What became of the root key.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum KeyOutcome {
    Present,
    Written,
    Missing,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RestoreOutput {
    store: String,
    dry_run: bool,
    rows: u64,
    root_key: KeyOutcome,
    replaced_characters: u64,
    #[serde(skip)]
    product_version: String,
    #[serde(skip)]
    created_at: String,
}

impl RenderText for RestoreOutput {
    fn render_text(&self) -> String {
        let Self { store, rows, product_version, created_at, .. } = self;
        let source = format!("the backup that Toolyard {product_version} made at {created_at}");
        if self.dry_run {
            return format!("{rows} rows of {source} can be restored to {store}. Nothing was changed.");
        }
        let mut text = format!("{rows} rows of {source} were restored to {store}, read back and compared.");
        if self.replaced_characters > 0 {
            text.push_str(&format!(
                " {} characters U+0000 became U+FFFD, because PostgreSQL does not store them.",
                self.replaced_characters
            ));
        }
        text
    }
}

pub(crate) async fn restore_from_file(
    cx: &CommandContext,
    args: RestoreArgs,
) -> Result<CommandOutcome, CliError> {
    let config = args.config.load_config(Vec::new())?;
    let passphrase = args.passphrase_file.as_deref().map(read_passphrase).transpose()?;
    let failed = |error| CliError::Restore { file: args.from.clone(), error };
    let archive = BackupArchive::open(&args.from, passphrase.as_ref());
    let archive = archive.map_err(|error| failed(RestoreError::Archive(error)))?;
    let mode = if args.dry_run { RestoreMode::DryRun } else { RestoreMode::Write };
    let report = |table: &LoadedTable| {
        if table.rows > 0 {
            cx.output.print_note(&format!("restored {} ({})", table.name, table.rows));
        }
    };
    let restored = restore_backup(&config, &ServerDependencies::default(), &archive, mode, report).await;
    let restored = restored.map_err(failed)?;
    print_key_note(cx, &restored.root_key, mode);
    cx.output.print_result(&summarize(restored, shown_store(&config), mode))?;
    Ok(CommandOutcome::Success)
}

fn print_key_note(cx: &CommandContext, key: &RestoredKey, mode: RestoreMode) {
    match key {
        RestoredKey::Present => {}
        RestoredKey::Written(file) => {
            let verb = if mode == RestoreMode::DryRun { "would be" } else { "was" };
            cx.output.print_note(&format!("the root key {verb} written to {}", file.display()));
        }
        RestoredKey::Missing(file) => cx.output.print_note(&format!(
            "the backup is without the root key: put your copy of it at {} before you start the server",
            file.display()
        )),
    }
}

fn summarize(restored: RestoreReport, store: String, mode: RestoreMode) -> RestoreOutput {
    RestoreOutput {
        store,
        dry_run: mode == RestoreMode::DryRun,
        rows: restored.manifest.rows(),
        root_key: match restored.root_key {
            RestoredKey::Present => KeyOutcome::Present,
            RestoredKey::Written(_) => KeyOutcome::Written,
            RestoredKey::Missing(_) => KeyOutcome::Missing,
        },
        replaced_characters: restored.tables.iter().map(|table| table.replaced).sum(),
        product_version: restored.manifest.product_version,
        created_at: restored.manifest.created_at.to_string(),
    }
}
