//! `toolyard audit export`

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use toolyard_protocol::{
    JsonLine,
    audit::{AuditEntry, AuditPage},
};

use super::AuditFilterArgs;
use crate::{
    cli::CommandContext,
    commands::CommandOutcome,
    error::CliError,
    new_file::{self, FileAccess},
};

/// Entries per request.
const PAGE: u32 = 200;

const HELP: &str = "\
Each line is one entry as JSON. The last line on stderr names the head of the export, NUMBER:HASH. Note it where nobody with
access to the database can change it: `toolyard audit verify --head` then finds entries that were removed from the end.

Examples:
  toolyard audit export -o audit.jsonl
  toolyard audit export --after 1204 >> audit.jsonl";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AuditExportArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// Only entries after this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Write a new file that only you can read, instead of printing
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn export_entries(
    cx: &CommandContext,
    args: &AuditExportArgs,
) -> Result<CommandOutcome, CliError> {
    if let Some(file) = &args.out {
        new_file::create_file(file, "", FileAccess::OwnerOnly)?;
    }
    let client = cx.client()?;
    let (mut after, mut count, mut head) = (Some(args.after), 0_u64, None);
    while let Some(number) = after {
        let page: AuditPage = client.get(&args.filter.page_path(PAGE, Some(number))).await?;
        write_lines(cx, args.out.as_deref(), &page.entries)?;
        count += page.entries.len() as u64;
        head = page.entries.last().map(|last| format!("{}:{}", last.number, last.hash)).or(head);
        after = page.next;
    }
    cx.output.print_note(&match head {
        Some(head) => format!("exported {count} entries; head {head}"),
        None => "no entries match".to_owned(),
    });
    Ok(CommandOutcome::Success)
}

fn write_lines(cx: &CommandContext, file: Option<&Path>, entries: &[AuditEntry]) -> Result<(), CliError> {
    let Some(path) = file else {
        return entries.iter().try_for_each(|entry| cx.output.print_line(JsonLine::new(entry).as_str()));
    };
    let text: String = entries.iter().map(|entry| JsonLine::new(entry).into_terminated()).collect();
    let written =
        OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CliError::Unwritable { file: path.to_owned(), error })
}
