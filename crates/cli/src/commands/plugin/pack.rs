//! `toolyard plugin pack`

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use toolyard_protocol::{
    Problem,
    plugin::{MAX_CODE_BYTES, MAX_MANIFEST_BYTES, Manifest, strict},
};
use toolyard_trust::{AuditReport, audit_manifest, manifest_hash};

use super::{formatting, manifest_problems};
use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, input, new_file, output::RenderText, text,
};

/// The file in a plugin's folder that describes it.
pub(super) const FOLDER_MANIFEST: &str = "plugin.json";
/// The field of a tool that names the file with its code. Packing replaces it with the code.
pub(super) const SOURCE: &str = "executorFile";
/// The field with the code.
const CODE: &str = "executorCode";

const HELP: &str = "\
In `plugin.json`, \"executorFile\" of a tool is the file with its code, relative to the folder. Packing inserts the code,
checks everything, and writes one file. An existing file is replaced.

Examples:
  toolyard plugin pack hello
  toolyard plugin pack hello -o dist/hello.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PackArgs {
    /// The folder with plugin.json
    folder: PathBuf,
    /// File for the packed plugin [default: ID-VERSION.json]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginPackOutput {
    file: PathBuf,
    bytes: usize,
    content_hash: String,
    audit: AuditReport,
}

impl RenderText for PluginPackOutput {
    fn render_text(&self) -> String {
        let file = text::sanitize_line(&self.file.display().to_string());
        let mut lines = vec![format!("packed {file}: {} bytes, hash {}", self.bytes, self.content_hash)];
        lines.extend(
            self.audit.findings.iter().map(|found| format!("  {}", formatting::format_finding(found))),
        );
        let file = self.file.display().to_string();
        lines.push(format!("next: `toolyard plugin sign {} --key FILE`", text::shell_quote([file.as_str()])));
        lines.join("\n")
    }
}

pub(super) fn pack_plugin(cx: &CommandContext, args: &PackArgs) -> Result<CommandOutcome, CliError> {
    let source = args.folder.join(FOLDER_MANIFEST);
    let text = input::read_text_file(&source, MAX_MANIFEST_BYTES)?;
    let mut value =
        strict::parse_strict(&text).map_err(|problem| manifest_problems(&source, vec![problem]))?;
    inline_code(&mut value, &args.folder).map_err(|problems| manifest_problems(&source, problems))?;
    let text = format!("{value:#}\n");
    let manifest =
        Manifest::parse(text.as_bytes()).map_err(|error| manifest_problems(&source, error.problems))?;
    let content_hash =
        manifest_hash(&manifest).map_err(|problem| manifest_problems(&source, vec![problem]))?.to_string();
    let default = || PathBuf::from(format!("{}-{}.json", manifest.id, file_part(&manifest.version)));
    let file = args.out.clone().unwrap_or_else(default);
    if is_same_file(&file, &source) {
        let message = format!("the output would overwrite the source {}", source.display());
        return Err(CliError::usage(message, "choose another file with -o"));
    }
    new_file::replace_file(&file, &text)?;
    cx.output.print_result(&PluginPackOutput {
        file,
        bytes: text.len(),
        content_hash,
        audit: audit_manifest(&manifest),
    })?;
    Ok(CommandOutcome::Success)
}

/// A version as part of a file name: `+` of a build is fine, a slash of the older format is not.
fn file_part(version: &str) -> String {
    version.chars().map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' }).collect()
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Replaces the file name of each tool with its code.
fn inline_code(value: &mut Value, folder: &Path) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    let tools = value.get_mut("tools").and_then(Value::as_array_mut);
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        let Some(members) = tool.as_object_mut() else { continue };
        let Some(named) = members.remove(SOURCE) else { continue };
        let path = format!("tools[{index}].{SOURCE}");
        if members.contains_key(CODE) {
            problems.push(Problem::new(path, format!("the tool also has {CODE}; remove one of the two")));
            continue;
        }
        match read_code(&named, folder) {
            Ok(code) => drop(members.insert(CODE.to_owned(), code.into())),
            Err(why) => problems.push(Problem::new(path, why)),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Reads the code of a tool. The folder may come from a third party, so a path must not lead out of it.
fn read_code(named: &Value, folder: &Path) -> Result<String, String> {
    let name = named.as_str().ok_or("expected a file name")?;
    let name = Path::new(name);
    if !name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("{}: expected a file below the folder", name.display()));
    }
    let file = folder.join(name);
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    if !real(&file)?.starts_with(real(folder)?) {
        return Err(format!("{}: leads out of the folder", name.display()));
    }
    input::read_text_file(&file, MAX_CODE_BYTES).map_err(|error| error.to_string())
}
