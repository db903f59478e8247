//! `toolyard eval`: how good something is, on a set of one's own.

mod retrieval;

use clap::Subcommand;

use super::Verdict;
use crate::{cli::Context, error::CliError};

const HELP: &str = "\
Examples:
  toolyard eval retrieval --tools evals/retrieval/tools.jsonl --questions evals/retrieval/questions.jsonl";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum EvalCommand {
    /// Whether the right tools are among those that a model gets to see
    Retrieval(retrieval::RetrievalArgs),
}

pub(crate) fn run(cx: &Context, command: &EvalCommand) -> Result<Verdict, CliError> {
    match command {
        EvalCommand::Retrieval(args) => retrieval::run(cx, args),
    }
}
