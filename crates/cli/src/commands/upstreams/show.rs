//! `toolyard upstreams show`

use std::collections::BTreeMap;

use serde::Serialize;
use toolyard_protocol::upstream::{UpstreamAuth, UpstreamSummary};

use super::{IdArg, missing, path, words};
use crate::{cli::Context, commands::Verdict, error::CliError, output::Show, text};

#[derive(Serialize)]
#[serde(transparent)]
struct Shown(UpstreamSummary);

fn pairs(pairs: &BTreeMap<String, String>, between: &str) -> String {
    pairs.iter().map(|(name, value)| format!("{name}{between}{value}")).collect::<Vec<_>>().join(", ")
}

fn who(upstream: &UpstreamSummary) -> &'static str {
    match (upstream.details.for_all, upstream.managed) {
        (true, true) => "everybody; from the configuration file",
        (true, false) => "everybody",
        (false, true) => "whoever installs it; from the configuration file",
        (false, false) => "whoever installs it",
    }
}

impl Show for Shown {
    fn text(&self) -> String {
        let Self(upstream) = self;
        let (details, status) = (&upstream.details, &upstream.status);
        let auth = match details.auth {
            UpstreamAuth::Headers => "by its headers",
            UpstreamAuth::OAuth => "each user, by OAuth",
        };
        let rows = [
            ("id", upstream.id.clone()),
            ("package", upstream.package_name.to_string()),
            ("name", details.name.clone()),
            ("description", text::first_line(&details.description, 100)),
            ("where", words::place(details)),
            ("folder", details.cwd.clone().unwrap_or_default()),
            ("variables", pairs(&details.env, "=")),
            ("headers", pairs(&details.headers, ": ")),
            ("authorized", if details.url.is_some() { auth.to_owned() } else { String::new() }),
            ("processes", if details.per_user { "one for each user".to_owned() } else { String::new() }),
            ("for", who(upstream).to_owned()),
            ("only", details.include.join(", ")),
            ("without", details.exclude.join(", ")),
            ("renamed", pairs(&details.rename, " to ")),
            ("timeout", details.call_timeout_ms.map(|ms| format!("{ms} ms")).unwrap_or_default()),
            ("owner", upstream.owner.clone()),
            ("state", words::state(status.state).to_owned()),
            ("problem", status.problem.clone().unwrap_or_default()),
            ("speaks", status.revision.clone().unwrap_or_default()),
            ("offers", words::counts(status)),
            ("listed", status.listed_at.clone().unwrap_or_else(|| "never".to_owned())),
        ];
        let said = rows.into_iter().filter(|(_, value)| !value.is_empty());
        let rows: Vec<_> = said.map(|(name, value)| [name.to_owned(), value]).collect();
        let mut lines = vec![text::table(&rows)];
        lines.extend(words::set_aside(status));
        lines.extend(words::next(upstream).map(|next| format!("next: {}", text::line(&next))));
        lines.join("\n")
    }
}

pub(super) async fn run(cx: &Context, args: &IdArg) -> Result<Verdict, CliError> {
    let upstream: UpstreamSummary = cx.client()?.get(&path(&args.id)).await.map_err(missing)?;
    cx.output.show(&Shown(upstream))?;
    Ok(Verdict::Good)
}
