//! `toolyard backup verify FILE`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_server::backup::BackupArchive;

use super::{passphrase::read_passphrase, summary::BackupSummary};
use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text::format_table,
};

const HELP: &str = "\
Reads the whole file and compares every table with its digest. Needs no server and no store. `toolyard restore --dry-run` also
checks where it would be restored to.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct BackupVerifyArgs {
    /// The backup
    file: PathBuf,
    /// The file with the passphrase, if the backup is encrypted
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct VerifiedBackup(BackupSummary);

impl RenderText for VerifiedBackup {
    fn render_text(&self) -> String {
        let mut rows = vec![["TABLE".to_owned(), "ROWS".to_owned()]];
        rows.extend(self.0.filled_tables());
        let mut text = format_table(&rows);
        text.push_str(&format!(
            "\n{} is complete and undamaged: {}.",
            self.0.shown_file(),
            self.0.describe()
        ));
        if !self.0.is_restorable() {
            text.push_str(&format!(
                " This version has other tables: restore it with Toolyard {}.",
                self.0.product_version()
            ));
        }
        text
    }
}

pub(super) fn verify_backup_file(
    cx: &CommandContext,
    args: &BackupVerifyArgs,
) -> Result<CommandOutcome, CliError> {
    let passphrase = args.passphrase_file.as_deref().map(read_passphrase).transpose()?;
    let failed = |error| CliError::BackupFile { file: args.file.clone(), error };
    let archive = BackupArchive::open(&args.file, passphrase.as_ref()).map_err(failed)?;
    let manifest = archive.verify().map_err(failed)?;
    let summary = BackupSummary::new(&args.file, archive.is_encrypted(), manifest);
    cx.output.print_result(&VerifiedBackup(summary))?;
    Ok(CommandOutcome::Success)
}
