//! `toolyard import`: registers the apps of a database export, line by line. An invalid line does not stop the import.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::fs::File;
use toolyard_protocol::{
    PackageName, Problem,
    api::AppCreated,
    app::{AppDetails, AppKind},
    items::AppItems,
    legacy::AppDocument,
    raw::to_raw,
    secret::SecretText,
    tool::ToolDefinition,
};

use crate::{
    cli::CommandContext,
    client::ApiClient,
    commands::{
        CommandOutcome,
        apps::add::{NewAppBody, app_detail_fields},
    },
    error::CliError,
    lines::{BoundedLine, BoundedLines},
    output::RenderText,
    text,
};

/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

const HELP: &str = "\
FILE has one app document per line, as `mongoexport --collection apps` writes it. An app keeps its API key if the document
has `hashedApiKey`, its SHA-256 in hex; otherwise it gets a new one. Each app gets a signing secret. New keys and secrets
are shown once, on the app's line: give them to the app. With --json each line is a JSON object, the last one a summary.

Examples:
  toolyard import apps.jsonl --dry-run
  toolyard import apps.jsonl --json > imported.jsonl";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct AppImportArgs {
    /// The database export
    file: PathBuf,
    /// Check everything, but register nothing
    #[arg(long)]
    dry_run: bool,
    /// Mark the apps as legacy: each request to them carries `X-App-API-Key`
    #[arg(long)]
    legacy: bool,
}

/// The outcome of one line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AppImportLine {
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_name: Option<PackageName>,
    #[serde(flatten)]
    outcome: AppImportOutcome,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum AppImportOutcome {
    Imported {
        tool_count: usize,
        /// `None` if the app keeps its key.
        #[serde(skip_serializing_if = "Option::is_none")]
        api_key: Option<String>,
        signing_secret: String,
    },
    WouldImport {
        tool_count: usize,
    },
    SkippedExists,
    Failed {
        reasons: Vec<String>,
    },
}

impl RenderText for AppImportLine {
    fn render_text(&self) -> String {
        let name = self.package_name.as_ref().map_or("?", PackageName::as_str);
        let said = match &self.outcome {
            AppImportOutcome::Imported { tool_count, api_key, signing_secret } => {
                let key = match api_key {
                    Some(api_key) => format!("API key {api_key}"),
                    None => "it keeps its API key".to_owned(),
                };
                format!("imported {name} with {tool_count} tools; {key}, signing secret {signing_secret}")
            }
            AppImportOutcome::WouldImport { tool_count } => {
                format!("would import {name} with {tool_count} tools")
            }
            AppImportOutcome::SkippedExists => format!("skipped {name}: it is already registered"),
            AppImportOutcome::Failed { reasons } => format!("failed {name}: {}", reasons.join("; ")),
        };
        format!("line {}: {}", self.line, text::sanitize_line(&said))
    }
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct AppImportSummary {
    imported: u64,
    skipped: u64,
    failed: u64,
    dry_run: bool,
}

impl AppImportSummary {
    fn count_outcome(&mut self, outcome: &AppImportOutcome) {
        let counter = match outcome {
            AppImportOutcome::Imported { .. } | AppImportOutcome::WouldImport { .. } => &mut self.imported,
            AppImportOutcome::SkippedExists => &mut self.skipped,
            AppImportOutcome::Failed { .. } => &mut self.failed,
        };
        *counter += 1;
    }
}

impl RenderText for AppImportSummary {
    fn render_text(&self) -> String {
        let imported = if self.dry_run { "would be imported" } else { "imported" };
        format!("{} {imported}, {} skipped, {} failed", self.imported, self.skipped, self.failed)
    }
}

pub(crate) async fn import_apps(
    cx: &CommandContext,
    args: AppImportArgs,
) -> Result<CommandOutcome, CliError> {
    let unreadable = |error| CliError::Unreadable { file: args.file.clone(), error };
    let client = if args.dry_run { None } else { Some(cx.client()?) };
    let file = File::open(&args.file).await.map_err(unreadable)?;
    let mut lines = BoundedLines::new(file, MAX_LINE_BYTES);
    let (mut number, mut summary) =
        (0, AppImportSummary { dry_run: args.dry_run, ..AppImportSummary::default() });
    while let Some(line) = lines.next().await.map_err(unreadable)? {
        number += 1;
        if matches!(&line, BoundedLine::Text(text) if text.trim().is_empty()) {
            continue;
        }
        let (package_name, outcome) = import_line(client.as_ref(), &line, args.legacy).await?;
        summary.count_outcome(&outcome);
        cx.output.print_result(&AppImportLine { line: number, package_name, outcome })?;
    }
    cx.output.print_result(&summary)?;
    Ok(if summary.failed == 0 { CommandOutcome::Success } else { CommandOutcome::Failure })
}

/// Imports one line. Returns an error only if every further line would fail as well.
async fn import_line(
    client: Option<&ApiClient>,
    line: &BoundedLine,
    legacy: bool,
) -> Result<(Option<PackageName>, AppImportOutcome), CliError> {
    let document = match read_app_document(line) {
        Ok(document) => document,
        Err(problems) => {
            let reasons = problems.iter().map(text::format_problem).collect();
            return Ok((None, AppImportOutcome::Failed { reasons }));
        }
    };
    let (package, tools) = (document.package_name.clone(), tool_definitions(&document));
    let outcome = match (ToolDefinition::parse_set(&tools), client) {
        (Err(problems), _) => {
            AppImportOutcome::Failed { reasons: problems.iter().map(text::format_problem).collect() }
        }
        (Ok(_), None) => AppImportOutcome::WouldImport { tool_count: tools.len() },
        (Ok(_), Some(client)) => register_app(client, &document, &tools, legacy).await?,
    };
    Ok((Some(package), outcome))
}

fn read_app_document(line: &BoundedLine) -> Result<AppDocument, Vec<Problem>> {
    match line {
        BoundedLine::Text(text) => AppDocument::parse(text),
        BoundedLine::TooLong => {
            Err(vec![Problem::new("", format!("the line is longer than {MAX_LINE_BYTES} bytes"))])
        }
    }
}

fn tool_definitions(document: &AppDocument) -> Vec<Box<RawValue>> {
    document.tools.iter().map(|tool| to_raw(&tool.to_definition())).collect()
}

async fn register_app(
    client: &ApiClient,
    document: &AppDocument,
    tools: &[Box<RawValue>],
    legacy: bool,
) -> Result<AppImportOutcome, CliError> {
    let details = AppDetails {
        name: document.name.clone(),
        description: document.description.clone(),
        public_url: document.public_url.clone(),
        app_type: document.app_type,
        permissions: document.permissions.clone(),
        hardware_requirements: document.hardware_requirements.clone(),
        settings: document.settings.clone(),
        legacy,
        ..AppDetails::default()
    };
    let body = NewAppBody {
        package_name: &document.package_name,
        // Apps of the older platform hold a connection to the server.
        details: app_detail_fields(&details, Some(AppKind::Session)),
        api_key_hash: document.hashed_api_key.as_ref().map(SecretText::expose).filter(|hash| is_sha256(hash)),
        tools,
        items: &AppItems::default(),
    };
    match client.post::<_, AppCreated>("api/apps", &body).await {
        Ok(AppCreated { api_key, signing_secret, .. }) => {
            let api_key = Some(api_key).filter(|key| !key.is_empty());
            Ok(AppImportOutcome::Imported { tool_count: tools.len(), api_key, signing_secret })
        }
        Err(CliError::Refused(refused)) if refused.is_conflict() => Ok(AppImportOutcome::SkippedExists),
        Err(CliError::Refused(refused)) => {
            let problems = refused.problems.iter().map(text::format_problem);
            Ok(AppImportOutcome::Failed {
                reasons: std::iter::once(refused.to_string()).chain(problems).collect(),
            })
        }
        Err(error) => Err(error),
    }
}

/// Whether a text is a SHA-256 in hex. Other values in the document are not hashes of a key.
fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_over_the_limit_fails_alone() {
        let long = format!("{{\"packageName\":\"com.ex\",\"x\":\"{}\"}}\n", "x".repeat(MAX_LINE_BYTES));
        let text = format!("{long}{}", r#"{"packageName":"com.ex"}"#);
        let mut lines = BoundedLines::new(text.as_bytes(), MAX_LINE_BYTES);
        let mut outcomes = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            outcomes.push(import_line(None, &line, false).await.unwrap().1);
        }
        assert!(
            matches!(
                &outcomes[..],
                [AppImportOutcome::Failed { .. }, AppImportOutcome::WouldImport { tool_count: 0 }]
            ),
            "{outcomes:?}"
        );
    }
}
