//! `toolyard completions`: what a shell needs to complete our commands.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use serde::Serialize;

use super::Verdict;
use crate::{
    cli::{Cli, Context},
    error::CliError,
    output::Show,
};

const HELP: &str = "\
Examples:
  toolyard completions bash > ~/.local/share/bash-completion/completions/toolyard
  toolyard completions zsh > \"${fpath[1]}/_toolyard\"
  toolyard completions fish > ~/.config/fish/completions/toolyard.fish";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

impl Show for Script {
    fn text(&self) -> String {
        self.script.trim_end().to_owned()
    }
}

pub(crate) fn run(cx: &Context, args: &CompletionsArgs) -> Result<Verdict, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolyard", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    cx.output.show(&Script { shell: args.shell.to_string(), script })?;
    Ok(Verdict::Good)
}
