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
use toolyard_server::shortlist::{
    eval::{Report, measure},
    vectors::WordVectors,
};

use crate::{cli::Context, commands::Verdict, error::CliError, output::Show};

const HELP: &str = "\
Both files are JSON Lines. A tool is an MCP definition, optionally with `package`, `app` (its name for people) and
`mentraExtensions.activationPhrases`. A question has `text`, the right `tools` as package:name, and optionally a `kind` and
`recent` texts, the newest first. Told is the share of the right tools among the first k, in percent, and in the list that a
model would see.

Examples:
  toolyard eval retrieval --tools evals/retrieval/tools.jsonl --questions evals/retrieval/questions.jsonl
  toolyard eval retrieval --tools my-tools.jsonl --questions my-questions.jsonl --vectors ~/word-vectors --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RetrievalArgs {
    /// The tools
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// The questions, each with its right tools
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    /// A folder with `model.safetensors` and `tokenizer.json` of word vectors: meaning counts as well
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Measured(Report);

impl Show for Measured {
    fn text(&self) -> String {
        self.0.to_string()
    }
}

pub(super) fn run(cx: &Context, args: &RetrievalArgs) -> Result<Verdict, CliError> {
    let unusable = |folder: &Path| {
        let folder = folder.display().to_string();
        move |error: toolyard_server::shortlist::vectors::VectorsError| {
            CliError::usage(
                format!("the word vectors in {folder} cannot be used: {error}"),
                "docs/chat.md says where they come from",
            )
        }
    };
    let vectors = args.vectors.as_deref().map(|folder| WordVectors::open(folder).map_err(unusable(folder)));
    let start = Instant::now();
    let report =
        measure(open(&args.tools)?, open(&args.questions)?, vectors.transpose()?.map(Arc::new), || {
            start.elapsed()
        });
    let report = report.map_err(|error| CliError::Eval(error.to_string()))?;
    cx.output.show(&Measured(report))?;
    Ok(Verdict::Good)
}

fn open(file: &Path) -> Result<BufReader<File>, CliError> {
    let unreadable = |error| CliError::Unreadable { file: file.to_owned(), error };
    File::open(file).map(BufReader::new).map_err(unreadable)
}
