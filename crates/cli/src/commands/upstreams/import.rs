//! `toolyard upstreams import`: adds the servers of a client file. An invalid server does not stop the import.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolyard_protocol::upstream::{UpstreamAuth, UpstreamDetails, UpstreamState, UpstreamSummary};

use super::{create_upstream, formatting, refresh_upstream, upstream_path};
use crate::{
    cli::CommandContext,
    client::ApiClient,
    client_file::{self, EntryOutcome, FileEntry, FileUpstream},
    commands::CommandOutcome,
    error::CliError,
    output::RenderText,
    text,
};

const HELP: &str = "\
FILE is the file in which an MCP client keeps its servers, as `mcpServers` (Claude, Cursor, Windsurf and others) or
`servers` (VS Code); comments and trailing commas are allowed. ${env:NAME} and ${NAME} are variables of the Toolyard
server's environment. Servers that require authorization are added with OAuth. With --json each line is a JSON object,
the last one a summary.

Examples:
  toolyard upstreams import ~/.cursor/mcp.json --dry-run
  toolyard upstreams import .vscode/mcp.json --for-all
  toolyard upstreams import claude_desktop_config.json --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UpstreamsImportArgs {
    /// The client file
    file: PathBuf,
    /// Show what would be added, but add nothing
    #[arg(long)]
    dry_run: bool,
    /// All users have them, without installing them
    #[arg(long)]
    for_all: bool,
}

/// The outcome of one server.
#[derive(Debug, Serialize)]
struct UpstreamImportLine {
    name: String,
    #[serde(flatten)]
    outcome: UpstreamImportOutcome,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
enum UpstreamImportOutcome {
    Added(Box<UpstreamSummary>),
    WouldAdd { id: String, details: Box<UpstreamDetails> },
    SkippedExists { id: String },
    SkippedDisabled,
    Failed { reasons: Vec<String> },
}

impl RenderText for UpstreamImportLine {
    fn render_text(&self) -> String {
        let line = match &self.outcome {
            UpstreamImportOutcome::Added(upstream) => {
                let next =
                    formatting::next_step(upstream).map(|next| format!("; {next}")).unwrap_or_default();
                format!(
                    "added ({}); {}{next}",
                    formatting::format_location(&upstream.details),
                    formatting::format_status(upstream)
                )
            }
            UpstreamImportOutcome::WouldAdd { id, details } => {
                format!("would be added as {id} ({})", formatting::format_location(details))
            }
            UpstreamImportOutcome::SkippedExists { id } => {
                format!("skipped: an upstream {id} already exists")
            }
            UpstreamImportOutcome::SkippedDisabled => "skipped: it is disabled in the file".to_owned(),
            UpstreamImportOutcome::Failed { reasons } => format!("failed: {}", reasons.join("; ")),
        };
        let lines =
            std::iter::once(line).chain(self.remarks.iter().map(|remark| format!("warning: {remark}")));
        lines
            .map(|line| text::sanitize_line(&format!("{}: {line}", self.name)))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct UpstreamImportSummary {
    added: u64,
    skipped: u64,
    failed: u64,
    dry_run: bool,
}

impl UpstreamImportSummary {
    fn count_outcome(&mut self, outcome: &UpstreamImportOutcome) {
        let counter = match outcome {
            UpstreamImportOutcome::Added(_) | UpstreamImportOutcome::WouldAdd { .. } => &mut self.added,
            UpstreamImportOutcome::SkippedExists { .. } | UpstreamImportOutcome::SkippedDisabled => {
                &mut self.skipped
            }
            UpstreamImportOutcome::Failed { .. } => &mut self.failed,
        };
        *counter += 1;
    }
}

impl RenderText for UpstreamImportSummary {
    fn render_text(&self) -> String {
        let added = if self.dry_run { "would be added" } else { "added" };
        format!("{} {added}, {} skipped, {} failed", self.added, self.skipped, self.failed)
    }
}

pub(super) async fn import_upstreams(
    cx: &CommandContext,
    args: &UpstreamsImportArgs,
) -> Result<CommandOutcome, CliError> {
    let client = if args.dry_run { None } else { Some(cx.client()?) };
    let mut summary = UpstreamImportSummary { dry_run: args.dry_run, ..UpstreamImportSummary::default() };
    for FileEntry { name, outcome: found } in client_file::read_client_file(&args.file)? {
        let (outcome, remarks) = match found {
            EntryOutcome::Disabled => (UpstreamImportOutcome::SkippedDisabled, Vec::new()),
            EntryOutcome::Rejected(why) => (UpstreamImportOutcome::Failed { reasons: vec![why] }, Vec::new()),
            EntryOutcome::Upstream(upstream) => {
                let FileUpstream { id, mut details, remarks } = *upstream;
                details.for_all = args.for_all;
                let outcome = match &client {
                    None => UpstreamImportOutcome::WouldAdd { id, details: Box::new(hide_secrets(details)) },
                    Some(client) => import_upstream(client, id, &details).await?,
                };
                (outcome, remarks)
            }
        };
        summary.count_outcome(&outcome);
        cx.output.print_result(&UpstreamImportLine { name, outcome, remarks })?;
    }
    cx.output.print_result(&summary)?;
    Ok(if summary.failed == 0 { CommandOutcome::Success } else { CommandOutcome::Failure })
}

/// Hides values that do not refer to a variable: they may be secret.
fn hide_secrets(mut details: UpstreamDetails) -> UpstreamDetails {
    let values =
        details.env.values_mut().chain(details.headers.values_mut()).chain(&mut details.client_secret);
    for value in values.filter(|value| !value.contains("${")) {
        "(hidden)".clone_into(value);
    }
    details
}

/// Adds one server. Returns an error only if every further server would fail as well.
async fn import_upstream(
    client: &ApiClient,
    id: String,
    details: &UpstreamDetails,
) -> Result<UpstreamImportOutcome, CliError> {
    let created = match create_upstream(client, &id, details).await {
        Ok(created) => created,
        Err(CliError::Refused(refused)) if refused.is_conflict() => {
            return Ok(UpstreamImportOutcome::SkippedExists { id });
        }
        Err(CliError::Refused(refused)) => {
            let problems = refused.problems.iter().map(text::format_problem);
            let reasons = std::iter::once(refused.to_string()).chain(problems).collect();
            return Ok(UpstreamImportOutcome::Failed { reasons });
        }
        Err(error) => return Err(error),
    };
    // The upstream is added. Errors from here on do not change that.
    let refreshed = refresh_upstream(client, &id).await.unwrap_or(created);
    Ok(UpstreamImportOutcome::Added(Box::new(with_oauth(client, refreshed).await)))
}

/// Switches an upstream to OAuth if it requires authorization and has no credential. Client files do not mention OAuth,
/// because clients detect it.
async fn with_oauth(client: &ApiClient, upstream: UpstreamSummary) -> UpstreamSummary {
    let details = &upstream.details;
    let has_credential = details.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    let wanted = upstream.status.state == UpstreamState::NeedsAuthorization
        && details.auth == UpstreamAuth::Headers
        && !has_credential;
    if !wanted {
        return upstream;
    }
    let changed =
        client.patch::<_, UpstreamSummary>(&upstream_path(&upstream.id), &json!({ "auth": "oauth" })).await;
    match changed {
        // The server resets the status of a changed upstream; the one that we know is still right.
        Ok(changed) => UpstreamSummary { status: upstream.status, ..changed },
        Err(_) => upstream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_shows_no_secrets() {
        let details: UpstreamDetails = serde_json::from_value(json!({
            "url": "https://x", "headers": { "A": "s3cret", "B": "${B}" }, "auth": "oauth", "clientSecret": "s3cret",
        }))
        .unwrap();
        let shown = serde_json::to_string(&hide_secrets(details)).unwrap();
        assert!(!shown.contains("s3cret") && shown.contains("${B}"), "{shown}");
    }
}
