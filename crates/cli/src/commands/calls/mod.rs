//! `toolyard calls`: lists recorded calls, newest first, shows one, or prints calls as they finish.

mod follow;

use clap::Args;
use serde::Serialize;
use toolyard_protocol::{
    CallId, PackageName,
    api::{CallPage, CallSummary},
};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError, output::RenderText, text};

/// Longest tool name in the table, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Most calls per page of the server.
const MAX_PAGE: u32 = 200;

const HELP: &str = "\
You see your own calls. Operators see the calls of all users, or of one user with --user. Developers see the calls to
their apps with --of-apps, without the users. With --json --follow each call is one line of JSON.

Examples:
  toolyard calls --user ada@example.com
  toolyard calls --outcome TIMEOUT --since 2026-11-16T00:00:00Z
  toolyard calls --follow
  toolyard calls 0198c2f5b1e07d7c9f3a52c1d4e6f708";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CallsArgs {
    /// Show this call, with the duration of each step
    #[arg(value_name = "ID", conflicts_with_all = ["tool", "app", "outcome", "since", "limit", "follow"])]
    id: Option<CallId>,
    /// Only calls of this tool, by its canonical name package:tool
    #[arg(long)]
    tool: Option<String>,
    /// Only calls of this app
    #[arg(long, value_name = "PACKAGE")]
    app: Option<PackageName>,
    /// Only calls with this outcome: OK, or an error code such as TIMEOUT
    #[arg(long)]
    outcome: Option<String>,
    /// Only calls since this time, such as 2026-11-16T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<jiff::Timestamp>,
    /// Most calls to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=MAX_PAGE as i64))]
    limit: u32,
    /// Show the calls to your apps, without the users
    #[arg(long)]
    of_apps: bool,
    /// Print calls as they finish, until Ctrl-C
    #[arg(long, short, conflicts_with_all = ["since", "limit"])]
    follow: bool,
}

impl CallsArgs {
    /// Whether a call of the stream passes the filters.
    fn matches(&self, call: &CallSummary) -> bool {
        let package = call.tool.split_once(':').map_or("", |(package, _)| package);
        self.tool.as_deref().is_none_or(|tool| tool == call.tool)
            && self.app.as_ref().is_none_or(|app| app.as_str() == package)
            && self.outcome.as_deref().is_none_or(|outcome| outcome == call.outcome)
    }

    /// The query of the request. `user` restricts what an operator sees.
    fn query_string(&self, cx: &CommandContext, filters: &[(&str, Option<String>)]) -> String {
        let user = cx.user().filter(|_| !self.of_apps).map(ToString::to_string);
        let of = self.of_apps.then(|| "apps".to_owned());
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("user", user), ("of", of)].iter().chain(filters) {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// A page of calls.
#[derive(Serialize)]
#[serde(transparent)]
struct CallTable(CallPage);

impl RenderText for CallTable {
    fn render_text(&self) -> String {
        if self.0.calls.is_empty() {
            return "No calls match.".to_owned();
        }
        let head = ["STARTED", "TOOL", "OUTCOME", "TIME", "USER", "ID"].map(str::to_owned);
        text::format_table(
            &std::iter::once(head).chain(self.0.calls.iter().map(call_row)).collect::<Vec<_>>(),
        )
    }
}

fn call_row(call: &CallSummary) -> [String; 6] {
    [
        call.started_at.clone(),
        text::truncate_text(&call.tool, MAX_NAME_CHARS),
        call.outcome.clone(),
        format_milliseconds(call.duration_us),
        call.user_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        call.id.to_string(),
    ]
}

fn format_milliseconds(us: u64) -> String {
    format!("{}.{} ms", us / 1_000, us % 1_000 / 100)
}

/// All details of one call.
#[derive(Serialize)]
#[serde(transparent)]
struct CallDetails(CallSummary);

impl RenderText for CallDetails {
    fn render_text(&self) -> String {
        let call = &self.0;
        let steps = serde_json::to_value(call.steps).unwrap_or_default();
        let steps = steps.as_object().into_iter().flatten().filter_map(|(step, us)| {
            let us = us.as_u64().filter(|us| *us > 0)?;
            Some(format!("{step} {}", format_milliseconds(us)))
        });
        let mut rows = vec![
            ["call".to_owned(), call.id.to_string()],
            ["tool".to_owned(), call.tool.clone()],
            ["outcome".to_owned(), call.outcome.clone()],
            ["started".to_owned(), call.started_at.clone()],
            ["duration".to_owned(), format_milliseconds(call.duration_us)],
            ["steps".to_owned(), steps.collect::<Vec<_>>().join(", ")],
            ["source".to_owned(), call.source.clone()],
            ["door".to_owned(), call.door.clone()],
            ["bytes".to_owned(), format!("{} in, {} out", call.bytes_in, call.bytes_out)],
        ];
        let user = call.user_id.as_ref().map(ToString::to_string);
        for (name, value) in [
            ("error", call.error_message.clone()),
            ("user", user),
            ("caller", call.caller.clone()),
            ("trace", call.trace_id.clone()),
        ] {
            rows.extend(value.map(|value| [name.to_owned(), value]));
        }
        text::format_table(&rows)
    }
}

pub(crate) async fn show_calls(cx: &CommandContext, args: CallsArgs) -> Result<CommandOutcome, CliError> {
    if args.follow {
        return follow::follow_calls(cx, &args).await;
    }
    let client = cx.client()?;
    if let Some(id) = &args.id {
        let call: CallSummary = client.get(&format!("api/calls/{id}?{}", args.query_string(cx, &[]))).await?;
        cx.output.print_result(&CallDetails(call))?;
        return Ok(CommandOutcome::Success);
    }
    let filters = [
        ("tool", args.tool.clone()),
        ("app", args.app.as_ref().map(ToString::to_string)),
        ("outcome", args.outcome.clone()),
        ("since", args.since.map(|since| since.to_string())),
        ("limit", Some(args.limit.to_string())),
    ];
    let page: CallPage = client.get(&format!("api/calls?{}", args.query_string(cx, &filters))).await?;
    cx.output.print_result(&CallTable(page))?;
    Ok(CommandOutcome::Success)
}
