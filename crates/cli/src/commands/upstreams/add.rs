//! `toolyard upstreams add`: adds an MCP server, over HTTP or as a command that the server runs.

use clap::{Args, value_parser};
use serde::Serialize;
use toolyard_protocol::{
    tool::Category,
    upstream::{UpstreamAuth, UpstreamDetails, UpstreamState, UpstreamSummary},
};

use super::{create_upstream, formatting, parse_upstream_id, refresh_upstream, test::UpstreamTestOutput};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText};

const HELP: &str = "\
${NAME} in a header or variable is replaced by that variable of the server's environment, so secrets stay on the server.
A command inherits only PATH and HOME; pass other variables with --env.

Examples:
  toolyard upstreams add github --url https://api.example.com/mcp --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  toolyard upstreams add notes --url https://notes.example.com/mcp --oauth --for-all
  toolyard upstreams add files --env LOG=debug --env API_KEY -- npx -y @modelcontextprotocol/server-filesystem /srv
  toolyard upstreams add shop --url https://shop.example.com/mcp --exclude 'delete_*' --rename find=search_shop";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UpstreamsAddArgs {
    /// Id of the upstream; the tools of `github` belong to the package `mcp.github`
    #[arg(value_parser = parse_upstream_id)]
    id: String,
    /// URL of an MCP server over HTTP
    #[arg(long, conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// A header for every request; can be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header, conflicts_with = "command")]
    headers: Vec<(String, String)>,
    /// Each user authorizes the upstream with OAuth
    #[arg(long, conflicts_with = "command")]
    oauth: bool,
    /// OAuth: the client id, if you registered one manually
    #[arg(long, requires = "oauth")]
    client_id: Option<String>,
    /// OAuth: the client secret; use ${NAME} to keep it in the server's environment
    #[arg(long, requires = "client_id")]
    client_secret: Option<String>,
    /// OAuth: a scope to request; can be repeated
    #[arg(long = "scope", value_name = "SCOPE", requires = "oauth")]
    scopes: Vec<String>,
    /// An environment variable for the command; NAME alone takes it from the server's environment. Can be repeated
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = parse_variable, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// Working folder of the command
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// Start one process per user instead of one for all
    #[arg(long, conflicts_with = "url")]
    per_user: bool,
    /// All users have it, without installing it
    #[arg(long)]
    for_all: bool,
    /// Only tools, prompts and resources whose name matches this pattern with `*` and `?`; can be repeated
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Leave out what matches this pattern; can be repeated
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Rename a tool; can be repeated
    #[arg(long, value_name = "FROM=TO", value_parser = parse_rename)]
    rename: Vec<(String, String)>,
    /// Category of its tools: productivity, media, communication, utility or other
    #[arg(long)]
    category: Option<Category>,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// What the upstream does, for people
    #[arg(long)]
    description: Option<String>,
    /// Timeout of a call, in milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// The command that the server runs, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let pair = pair.filter(|(name, _)| name.parse::<http::HeaderName>().is_ok());
    let (name, value) = pair.ok_or("expected NAME: VALUE, such as 'Authorization: Bearer ${TOKEN}'")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A name alone is the variable of that name in the server's environment.
fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (text, format!("${{{text}}}")),
    };
    let fits = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    if fits { Ok((name.to_owned(), value)) } else { Err("expected NAME=VALUE or NAME".to_owned()) }
}

fn parse_rename(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(from, to)| !from.is_empty() && !to.is_empty());
    let (from, to) = pair.ok_or("expected FROM=TO, such as find=search_shop")?;
    Ok((from.to_owned(), to.to_owned()))
}

impl UpstreamsAddArgs {
    fn into_details(self) -> UpstreamDetails {
        let mut command = self.command.into_iter();
        UpstreamDetails {
            name: self.name.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            url: self.url,
            headers: self.headers.into_iter().collect(),
            auth: if self.oauth { UpstreamAuth::OAuth } else { UpstreamAuth::Headers },
            client_id: self.client_id,
            client_secret: self.client_secret,
            scopes: self.scopes,
            command: command.next(),
            args: command.collect(),
            env: self.env.into_iter().collect(),
            cwd: self.cwd,
            per_user: self.per_user,
            for_all: self.for_all,
            include: self.include,
            exclude: self.exclude,
            rename: self.rename.into_iter().collect(),
            category: self.category,
            call_timeout_ms: self.timeout_ms,
            ..UpstreamDetails::default()
        }
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct UpstreamAddedOutput(UpstreamSummary);

impl RenderText for UpstreamAddedOutput {
    fn render_text(&self) -> String {
        let upstream = &self.0;
        let mut lines =
            vec![format!("added {}", upstream.id), UpstreamTestOutput(upstream.clone()).render_text()];
        if !upstream.details.for_all && upstream.status.state != UpstreamState::Down {
            lines.push(format!("next: toolyard apps install {} --user NAME", upstream.package_name));
        }
        lines.join("\n")
    }
}

pub(super) async fn add_upstream(
    cx: &CommandContext,
    args: UpstreamsAddArgs,
) -> Result<CommandOutcome, CliError> {
    let (client, id) = (cx.client()?, args.id.clone());
    let details = args.into_details();
    // A command runs on the server, so it is shown in full before it is added.
    cx.output.print_note(&formatting::connection_preview(&details));
    let created = create_upstream(&client, &id, &details).await?;
    let refreshed = match refresh_upstream(&client, &id).await {
        Ok(refreshed) => refreshed,
        Err(error) => {
            cx.output.print_note(&format!("the upstream was added, but its status is not known: {error}"));
            created
        }
    };
    cx.output.print_result(&UpstreamAddedOutput(refreshed))?;
    Ok(CommandOutcome::Success)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: UpstreamsAddArgs,
    }

    fn parse(line: &[&str]) -> Result<serde_json::Value, clap::Error> {
        let line = Line::try_parse_from([&["add"], line].concat())?;
        Ok(serde_json::to_value(line.args.into_details()).unwrap())
    }

    #[test]
    fn every_flag_reaches_the_upstream() {
        let line = [
            "x",
            "--env",
            "A=b=c",
            "--env",
            "KEY",
            "--cwd",
            "/srv",
            "--per-user",
            "--for-all",
            "--include",
            "a*",
            "--exclude",
            "b",
            "--rename",
            "c=d",
            "--category",
            "media",
            "--name",
            "N",
            "--description",
            "D",
            "--timeout-ms",
            "5",
            "--",
            "npx",
            "-y",
            "--header",
        ];
        let expected = serde_json::json!({
            "name": "N", "description": "D", "auth": "headers", "command": "npx", "args": ["-y", "--header"],
            "env": { "A": "b=c", "KEY": "${KEY}" }, "cwd": "/srv", "perUser": true, "forAll": true,
            "include": ["a*"], "exclude": ["b"], "rename": { "c": "d" }, "category": "media", "callTimeoutMs": 5,
        });
        assert_eq!(parse(&line).unwrap(), expected);
        let line = [
            "x",
            "--url",
            "https://u",
            "--header",
            "X-A: b: c",
            "--oauth",
            "--client-id",
            "i",
            "--client-secret",
            "${S}",
            "--scope",
            "one",
            "--scope",
            "two",
        ];
        let expected = serde_json::json!({
            "url": "https://u", "headers": { "X-A": "b: c" }, "auth": "oauth", "clientId": "i",
            "clientSecret": "${S}", "scopes": ["one", "two"], "perUser": false, "forAll": false,
        });
        assert_eq!(parse(&line).unwrap(), expected);
    }

    #[test]
    fn conflicting_flags_are_refused() {
        for line in [
            &["x"][..],
            &["x", "--url", "u", "--", "npx"],
            &["x", "--url", "u", "--env", "A"],
            &["x", "--url", "u", "--per-user"],
            &["x", "--header", "A: b", "--", "npx"],
            &["x", "--oauth", "--", "npx"],
            &["x", "--url", "u", "--scope", "s"],
            &["x", "--url", "u", "--oauth", "--client-secret", "s"],
            &["x", "--url", "u", "--header", "no colon"],
            &["x", "--url", "u", "--rename", "a"],
            &["x", "--url", "u", "--timeout-ms", "0"],
            &["x", "--env", "=v", "--", "npx"],
            &["Not One", "--url", "u"],
            &["../apps", "--url", "u"],
        ] {
            assert!(parse(line).is_err(), "{line:?}");
        }
    }
}
