//! `toolyard upstreams`: MCP servers in the world as sources of tools.

mod add;
mod authorize;
mod import;
mod ls;
mod rm;
mod show;
mod test;
pub(crate) mod words;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use toolyard_protocol::upstream::{MAX_ID_CHARS, UpstreamDetails, UpstreamSummary, package_of};

use super::Verdict;
use crate::{cli::Context, client::Client, error::CliError};

/// How long the server may take to ask an upstream: the start of a process, and all its lists.
const LISTS_WAIT: Duration = Duration::from_secs(120);

const HELP: &str = "\
The tools of the upstream `github` belong to the app `mcp.github`: each user installs it, or it is added --for-all.

Examples:
  toolyard upstreams add github --url https://api.example.com/mcp --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  toolyard upstreams add files --for-all -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  toolyard upstreams import ~/.cursor/mcp.json --dry-run
  toolyard upstreams test github";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum UpstreamsCommand {
    /// Add an MCP server, over HTTP or as a command, and read what it offers
    Add(Box<add::AddArgs>),
    /// List the upstreams that you may see and change
    #[command(after_help = "Examples:\n  toolyard upstreams ls\n  toolyard upstreams ls --json")]
    Ls,
    /// Show one upstream and how it is doing
    #[command(after_help = "Examples:\n  toolyard upstreams show github")]
    Show(IdArg),
    /// Remove an upstream with everything that hangs on it
    #[command(after_help = "Examples:\n  toolyard upstreams rm github --yes")]
    Rm(rm::RmArgs),
    /// Ask an upstream now; ends with 1 if it is not up
    #[command(after_help = "Examples:\n  toolyard upstreams test github && echo it is up")]
    Test(IdArg),
    /// Add the servers of a file in which an MCP client keeps them
    Import(import::ImportArgs),
    /// Print the link with which the user authorizes an upstream
    Authorize(authorize::AuthorizeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct IdArg {
    /// The upstream, such as github
    #[arg(value_parser = id)]
    id: String,
}

/// The id of an upstream. Checked here, because it becomes part of a path.
fn id(text: &str) -> Result<String, String> {
    match package_of(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "expected 1 to {MAX_ID_CHARS} of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit"
        )),
    }
}

/// Body of `POST /api/upstreams`.
#[derive(Serialize)]
struct NewUpstream<'a> {
    id: &'a str,
    #[serde(flatten)]
    details: &'a UpstreamDetails,
}

/// Answer of `GET /api/upstreams`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Upstreams {
    pub(crate) upstreams: Vec<UpstreamSummary>,
}

fn path(id: &str) -> String {
    format!("api/upstreams/{id}")
}

async fn create(client: &Client, id: &str, details: &UpstreamDetails) -> Result<UpstreamSummary, CliError> {
    client.post("api/upstreams", &NewUpstream { id, details }).await
}

/// Asks the upstream now.
async fn refresh(client: &Client, id: &str) -> Result<UpstreamSummary, CliError> {
    client.make_within(&format!("{}/refresh", path(id)), LISTS_WAIT).await.map_err(missing)
}

/// What is not found stands in another list than apps.
fn missing(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .listed_by("`toolyard upstreams ls` lists the upstreams that you may see and change")
            .into(),
        error => error,
    }
}

pub(crate) async fn run(cx: &Context, command: UpstreamsCommand) -> Result<Verdict, CliError> {
    match command {
        UpstreamsCommand::Add(args) => add::run(cx, *args).await,
        UpstreamsCommand::Ls => ls::run(cx).await,
        UpstreamsCommand::Show(args) => show::run(cx, &args).await,
        UpstreamsCommand::Rm(args) => rm::run(cx, args).await,
        UpstreamsCommand::Test(args) => test::run(cx, &args).await,
        UpstreamsCommand::Import(args) => import::run(cx, &args).await,
        UpstreamsCommand::Authorize(args) => authorize::run(cx, args).await,
    }
}
