//! `toolyard plugin sign`

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use toolyard_trust::{audit_manifest, manifest_hash, sign_manifest};

use super::{file_problem, formatting, manifest_problems, read_manifest};
use crate::{
    cli::CommandContext,
    commands::{CommandOutcome, keys},
    error::CliError,
    new_file,
    output::RenderText,
    text,
};

const HELP: &str = "\
The signature covers everything in the file except itself. An existing signature is replaced.

Examples:
  toolyard plugin sign hello.json --key ada.key
  toolyard plugin sign hello.json --key ada.key -o hello.signed.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SignArgs {
    /// A packed plugin
    file: PathBuf,
    /// The file with your secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// File for the signed plugin [default: the same file]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginSignedOutput {
    file: PathBuf,
    id: String,
    version: String,
    key_id: String,
    content_hash: String,
}

impl RenderText for PluginSignedOutput {
    fn render_text(&self) -> String {
        let file = text::sanitize_line(&self.file.display().to_string());
        format!(
            "signed {} {} with key {}: {file}\nhash {}",
            self.id, self.version, self.key_id, self.content_hash
        )
    }
}

pub(super) fn sign_plugin(cx: &CommandContext, args: &SignArgs) -> Result<CommandOutcome, CliError> {
    let manifest = read_manifest(&args.file)?;
    let key = keys::read_secret_key(&args.key)?;
    let signed = sign_manifest(&manifest, &key).map_err(|error| file_problem(&args.file, error))?;
    let content_hash =
        manifest_hash(&manifest).map_err(|problem| manifest_problems(&args.file, vec![problem]))?.to_string();
    let report = audit_manifest(&manifest);
    if !report.passes {
        let errors = formatting::count_findings(&report);
        cx.output.print_note(&format!(
            "a server would refuse to sign this ({errors}): `toolyard plugin inspect` shows why"
        ));
    }
    let file = args.out.clone().unwrap_or_else(|| args.file.clone());
    new_file::replace_file(&file, &(signed + "\n"))?;
    cx.output.print_result(&PluginSignedOutput {
        file,
        id: manifest.id.to_string(),
        version: manifest.version.clone(),
        key_id: key.public_key().id().to_string(),
        content_hash,
    })?;
    Ok(CommandOutcome::Success)
}
