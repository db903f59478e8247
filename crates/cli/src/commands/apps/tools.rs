//! `toolyard apps tools`: lists the tools of an app, or publishes a new set.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::{PackageName, items::AppItems};

use crate::{
    cli::CommandContext,
    commands::{CommandOutcome, tools::ls::tool_rows},
    error::CliError,
    output::RenderText,
    text,
    tool_file::{ToolFile, ToolFileFormat},
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
