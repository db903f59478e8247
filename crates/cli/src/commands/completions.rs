//! `toolyard completions`: prints a completion script for a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use serde::Serialize;

use super::CommandOutcome;
use crate::{
    cli::{Cli, CommandContext},
    error::CliError,
    output::RenderText,
};

const HELP: &str = "\
Examples:
  toolyard completions bash > ~/.local/share/bash-completion/completions/toolyard
  toolyard completions zsh > \"${fpath[1]}/_toolyard\"
  toolyard completions fish > ~/.config/fish/completions/toolyard.fish";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Serialize)]
struct CompletionScript {
    shell: String,
    script: String,
}

impl RenderText for CompletionScript {
    fn render_text(&self) -> String {
        self.script.trim_end().to_owned()
    }
}

pub(crate) fn print_completions(
    cx: &CommandContext,
    args: &CompletionsArgs,
) -> Result<CommandOutcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolyard", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    cx.output.print_result(&CompletionScript { shell: args.shell.to_string(), script })?;
    Ok(CommandOutcome::Success)
}
