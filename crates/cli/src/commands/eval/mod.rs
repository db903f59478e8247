//! `toolyard eval`: how good something is, on a set of one's own.

mod retrieval;
mod tools;

use clap::Subcommand;

use super::Verdict;
use crate::{cli::Context, error::CliError};

const HELP: &str = "\
Examples:
  toolyard eval retrieval --tools evals/retrieval/tools.jsonl --questions evals/retrieval/questions.jsonl
  toolyard eval tools --model ollama/llama3.2";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum EvalCommand {
    /// Whether the right tools are among those that a model gets to see
    Retrieval(retrieval::RetrievalArgs),
    /// Whether a model calls the right tools with the right arguments
    Tools(tools::ToolsArgs),
}

pub(crate) async fn run(cx: &Context, command: EvalCommand) -> Result<Verdict, CliError> {
    match command {
        EvalCommand::Retrieval(args) => retrieval::run(cx, &args),
        EvalCommand::Tools(args) => tools::run(cx, args).await,
    }
}
