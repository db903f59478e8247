//! `toolyard store migrate`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_server::serve::{CopiedTable, copy_store};

use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text::format_table,
};

const HELP: &str = "\
Stop the server first. Everything is copied in one transaction, read back and compared; the file stays as it is. The root key is
not in the database: keep it, or set auth.root_key. Then set store.url and start the server.

Examples:
  toolyard store migrate --from data/toolyard.db --to postgres://toolyard:password@db.example.com/toolyard
  TOOLYARD_STORE__URL=postgres://db.example.com/toolyard toolyard store migrate --from data/toolyard.db";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StoreMigrateArgs {
    /// The database file
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The URL of an empty PostgreSQL database. In the variable, other users of this machine do not see the password
    #[arg(long, value_name = "URL", env = "TOOLYARD_STORE__URL", hide_env_values = true)]
    to: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CopiedTableRow {
    name: &'static str,
    rows: u64,
    digest: String,
    replaced_characters: u64,
}

#[derive(Serialize)]
struct MigrateOutput {
    tables: Vec<CopiedTableRow>,
}

impl RenderText for MigrateOutput {
    fn render_text(&self) -> String {
        let mut rows = vec![["TABLE".to_owned(), "ROWS".to_owned(), "DIGEST".to_owned()]];
        let filled = self.tables.iter().filter(|table| table.rows > 0);
        // A digest is compared by programs; people see that there is one.
        rows.extend(
            filled
                .map(|table| [table.name.to_owned(), table.rows.to_string(), table.digest[..16].to_owned()]),
        );
        let count: u64 = self.tables.iter().map(|table| table.rows).sum();
        let replaced: u64 = self.tables.iter().map(|table| table.replaced_characters).sum();
        let mut text = format_table(&rows);
        text.push_str(&format!("\n{count} rows were copied, read back and compared."));
        if replaced > 0 {
            text.push_str(&format!(
                " {replaced} characters U+0000 became U+FFFD, because PostgreSQL does not store them."
            ));
        }
        text
    }
}

pub(super) async fn migrate_store(
    cx: &CommandContext,
    args: StoreMigrateArgs,
) -> Result<CommandOutcome, CliError> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| args.to.starts_with(scheme)) {
        return Err(CliError::usage(
            "the destination must be a PostgreSQL database",
            "write it like postgres://user:password@host/database",
        ));
    }
    let report = |table: &CopiedTable| {
        if table.rows > 0 {
            cx.output.print_note(&format!("copied {} ({})", table.name, table.rows));
        }
    };
    let tables = copy_store(&args.from, &args.to, report).await.map_err(CliError::StoreCopy)?;
    let row = |table: CopiedTable| CopiedTableRow {
        name: table.name,
        rows: table.rows,
        digest: table.digest,
        replaced_characters: table.replaced,
    };
    cx.output.print_result(&MigrateOutput { tables: tables.into_iter().map(row).collect() })?;
    Ok(CommandOutcome::Success)
}
