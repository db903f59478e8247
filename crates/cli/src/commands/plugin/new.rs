//! `toolyard plugin new`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolyard_protocol::plugin::{PluginId, SCHEMA_VERSION};

use super::pack::{FOLDER_MANIFEST, SOURCE};
use crate::{
    cli::CommandContext,
    commands::CommandOutcome,
    error::CliError,
    new_file::{self, FileAccess},
    output::RenderText,
    text,
};

/// The code of the example tool.
const CODE: &str = "\
// The body of an async function. `args` matches the tool's parameters; the return value is the tool's result.
const name = args.name || 'world';
return { greeting: `Hello, ${name}!` };
";

const HELP: &str = "\
Creates a folder with `plugin.json`, which describes the plugin and its permissions, and `tools/`, with one JavaScript
file for each tool. `toolyard plugin pack` packs them into one file.

Examples:
  toolyard plugin new hello
  toolyard plugin new com.example.time --publisher 'Example Ltd'";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PluginNewArgs {
    /// The plugin's unique id, such as com.example.time; also the name of the folder
    id: PluginId,
    /// The publisher's name
    #[arg(long, value_name = "NAME", default_value = "Me")]
    publisher: String,
}

#[derive(Serialize)]
struct PluginCreatedOutput {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl RenderText for PluginCreatedOutput {
    fn render_text(&self) -> String {
        let folder = text::shell_quote([self.folder.display().to_string().as_str()]);
        let files = self
            .files
            .iter()
            .map(|file| format!("created {}", text::sanitize_line(&file.display().to_string())));
        let next = format!("next: write the tool, then `toolyard plugin pack {folder}`");
        files.chain([next]).collect::<Vec<_>>().join("\n")
    }
}

pub(super) fn create_plugin(cx: &CommandContext, args: &PluginNewArgs) -> Result<CommandOutcome, CliError> {
    let folder = PathBuf::from(args.id.as_str());
    if folder.exists() {
        return Err(new_file::already_exists(&folder));
    }
    let manifest = json!({
        "schemaVersion": SCHEMA_VERSION,
        "id": args.id,
        "name": args.id,
        "version": "0.1.0",
        "publisher": args.publisher,
        "description": "Greets people.",
        "permissions": {},
        "tools": [{
            "name": "hello",
            "description": "Greets a person by name.",
            "parameters": {
                "type": "object",
                "properties": { "name": { "type": "string", "description": "Whom to greet" } },
            },
            SOURCE: "tools/hello.js",
        }],
    });
    let tools = folder.join("tools");
    std::fs::create_dir_all(&tools).map_err(|error| CliError::Unwritable { file: tools.clone(), error })?;
    let (about, code) = (folder.join(FOLDER_MANIFEST), tools.join("hello.js"));
    new_file::create_file(&about, &format!("{manifest:#}\n"), FileAccess::SystemDefault)?;
    new_file::create_file(&code, CODE, FileAccess::SystemDefault)?;
    cx.output.print_result(&PluginCreatedOutput { folder, files: vec![about, code] })?;
    Ok(CommandOutcome::Success)
}
