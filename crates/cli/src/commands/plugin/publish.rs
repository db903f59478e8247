//! `toolyard plugin publish`: has the server audit a plugin, sign it and add it to the catalogue.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::plugin::{Manifest, PluginSignature};
use toolyard_trust::manifest_hash;

use super::{file_problem, manifest_problems, read_manifest};
use crate::{
    cli::CommandContext, commands::CommandOutcome, error::CliError, new_file, output::RenderText, text,
};

const HELP: &str = "\
The server audits the plugin as `toolyard plugin inspect` does. If there are no errors it signs the plugin with its own
key, replacing an existing signature, and adds it to the catalogue. A version in the catalogue never changes. Requires a
token with the role curator. Exits with 1 if the plugin was not signed.

Examples:
  toolyard plugin publish hello.json --token $(toolyard token curator cleo@example.com)
  toolyard plugin publish hello.json --out hello.signed.json
  toolyard plugin publish hello.json --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PublishArgs {
    /// A packed plugin
    file: PathBuf,
    /// File for the signed plugin [default: it is only added to the catalogue]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct PluginSignRequest {
    manifest: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PluginSignResponse {
    signed: bool,
    content_hash: String,
    report: PublishReport,
    manifest: Option<Box<RawValue>>,
}

/// Codes and severities as text, because a newer server may send unknown ones.
#[derive(Serialize, Deserialize)]
struct PublishReport {
    passes: bool,
    findings: Vec<PublishFinding>,
}

#[derive(Serialize, Deserialize)]
struct PublishFinding {
    severity: String,
    code: String,
    #[serde(default)]
    place: String,
    text: String,
}

impl PublishFinding {
    fn to_line(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!("{}: ", self.place) };
        format!("  {}: {place}{} ({})", self.severity, self.text, self.code)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginPublishOutput {
    id: String,
    version: String,
    signed: bool,
    key_id: Option<String>,
    content_hash: String,
    report: PublishReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

impl RenderText for PluginPublishOutput {
    fn render_text(&self) -> String {
        let Self { id, version, .. } = self;
        let mut lines = vec![match &self.key_id {
            Some(key) => format!("signed {id} {version} with key {key} and added it to the catalogue"),
            None => format!("{id} {version} was not signed: fix the errors and publish it again"),
        }];
        lines.push(format!("hash {}", self.content_hash));
        lines.push(match self.report.findings.len() {
            0 => "audit: no findings".to_owned(),
            1 => "audit: 1 finding".to_owned(),
            many => format!("audit: {many} findings"),
        });
        lines.extend(self.report.findings.iter().map(PublishFinding::to_line));
        lines.extend(self.file.as_ref().map(|file| format!("written to {}", file.display())));
        lines.iter().map(|line| text::sanitize_line(line)).collect::<Vec<_>>().join("\n")
    }
}

pub(super) async fn publish_plugin(
    cx: &CommandContext,
    args: PublishArgs,
) -> Result<CommandOutcome, CliError> {
    let ours = read_manifest(&args.file)?;
    let raw = RawValue::from_string(ours.raw().trim().to_owned());
    let sent = PluginSignRequest { manifest: raw.map_err(|error| file_problem(&args.file, error))? };
    let client = cx.client()?;
    let answer: PluginSignResponse = client.post("api/plugins/sign", &sent).await?;
    let mut published = PluginPublishOutput {
        id: ours.id.to_string(),
        version: ours.version.clone(),
        signed: answer.signed,
        key_id: None,
        content_hash: answer.content_hash,
        report: answer.report,
        file: None,
    };
    if answer.signed {
        let raw = answer.manifest.ok_or_else(|| client.invalid_response("the signed manifest is missing"))?;
        let theirs = Manifest::parse(raw.get().as_bytes()).map_err(|error| client.invalid_response(error))?;
        // The server must have signed exactly what we sent.
        let problem = |problem| manifest_problems(&args.file, vec![problem]);
        if manifest_hash(&ours).map_err(problem)?
            != manifest_hash(&theirs).map_err(|error| client.invalid_response(error))?
        {
            return Err(client.invalid_response("the server signed something else than was sent"));
        }
        published.key_id =
            Some(signing_key_id(&theirs).ok_or_else(|| client.invalid_response("the signature is missing"))?);
        if let Some(file) = args.out {
            new_file::replace_file(&file, &(theirs.raw().to_owned() + "\n"))?;
            published.file = Some(file);
        }
    }
    cx.output.print_result(&published)?;
    Ok(if published.signed { CommandOutcome::Success } else { CommandOutcome::Failure })
}

fn signing_key_id(manifest: &Manifest) -> Option<String> {
    match manifest.signature()? {
        PluginSignature::Ed25519 { key, .. } => Some(key.to_string()),
        PluginSignature::Rs256 { key, .. } => key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_the_server_are_sanitized() {
        let found = PublishFinding {
            severity: "error".to_owned(),
            code: "new-in-2027".to_owned(),
            place: "tools[0]".to_owned(),
            text: "\u{1b}[2Jodd".to_owned(),
        };
        let output = PluginPublishOutput {
            id: "x".to_owned(),
            version: "1".to_owned(),
            signed: false,
            key_id: None,
            content_hash: "0".to_owned(),
            report: PublishReport { passes: false, findings: vec![found] },
            file: None,
        };
        let expected = "x 1 was not signed: fix the errors and publish it again\nhash 0\naudit: 1 finding\n  error: tools[0]:  [2Jodd (new-in-2027)";
        assert_eq!(output.render_text(), expected);
    }
}
