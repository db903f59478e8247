//! `toolyard eval`: measures how well tools are chosen, on your own data.

mod retrieval;
mod tools;

use clap::Subcommand;

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
Examples:
  toolyard eval retrieval --tools evals/retrieval/tools.jsonl --questions evals/retrieval/questions.jsonl
  toolyard eval tools --model ollama/llama3.2";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum EvalCommand {
    /// Measure whether the right tools are among those that a model is offered
    Retrieval(retrieval::RetrievalArgs),
    /// Measure whether a model calls the right tools with the right arguments
    Tools(tools::EvalToolsArgs),
}

pub(crate) async fn run_eval_command(
    cx: &CommandContext,
    command: EvalCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        EvalCommand::Retrieval(args) => retrieval::eval_retrieval(cx, &args),
        EvalCommand::Tools(args) => tools::eval_tools(cx, args).await,
    }
}
