//! `toolyard apps tools`: lists the tools of an app, or publishes a new set.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::PackageName;

use crate::{
    cli::CommandContext,
    commands::{
        CommandOutcome,
        migrate::{NewVersion, PublishedToolSet, ToolSetBody},
        tools::ls::tool_rows,
    },
    error::CliError,
    output::RenderText,
    text,
    tool_file::ToolFile,
};

const HELP: &str = "\
A new set replaces the old one atomically; the server keeps the old one as an earlier version.

Examples:
  toolyard apps tools com.example.todo
  toolyard apps tools com.example.todo --set tools.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AppsToolsArgs {
    /// The app, such as com.example.todo
    package: PackageName,
    /// Publish the tools of this file: a list or {"tools": […]}, as MCP definitions or in an older format; `prompts`,
    /// `resources` and `resourceTemplates` are included
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct CurrentToolSet {
    version: u64,
    tools: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "resourceTemplates")]
    resource_templates: Vec<Box<RawValue>>,
}

impl RenderText for CurrentToolSet {
    fn render_text(&self) -> String {
        if self.tools.is_empty() {
            return "No tools yet. Publish some with `toolyard apps tools PACKAGE --set FILE`.".to_owned();
        }
        format!("version {}\n{}", self.version, text::format_table(&tool_rows(&self.tools)))
    }
}

pub(super) async fn list_or_publish_tools(
    cx: &CommandContext,
    args: AppsToolsArgs,
) -> Result<CommandOutcome, CliError> {
    let (client, path) = (cx.client()?, format!("api/apps/{}/tools", args.package));
    match args.set {
        None => {
            let set: CurrentToolSet = client.get(&path).await?;
            cx.output.print_result(&set)?;
        }
        Some(file) => {
            let ToolFile { form, tools, items, .. } = ToolFile::open(&file)?;
            let new: NewVersion = client.post(&path, &ToolSetBody { tools: &tools, items: &items }).await?;
            let (package_name, tool_count) = (args.package, tools.len());
            cx.output.print_result(&PublishedToolSet {
                package_name,
                version: new.version,
                tool_count,
                form,
            })?;
        }
    }
    Ok(CommandOutcome::Success)
}
