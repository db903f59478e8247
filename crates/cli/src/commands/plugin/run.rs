//! `toolyard plugin run`: calls one tool of a plugin in the sandbox of this process, without a model or a server.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::{
    cli::CommandContext,
    commands::{CommandOutcome, chat::plugins::PluginArgs, tools::arguments},
    error::CliError,
    output::RenderText,
    signals::SignalListener,
    text,
};

const HELP: &str = "\
The plugin gets the permissions that its manifest asks for, after you agreed. Values that parse as JSON are JSON, others
are text.

Examples:
  toolyard plugin run hello.json hello name=Ada --allow-unsigned hello.json
  toolyard plugin run time.json get_current_time '{\"timezone\":\"Europe/Berlin\"}' --keys ada.key.pub --yes";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PluginRunArgs {
    /// A packed plugin
    file: PathBuf,
    /// The tool to call
    tool: String,
    /// One JSON object, or key=value pairs
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// Run this plugin although it is not signed: its file or its id
    #[arg(long, value_name = "FILE|ID")]
    allow_unsigned: Option<String>,
    /// A public key to trust, or a key list signed with --root; can be repeated
    #[arg(long, value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// The public root key that signs the lists
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// A revocation list signed with --root
    #[arg(long, value_name = "FILE", requires = "root")]
    revocations: Option<PathBuf>,
    /// The folder for the plugin's stored data; without it the data is lost when the command ends
    #[arg(long, value_name = "DIR")]
    plugin_data: Option<PathBuf>,
    /// Agree to the permissions that the plugin asks for, without a confirmation
    #[arg(long)]
    yes: bool,
}

/// What the tool returned.
#[derive(Serialize)]
struct ToolOutput {
    result: Value,
}

impl RenderText for ToolOutput {
    fn render_text(&self) -> String {
        match &self.result {
            Value::String(result) => text::sanitize_block(result),
            result => text::sanitize_block(&format!("{result:#}")),
        }
    }
}

pub(super) async fn run_plugin_tool(
    cx: &CommandContext,
    args: PluginRunArgs,
) -> Result<CommandOutcome, CliError> {
    let PluginRunArgs { file, tool, arguments, allow_unsigned, keys, root, revocations, plugin_data, yes } =
        args;
    let arguments = arguments::parse_arguments(&arguments)?;
    let loader = PluginArgs::for_file(file, allow_unsigned, keys, root, revocations, plugin_data, yes);
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    let call = async {
        let plugins = loader.prepare_plugins(cx.output).await?;
        plugins.call_tool(&tool, arguments).await
    };
    let result = tokio::select! {
        result = call => result?,
        () = signals.next() => return Err(CliError::Stopped),
    };
    cx.output.print_result(&ToolOutput { result })?;
    Ok(CommandOutcome::Success)
}
