//! `toolyard schema`: the documents under `contract/`, printed.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use super::Verdict;
use crate::{cli::Context, error::CliError, output::Show};

const HELP: &str = "\
Examples:
  toolyard schema config > contract/config.schema.json
  toolyard schema openapi > contract/openapi.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SchemaArgs {
    /// Which document
    document: Document,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Document {
    /// JSON Schema of the configuration
    Config,
    /// OpenAPI 3.1 of the API
    Openapi,
}

/// A document: on many lines for people, on one for programs.
#[derive(Serialize)]
#[serde(transparent)]
struct Printed(Value);

impl Show for Printed {
    fn text(&self) -> String {
        format!("{:#}", self.0)
    }
}

pub(crate) fn run(cx: &Context, args: &SchemaArgs) -> Result<Verdict, CliError> {
    let document = match args.document {
        Document::Config => toolyard_server::config::schema(),
        Document::Openapi => toolyard_server::openapi::document(),
    };
    cx.output.show(&Printed(document))?;
    Ok(Verdict::Good)
}
