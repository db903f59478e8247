//! `toolyard eval retrieval`

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde::Serialize;
use tokio::time::Instant;
use toolyard_evals::retrieval::{ShortlistReport, VectorsError, WordVectors, measure_shortlist};

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

const HELP: &str = "\
Both files are JSON Lines. A tool is an MCP definition, optionally with `package`, `app` (the app's display name) and
`mentraExtensions.activationPhrases`. A question has `text`, the right `tools` as package:name, and optionally a `kind` and
`recent` texts, the newest first. The result is the percentage of right tools among the first k, and in the list that a
model would be offered.

Examples:
  toolyard eval retrieval --tools evals/retrieval/tools.jsonl --questions evals/retrieval/questions.jsonl
  toolyard eval retrieval --tools my-tools.jsonl --questions my-questions.jsonl --vectors ~/word-vectors --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RetrievalArgs {
    /// File with the tools
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// File with the questions, each with its right tools
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    /// Folder with `model.safetensors` and `tokenizer.json` of word vectors, to also compare by meaning
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct RetrievalOutput(ShortlistReport);

impl RenderText for RetrievalOutput {
    fn render_text(&self) -> String {
        self.0.to_string()
    }
}

pub(super) fn eval_retrieval(cx: &CommandContext, args: &RetrievalArgs) -> Result<CommandOutcome, CliError> {
    let unusable = |folder: &Path| {
        let folder = folder.display().to_string();
        move |error: VectorsError| {
            CliError::usage(
                format!("cannot use the word vectors in {folder}: {error}"),
                "docs/chat.md explains where to get them",
            )
        }
    };
    let vectors = args.vectors.as_deref().map(|folder| WordVectors::open(folder).map_err(unusable(folder)));
    let start = Instant::now();
    let report = measure_shortlist(
        open_jsonl(&args.tools)?,
        open_jsonl(&args.questions)?,
        vectors.transpose()?.map(Arc::new),
        || start.elapsed(),
    );
    let report = report.map_err(|error| CliError::Eval(error.to_string()))?;
    cx.output.print_result(&RetrievalOutput(report))?;
    Ok(CommandOutcome::Success)
}

fn open_jsonl(file: &Path) -> Result<BufReader<File>, CliError> {
    let unreadable = |error| CliError::Unreadable { file: file.to_owned(), error };
    File::open(file).map(BufReader::new).map_err(unreadable)
}
