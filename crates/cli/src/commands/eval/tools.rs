//! `toolyard eval tools`: measures how well a model chooses tools and fills in their arguments.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde::Serialize;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use toolyard_evals::calling::{CallingReport, OWN_PROMPTS, OWN_TOOLS, PromptSuite, measure_calling};
use toolyard_server::{ServerDependencies, models::ModelRegistry};

use crate::{
    cli::CommandContext,
    commands::CommandOutcome,
    config::{ConfigArgs, env_variables},
    error::CliError,
    output::RenderText,
};

const HELP: &str = "\
Sends each prompt to a model once and counts well-formed calls, right tools and right arguments. No tool is run.

Examples:
  toolyard eval tools --model ollama/llama3.2
  toolyard eval tools --model demo/smollm2 --set 'models.demo={ url = \"http://127.0.0.1:7020/v1\", calling = \"small\" }'
  toolyard eval tools --file prompts.jsonl --tools tools.jsonl";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct EvalToolsArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The model [default: the one that a server would use]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Prompts, one JSON object per line [default: the built-in ones]
    #[arg(long, value_name = "FILE", requires = "tools")]
    file: Option<PathBuf>,
    /// The tools to choose from, one MCP definition per line [default: the built-in ones]
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
}

/// The report.
#[derive(Serialize)]
#[serde(transparent)]
struct ToolEvalOutput(CallingReport);

impl RenderText for ToolEvalOutput {
    fn render_text(&self) -> String {
        self.0.to_string()
    }
}

pub(super) async fn eval_tools(cx: &CommandContext, args: EvalToolsArgs) -> Result<CommandOutcome, CliError> {
    let config = args.config.load_config(Vec::new())?;
    let world = ServerDependencies::with_environment(&env_variables().collect::<Vec<_>>());
    let registry = Arc::new(ModelRegistry::new(&config, &world).map_err(CliError::Start)?);
    let tools = open_eval_file(args.tools.as_deref(), OWN_TOOLS)?;
    let prompts = open_eval_file(args.file.as_deref(), OWN_PROMPTS)?;
    let suite = PromptSuite::read(tools, prompts).map_err(unusable)?;
    let model = registry.get(args.model.as_deref(), &TaskTracker::new()).await.map_err(unusable)?;
    let start = Instant::now();
    let report = measure_calling(&*model, &suite, || start.elapsed()).await.map_err(unusable)?;
    cx.output.print_result(&ToolEvalOutput(report))?;
    Ok(CommandOutcome::Success)
}

fn unusable(error: impl std::fmt::Display) -> CliError {
    CliError::usage(
        error.to_string(),
        "`toolyard models --local` lists the available models; if you passed files, check them",
    )
}

fn open_eval_file(file: Option<&Path>, own: &'static str) -> Result<Box<dyn BufRead + Send>, CliError> {
    let Some(file) = file else { return Ok(Box::new(own.as_bytes())) };
    let opened = File::open(file).map_err(|error| CliError::Unreadable { file: file.to_owned(), error })?;
    Ok(Box::new(BufReader::new(opened)))
}
