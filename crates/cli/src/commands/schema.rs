//! `toolyard schema`: prints the documents under `contract/`.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError, output::RenderText};

const HELP: &str = "\
Examples:
  toolyard schema config > contract/config.schema.json
  toolyard schema openapi > contract/openapi.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SchemaArgs {
    /// The document
    document: SchemaDocument,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaDocument {
    /// JSON Schema of the configuration
    Config,
    /// OpenAPI 3.1 of the API
    Openapi,
}

/// A document: indented for people, on one line for programs.
#[derive(Serialize)]
#[serde(transparent)]
struct SchemaOutput(Value);

impl RenderText for SchemaOutput {
    fn render_text(&self) -> String {
        format!("{:#}", self.0)
    }
}

pub(crate) fn print_schema(cx: &CommandContext, args: &SchemaArgs) -> Result<CommandOutcome, CliError> {
    let document = match args.document {
        SchemaDocument::Config => toolyard_server::config::config_schema(),
        SchemaDocument::Openapi => toolyard_server::openapi::openapi_document(),
    };
    cx.output.print_result(&SchemaOutput(document))?;
    Ok(CommandOutcome::Success)
}
