//! `toolyard upstreams`: external MCP servers as sources of tools.

mod add;
mod authorize;
pub(crate) mod formatting;
mod import;
mod ls;
mod rm;
mod show;
mod test;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use toolyard_protocol::upstream::{MAX_ID_CHARS, UpstreamDetails, UpstreamSummary, upstream_package};

use super::CommandOutcome;
use crate::{cli::CommandContext, client::ApiClient, error::CliError};

/// Timeout for refreshing an upstream: the server may have to start a process and read all its lists.
const LISTS_WAIT: Duration = Duration::from_secs(120);

const HELP: &str = "\
The tools of the upstream `github` belong to the app `mcp.github`. Each user installs it, unless it was added --for-all.

Examples:
  toolyard upstreams add github --url https://api.example.com/mcp --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  toolyard upstreams add files --for-all -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  toolyard upstreams import ~/.cursor/mcp.json --dry-run
  toolyard upstreams test github";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum UpstreamsCommand {
    /// Add an MCP server, over HTTP or as a command, and list its tools
    Add(Box<add::UpstreamsAddArgs>),
    /// List the upstreams that you can see and change
    #[command(after_help = "Examples:\n  toolyard upstreams ls\n  toolyard upstreams ls --json")]
    Ls,
    /// Show one upstream and its status
    #[command(after_help = "Examples:\n  toolyard upstreams show github")]
    Show(UpstreamIdArg),
    /// Remove an upstream with its installs and authorizations
    #[command(after_help = "Examples:\n  toolyard upstreams rm github --yes")]
    Rm(rm::UpstreamsRmArgs),
    /// Check an upstream now; exits with 1 if it is not up
    #[command(after_help = "Examples:\n  toolyard upstreams test github && echo it is up")]
    Test(UpstreamIdArg),
    /// Add the MCP servers of another client's configuration file
    Import(import::UpstreamsImportArgs),
    /// Print the link with which the user authorizes an upstream, or remove the authorization
    Authorize(authorize::AuthorizeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct UpstreamIdArg {
    /// The upstream, such as github
    #[arg(value_parser = parse_upstream_id)]
    id: String,
}

/// Parses the id of an upstream. Checked here, because it becomes part of a path.
fn parse_upstream_id(text: &str) -> Result<String, String> {
    match upstream_package(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "expected 1 to {MAX_ID_CHARS} of a-z, 0-9, `.`, `_`, `-`, starting with a letter or digit"
        )),
    }
}

/// Body of `POST /api/upstreams`.
#[derive(Serialize)]
struct UpstreamCreateRequest<'a> {
    id: &'a str,
    #[serde(flatten)]
    details: &'a UpstreamDetails,
}

/// Response of `GET /api/upstreams`.
#[derive(Serialize, Deserialize)]
pub(crate) struct UpstreamsOutput {
    pub(crate) upstreams: Vec<UpstreamSummary>,
}

fn upstream_path(id: &str) -> String {
    format!("api/upstreams/{id}")
}

async fn create_upstream(
    client: &ApiClient,
    id: &str,
    details: &UpstreamDetails,
) -> Result<UpstreamSummary, CliError> {
    client.post("api/upstreams", &UpstreamCreateRequest { id, details }).await
}

/// Has the server refresh the upstream now.
async fn refresh_upstream(client: &ApiClient, id: &str) -> Result<UpstreamSummary, CliError> {
    client
        .post_empty_within(&format!("{}/refresh", upstream_path(id)), LISTS_WAIT)
        .await
        .map_err(with_upstream_hint)
}

/// Points to the list of upstreams if one was not found.
fn with_upstream_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .with_not_found_hint("`toolyard upstreams ls` lists the upstreams that you can see and change")
            .into(),
        error => error,
    }
}

pub(crate) async fn run_upstreams_command(
    cx: &CommandContext,
    command: UpstreamsCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        UpstreamsCommand::Add(args) => add::add_upstream(cx, *args).await,
        UpstreamsCommand::Ls => ls::list_upstreams(cx).await,
        UpstreamsCommand::Show(args) => show::show_upstream(cx, &args).await,
        UpstreamsCommand::Rm(args) => rm::remove_upstream(cx, args).await,
        UpstreamsCommand::Test(args) => test::test_upstream(cx, &args).await,
        UpstreamsCommand::Import(args) => import::import_upstreams(cx, &args).await,
        UpstreamsCommand::Authorize(args) => authorize::authorize_upstream(cx, args).await,
    }
}
