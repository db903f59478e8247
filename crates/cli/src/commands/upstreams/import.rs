//! `toolyard upstreams import`: the servers of a client's file. One bad server does not stop the others.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use toolyard_protocol::upstream::{UpstreamAuth, UpstreamDetails, UpstreamState, UpstreamSummary};

use super::{create, path, refresh, words};
use crate::{
    cli::Context,
    client::Client,
    client_file::{self, Entry, Found, Upstream},
    commands::Verdict,
    error::CliError,
    output::Show,
    text,
};

const HELP: &str = "\
FILE is where an MCP client keeps its servers: `mcpServers` (Claude, Cursor, Windsurf and others) or `servers` (VS Code),
with comments and trailing commas or without. ${env:NAME} and ${NAME} stand for the environment of the Toolyard server.
A server that wants its users to authorize is set up so, as clients do. With --json each line is one JSON object, the
last one a summary.

Examples:
  toolyard upstreams import ~/.cursor/mcp.json --dry-run
  toolyard upstreams import .vscode/mcp.json --for-all
  toolyard upstreams import claude_desktop_config.json --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ImportArgs {
    /// The file
    file: PathBuf,
    /// Read and show everything, add nothing
    #[arg(long)]
    dry_run: bool,
    /// Everybody has them, without installing them
    #[arg(long)]
    for_all: bool,
}

/// What became of one server.
#[derive(Debug, Serialize)]
struct Imported {
    name: String,
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
enum Outcome {
    Added(Box<UpstreamSummary>),
    WouldAdd { id: String, details: Box<UpstreamDetails> },
    SkippedExists { id: String },
    SkippedDisabled,
    Failed { reasons: Vec<String> },
}

impl Show for Imported {
    fn text(&self) -> String {
        let said = match &self.outcome {
            Outcome::Added(upstream) => {
                let next = words::next(upstream).map(|next| format!("; {next}")).unwrap_or_default();
                format!("added ({}); {}{next}", words::place(&upstream.details), words::doing(upstream))
            }
            Outcome::WouldAdd { id, details } => {
                format!("would be added as {id} ({})", words::place(details))
            }
            Outcome::SkippedExists { id } => format!("skipped: there is an upstream {id} already"),
            Outcome::SkippedDisabled => "skipped: it is switched off in the file".to_owned(),
            Outcome::Failed { reasons } => format!("failed: {}", reasons.join("; ")),
        };
        let lines =
            std::iter::once(said).chain(self.remarks.iter().map(|remark| format!("warning: {remark}")));
        lines.map(|said| text::line(&format!("{}: {said}", self.name))).collect::<Vec<_>>().join("\n")
    }
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    added: u64,
    skipped: u64,
    failed: u64,
    dry_run: bool,
}

impl Summary {
    fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Added(_) | Outcome::WouldAdd { .. } => &mut self.added,
            Outcome::SkippedExists { .. } | Outcome::SkippedDisabled => &mut self.skipped,
            Outcome::Failed { .. } => &mut self.failed,
        };
        *counter += 1;
    }
}

impl Show for Summary {
    fn text(&self) -> String {
        let added = if self.dry_run { "would be added" } else { "added" };
        format!("{} {added}, {} skipped, {} failed", self.added, self.skipped, self.failed)
    }
}

pub(super) async fn run(cx: &Context, args: &ImportArgs) -> Result<Verdict, CliError> {
    let client = if args.dry_run { None } else { Some(cx.client()?) };
    let mut summary = Summary { dry_run: args.dry_run, ..Summary::default() };
    for Entry { name, found } in client_file::open(&args.file)? {
        let (outcome, remarks) = match found {
            Found::Disabled => (Outcome::SkippedDisabled, Vec::new()),
            Found::Bad(why) => (Outcome::Failed { reasons: vec![why] }, Vec::new()),
            Found::Upstream(upstream) => {
                let Upstream { id, mut details, remarks } = *upstream;
                details.for_all = args.for_all;
                let outcome = match &client {
                    None => Outcome::WouldAdd { id, details: Box::new(hidden(details)) },
                    Some(client) => add(client, id, &details).await?,
                };
                (outcome, remarks)
            }
        };
        summary.count(&outcome);
        cx.output.show(&Imported { name, outcome, remarks })?;
    }
    cx.output.show(&summary)?;
    Ok(if summary.failed == 0 { Verdict::Good } else { Verdict::Bad })
}

/// What may be shown: values that name no variable may be secret.
fn hidden(mut details: UpstreamDetails) -> UpstreamDetails {
    let values =
        details.env.values_mut().chain(details.headers.values_mut()).chain(&mut details.client_secret);
    for value in values.filter(|value| !value.contains("${")) {
        "(hidden)".clone_into(value);
    }
    details
}

/// One server. An error here is one that would meet every further server as well.
async fn add(client: &Client, id: String, details: &UpstreamDetails) -> Result<Outcome, CliError> {
    let created = match create(client, &id, details).await {
        Ok(created) => created,
        Err(CliError::Refused(refused)) if refused.is_conflict() => return Ok(Outcome::SkippedExists { id }),
        Err(CliError::Refused(refused)) => {
            let problems = refused.problems.iter().map(text::problem);
            let reasons = std::iter::once(refused.to_string()).chain(problems).collect();
            return Ok(Outcome::Failed { reasons });
        }
        Err(error) => return Err(error),
    };
    // It was added: whatever goes wrong from here on is no reason to say otherwise.
    let asked = refresh(client, &id).await.unwrap_or(created);
    Ok(Outcome::Added(Box::new(with_oauth(client, asked).await)))
}

/// A file says nothing of OAuth where the client finds out by itself. So do we, unless it has a credential of its own.
async fn with_oauth(client: &Client, upstream: UpstreamSummary) -> UpstreamSummary {
    let details = &upstream.details;
    let has_credential = details.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    let wanted = upstream.status.state == UpstreamState::NeedsAuthorization
        && details.auth == UpstreamAuth::Headers
        && !has_credential;
    if !wanted {
        return upstream;
    }
    let changed = client.patch::<_, UpstreamSummary>(&path(&upstream.id), &json!({ "auth": "oauth" })).await;
    match changed {
        // A changed upstream is asked anew; what we know of it still holds.
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
        let shown = serde_json::to_string(&hidden(details)).unwrap();
        assert!(!shown.contains("s3cret") && shown.contains("${B}"), "{shown}");
    }
}
