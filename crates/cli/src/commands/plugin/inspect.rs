//! `toolyard plugin inspect`

use serde::Serialize;
use serde_json::value::RawValue;
use toolyard_protocol::plugin::{Manifest, PluginPermissions, PluginSignature};
use toolyard_trust::{AuditReport, audit_manifest, manifest_hash};

use super::{PluginFileArg, formatting, manifest_problems, read_manifest};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// How much of a description is shown, in characters.
const SHOWN_CHARS: usize = 200;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginInspectOutput {
    id: String,
    name: String,
    version: String,
    publisher: Option<String>,
    description: String,
    homepage: Option<String>,
    older_form: bool,
    permissions: PluginPermissions,
    in_words: Vec<String>,
    tools: Vec<InspectedTool>,
    bytes: usize,
    content_hash: String,
    signature: Option<InspectedSignature>,
    issued_at: Option<String>,
    expires_at: Option<String>,
    min_host_version: Option<String>,
    audit: AuditReport,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InspectedTool {
    name: String,
    description: String,
    parameters: Box<RawValue>,
    code_bytes: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InspectedSignature {
    alg: &'static str,
    /// As the file says; `verify` checks it.
    key: Option<String>,
}

impl RenderText for PluginInspectOutput {
    fn render_text(&self) -> String {
        let signed = match &self.signature {
            None => "no".to_owned(),
            Some(InspectedSignature { alg, key }) => {
                let key = key.as_deref().unwrap_or("(unnamed)");
                format!("with key {key} ({alg}); `toolyard plugin verify` checks it")
            }
        };
        let rows = [
            ("id", self.id.clone()),
            ("name", self.name.clone()),
            ("version", self.version.clone()),
            ("publisher", self.publisher.clone().unwrap_or_default()),
            ("description", text::first_line(&self.description, SHOWN_CHARS)),
            ("homepage", self.homepage.clone().unwrap_or_default()),
            ("format", if self.older_form { "older format".to_owned() } else { String::new() }),
            ("issued", self.issued_at.clone().unwrap_or_default()),
            ("expires", self.expires_at.clone().unwrap_or_default()),
            (
                "requires",
                self.min_host_version
                    .as_ref()
                    .map(|v| format!("host version {v} or newer"))
                    .unwrap_or_default(),
            ),
            ("size", format!("{} bytes", self.bytes)),
            ("hash", self.content_hash.clone()),
            ("signed", signed),
        ];
        let filled = rows.into_iter().filter(|(_, value)| !value.is_empty());
        let rows: Vec<_> = filled.map(|(name, value)| [name.to_owned(), value]).collect();
        let mut lines = vec![text::format_table(&rows), "permissions:".to_owned()];
        lines.extend(self.in_words.iter().map(|permission| format!("  {}", text::sanitize_line(permission))));
        lines.push("tools:".to_owned());
        for tool in &self.tools {
            let description = text::first_line(&tool.description, SHOWN_CHARS);
            lines.push(text::sanitize_line(&format!(
                "  {} ({} bytes of code): {description}",
                tool.name, tool.code_bytes
            )));
            lines.push(text::sanitize_line(&format!("    {}", one_line(&tool.parameters))));
        }
        lines.push(format!("audit: {}", formatting::count_findings(&self.audit)));
        lines.extend(
            self.audit.findings.iter().map(|found| format!("  {}", formatting::format_finding(found))),
        );
        lines.join("\n")
    }
}

/// A schema on one line.
fn one_line(raw: &RawValue) -> String {
    serde_json::from_str::<serde_json::Value>(raw.get())
        .map_or_else(|_| raw.get().to_owned(), |v| v.to_string())
}

fn inspect_manifest(manifest: &Manifest, content_hash: String) -> PluginInspectOutput {
    let tools = manifest.tools.iter().map(|tool| InspectedTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
        code_bytes: tool.executor_code.len(),
    });
    let signature = manifest.signature().map(|signature| InspectedSignature {
        alg: signature.alg(),
        key: match signature {
            PluginSignature::Ed25519 { key, .. } => Some(key.to_string()),
            PluginSignature::Rs256 { key, .. } => key.clone(),
        },
    });
    PluginInspectOutput {
        id: manifest.id.to_string(),
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        publisher: manifest.publisher.clone(),
        description: manifest.description.clone(),
        homepage: manifest.homepage.clone(),
        older_form: manifest.is_older_form(),
        permissions: manifest.permissions.clone(),
        in_words: formatting::describe_permissions(&manifest.permissions),
        tools: tools.collect(),
        bytes: manifest.raw().len(),
        content_hash,
        signature,
        issued_at: manifest.issued_at.map(|at| at.to_string()),
        expires_at: manifest.expires_at.map(|at| at.to_string()),
        min_host_version: manifest.min_host_version.clone(),
        audit: audit_manifest(manifest),
    }
}

pub(super) fn inspect_plugin(cx: &CommandContext, args: &PluginFileArg) -> Result<CommandOutcome, CliError> {
    let manifest = read_manifest(&args.file)?;
    let content_hash =
        manifest_hash(&manifest).map_err(|problem| manifest_problems(&args.file, vec![problem]))?.to_string();
    cx.output.print_result(&inspect_manifest(&manifest, content_hash))?;
    Ok(CommandOutcome::Success)
}
