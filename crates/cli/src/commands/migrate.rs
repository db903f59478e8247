//! `toolyard migrate`: converts tools in an older format to MCP definitions, and prints or publishes them. All or none.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::{PackageName, Problem, items::AppItems};

use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    error::CliError,
    output::RenderText,
    tool_file::{ToolFile, ToolFileFormat},
};

const HELP: &str = "\
FILE is the tool list of an older console, a tpa_config.json (app_config.json), or a list of MCP definitions.
If there are problems, all of them are listed with their path, and nothing is printed or published.

Examples:
  toolyard migrate tpa_config.json > tools.json
  toolyard migrate tpa_config.json --into http://127.0.0.1:8787 --package com.example.todo";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MigrateArgs {
    /// The file with the tools
    file: PathBuf,
    /// Publish to this server instead of printing
    #[arg(long, value_name = "URL", requires = "package")]
    into: Option<String>,
    /// The app to publish them for; it must be registered
    #[arg(long, value_name = "PACKAGE", requires = "into")]
    package: Option<PackageName>,
}

/// Body of `POST /api/apps/{package}/tools`.
#[derive(Serialize)]
pub(crate) struct ToolSetBody<'a> {
    pub(crate) tools: &'a [Box<RawValue>],
    #[serde(flatten)]
    pub(crate) items: &'a AppItems,
}

impl RenderText for ToolSetBody<'_> {
    fn render_text(&self) -> String {
        serde_json::to_value(self).map(|set| format!("{set:#}")).unwrap_or_default()
    }
}

/// Response to a new tool set.
#[derive(Debug, Deserialize)]
pub(crate) struct NewVersion {
    pub(crate) version: u64,
}

/// A published tool set.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PublishedToolSet {
    pub(crate) package_name: PackageName,
    pub(crate) version: u64,
    pub(crate) tool_count: usize,
    pub(crate) form: ToolFileFormat,
}

impl RenderText for PublishedToolSet {
    fn render_text(&self) -> String {
        let Self { package_name, version, tool_count, form } = self;
        let plural = if *tool_count == 1 { "" } else { "s" };
        format!(
            "published {tool_count} tool{plural} of {package_name} as version {version}, from {}",
            form.label()
        )
    }
}

pub(crate) async fn migrate_tools(
    cx: &CommandContext,
    args: MigrateArgs,
) -> Result<CommandOutcome, CliError> {
    let file = ToolFile::open(&args.file)?;
    if file.tools.is_empty() {
        let problem =
            Problem::new("tools", "no tools found; expected a list of tools, or an object with `tools`");
        return Err(CliError::Problems { what: args.file.display().to_string(), problems: vec![problem] });
    }
    let body = ToolSetBody { tools: &file.tools, items: &file.items };
    let (Some(server), Some(package_name)) = (&args.into, args.package) else {
        cx.output.print_result(&body)?;
        return Ok(CommandOutcome::Success);
    };
    let new: NewVersion =
        cx.client_for(server)?.post(&format!("api/apps/{package_name}/tools"), &body).await?;
    let published = PublishedToolSet {
        package_name,
        version: new.version,
        tool_count: file.tools.len(),
        form: file.form,
    };
    cx.output.print_result(&published)?;
    Ok(CommandOutcome::Success)
}
