//! `toolyard migrate`: converts tools in an older format to MCP definitions, and prints or publishes them. All or none.

use std::path::PathBuf;

use clap::Args;
use toolyard_protocol::{PackageName, Problem};

use crate::{
    cli::CommandContext,
    commands::{
        CommandOutcome,
        apps::tools::{NewVersion, PublishedToolSet, ToolSetBody},
    },
    error::CliError,
    tool_file::ToolFile,
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
