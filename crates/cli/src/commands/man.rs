//! `toolyard man`: manual pages, generated from the same definitions as `--help`.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;
use serde::Serialize;

use super::CommandOutcome;
use crate::{
    cli::{Cli, CommandContext},
    error::CliError,
    output::RenderText,
};

const HELP: &str = "\
Examples:
  toolyard man | man -l -
  toolyard man --out ~/.local/share/man/man1";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder [default: print the main page]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct ManPage {
    page: String,
}

impl RenderText for ManPage {
    fn render_text(&self) -> String {
        self.page.trim_end().to_owned()
    }
}

#[derive(Serialize)]
struct WrittenPages {
    folder: PathBuf,
    pages: Vec<String>,
}

impl RenderText for WrittenPages {
    fn render_text(&self) -> String {
        format!("wrote {} pages to {}", self.pages.len(), self.folder.display())
    }
}

pub(crate) fn write_manual(cx: &CommandContext, args: &ManArgs) -> Result<CommandOutcome, CliError> {
    let mut command = Cli::command();
    // Gives each command its full name, `toolyard apps add`, and the global flags.
    command.build();
    let Some(folder) = &args.out else {
        let page = String::from_utf8_lossy(&render_page(&command)?).into_owned();
        cx.output.print_result(&ManPage { page })?;
        return Ok(CommandOutcome::Success);
    };
    let unwritable = |error| CliError::Unwritable { file: folder.clone(), error };
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    let mut pages = Vec::new();
    write_pages(&command, folder, &mut pages)?;
    cx.output.print_result(&WrittenPages { folder: folder.clone(), pages })?;
    Ok(CommandOutcome::Success)
}

fn write_pages(
    command: &clap::Command,
    folder: &std::path::Path,
    pages: &mut Vec<String>,
) -> Result<(), CliError> {
    let name = format!("{}.1", command.get_display_name().unwrap_or_else(|| command.get_name()));
    let file = folder.join(&name);
    std::fs::write(&file, render_page(command)?).map_err(|error| CliError::Unwritable { file, error })?;
    pages.push(name);
    let mut shown =
        command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    shown.try_for_each(|command| write_pages(command, folder, pages))
}

fn render_page(command: &clap::Command) -> Result<Vec<u8>, CliError> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
