//! `toolyard upstreams show`

use std::collections::BTreeMap;

use serde::Serialize;
use toolyard_protocol::upstream::{UpstreamAuth, UpstreamSummary};

use super::{UpstreamIdArg, formatting, upstream_path, with_upstream_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

#[derive(Serialize)]
#[serde(transparent)]
struct UpstreamDetailsOutput(UpstreamSummary);

fn join_pairs(pairs: &BTreeMap<String, String>, between: &str) -> String {
    pairs.iter().map(|(name, value)| format!("{name}{between}{value}")).collect::<Vec<_>>().join(", ")
}

fn audience(upstream: &UpstreamSummary) -> &'static str {
    match (upstream.details.for_all, upstream.managed) {
        (true, true) => "all users; from the configuration file",
        (true, false) => "all users",
        (false, true) => "users who install it; from the configuration file",
        (false, false) => "users who install it",
    }
}

impl RenderText for UpstreamDetailsOutput {
    fn render_text(&self) -> String {
        let Self(upstream) = self;
        let (details, status) = (&upstream.details, &upstream.status);
        let auth = match details.auth {
            UpstreamAuth::Headers => "headers",
            UpstreamAuth::OAuth => "OAuth, by each user",
        };
        let rows = [
            ("id", upstream.id.clone()),
            ("package", upstream.package_name.to_string()),
            ("name", details.name.clone()),
            ("description", text::first_line(&details.description, 100)),
            ("where", formatting::format_location(details)),
            ("folder", details.cwd.clone().unwrap_or_default()),
            ("variables", join_pairs(&details.env, "=")),
            ("headers", join_pairs(&details.headers, ": ")),
            ("authorization", if details.url.is_some() { auth.to_owned() } else { String::new() }),
            ("processes", if details.per_user { "one per user".to_owned() } else { String::new() }),
            ("available to", audience(upstream).to_owned()),
            ("include", details.include.join(", ")),
            ("exclude", details.exclude.join(", ")),
            ("renamed", join_pairs(&details.rename, " to ")),
            ("timeout", details.call_timeout_ms.map(|ms| format!("{ms} ms")).unwrap_or_default()),
            ("owner", upstream.owner.clone()),
            ("state", formatting::state_label(status.state).to_owned()),
            ("problem", status.problem.clone().unwrap_or_default()),
            ("MCP revision", status.revision.clone().unwrap_or_default()),
            ("offers", formatting::format_counts(status)),
            ("listed", status.listed_at.clone().unwrap_or_else(|| "never".to_owned())),
        ];
        let filled = rows.into_iter().filter(|(_, value)| !value.is_empty());
        let rows: Vec<_> = filled.map(|(name, value)| [name.to_owned(), value]).collect();
        let mut lines = vec![text::format_table(&rows)];
        lines.extend(formatting::format_set_aside(status));
        lines.extend(
            formatting::next_step(upstream).map(|next| format!("next: {}", text::sanitize_line(&next))),
        );
        lines.join("\n")
    }
}

pub(super) async fn show_upstream(
    cx: &CommandContext,
    args: &UpstreamIdArg,
) -> Result<CommandOutcome, CliError> {
    let upstream: UpstreamSummary =
        cx.client()?.get(&upstream_path(&args.id)).await.map_err(with_upstream_hint)?;
    cx.output.print_result(&UpstreamDetailsOutput(upstream))?;
    Ok(CommandOutcome::Success)
}
