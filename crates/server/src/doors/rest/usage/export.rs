//! `/api/usage/export`: usage and calls as CSV or JSON lines, read and sent page by page.

use std::{io, sync::Arc};

use axum::{body::Body, extract::State};
use futures_util::{Stream, StreamExt as _};
use http::Method;
use serde::Deserialize;
use toolyard_core::ports::Stores;
use toolyard_core::ports::{CallFilter, CallLog, UsageFilter};
use toolyard_protocol::{
    JsonLine,
    api::{CallSummary, UsageRow},
};

use super::{
    super::{
        HandlerResult,
        attachment::{ExportFormat, attachment},
        call_visibility::call_summary,
    },
    APP, OF, SINCE, TOOL, UNTIL, USER, UsageRequest,
    csv::csv_row,
};
use crate::{
    auth::KnownActor,
    extract::QueryParams,
    routes::{Route, RouteAccess},
};

/// Most calls in one export.
const MAX_ROWS: u32 = 100_000;
/// Calls read at once.
const PAGE: u32 = 1_000;

pub(super) fn route() -> Route {
    Route::new(
        Method::GET,
        "/api/usage/export",
        RouteAccess::Authenticated,
        "Usage of tools, or the newest 100,000 calls, as CSV or JSON lines",
        export_usage,
    )
    .query(&[
        ("what", "`tools` or `calls`"),
        ("format", "`csv` or `jsonl`. Default: `csv`"),
        SINCE,
        UNTIL,
        APP,
        TOOL,
        USER,
        OF,
    ])
}

#[derive(Deserialize)]
struct ExportQuery {
    what: ExportKind,
    #[serde(default)]
    format: FormatName,
    user: Option<String>,
    of: Option<String>,
    app: Option<String>,
    tool: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ExportKind {
    Tools,
    Calls,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FormatName {
    #[default]
    Csv,
    Jsonl,
}

async fn export_usage(
    State(stores): State<Stores>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<ExportQuery>,
) -> HandlerResult {
    let ExportQuery { what, format, user, of, app, tool, since, until } = query;
    let filter = UsageRequest { user, of, app, tool, since, until }.into_filter(&who)?;
    let format = match format {
        FormatName::Csv => ExportFormat::Csv,
        FormatName::Jsonl => ExportFormat::JsonLines,
    };
    match what {
        ExportKind::Tools => {
            let usage = stores.calls.tool_usage(&filter).await?;
            Ok(attachment("toolyard-tools", format, Body::from(tool_table(&usage, format))))
        }
        ExportKind::Calls => {
            let table = call_table(stores.calls.clone(), filter, format, PAGE, MAX_ROWS);
            Ok(attachment("toolyard-calls", format, Body::from_stream(table)))
        }
    }
}

fn tool_table(usage: &[UsageRow], format: ExportFormat) -> String {
    if format == ExportFormat::JsonLines {
        return usage.iter().map(|tool| JsonLine::new(tool).into_terminated()).collect();
    }
    let mut table = csv_row(["tool", "calls", "errors", "mean_us"]);
    for tool in usage {
        let numbers = [tool.calls, tool.errors, tool.mean_us].map(|number| number.to_string());
        table.push_str(&csv_row([&*tool.tool, &*numbers[0], &*numbers[1], &*numbers[2]]));
    }
    table
}

const COLUMNS: [&str; 13] = [
    "id",
    "started_at",
    "user",
    "tool",
    "source",
    "door",
    "caller",
    "outcome",
    "replayed",
    "duration_us",
    "bytes_in",
    "bytes_out",
    "trace_id",
];

/// The table, a page at a time. If the store fails, the response is aborted, so that a part is not mistaken for the whole.
fn call_table(
    log: Arc<dyn CallLog>,
    filter: UsageFilter,
    format: ExportFormat,
    page: u32,
    max_rows: u32,
) -> impl Stream<Item = io::Result<String>> + Send {
    // A developer sees the calls of their apps, but not the users.
    let tells_who = filter.owner.is_none();
    let UsageFilter { user, owner, package, tool, since, until } = filter;
    let first = CallFilter { user, owner, package, tool, since, until, ..CallFilter::default() };
    // JSON lines name their members themselves.
    let head = (format == ExportFormat::Csv).then(|| Ok(csv_row(COLUMNS)));
    let head = futures_util::stream::iter(head);
    let pages = futures_util::stream::unfold(Some((first, max_rows)), move |at| {
        let log = log.clone();
        async move {
            let (mut filter, left) = at.filter(|(_, left)| *left > 0)?;
            filter.limit = page.min(left);
            let calls = match log.list_calls(&filter).await {
                Ok(calls) => calls,
                Err(error) => {
                    tracing::error!(%error, "store failed during usage export");
                    return Some((Err(io::Error::other("the store failed")), None));
                }
            };
            let last = calls.last()?.id.clone();
            let text: String =
                calls.iter().map(|call| call_row(&call_summary(call, tells_who), format)).collect();
            let read = u32::try_from(calls.len()).unwrap_or(left);
            filter.before = Some(last);
            let next = (read == filter.limit).then(|| (filter, left.saturating_sub(read)));
            Some((Ok(text), next))
        }
    });
    head.chain(pages)
}

fn call_row(call: &CallSummary, format: ExportFormat) -> String {
    if format == ExportFormat::JsonLines {
        return JsonLine::new(call).into_terminated();
    }
    let [duration, bytes_in, bytes_out] =
        [call.duration_us, call.bytes_in, call.bytes_out].map(|number| number.to_string());
    csv_row([
        call.id.as_str(),
        &call.started_at,
        call.user_id.as_ref().map_or("", |user| user.as_str()),
        &call.tool,
        &call.source,
        &call.door,
        call.caller.as_deref().unwrap_or_default(),
        &call.outcome,
        if call.replayed { "true" } else { "false" },
        &duration,
        &bytes_in,
        &bytes_out,
        call.trace_id.as_deref().unwrap_or_default(),
    ])
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use toolyard_core::{
        Caller, Door,
        executor::TraceContext,
        ports::{CallRecord, SourceKind, StoreError},
    };
    use toolyard_protocol::{
        CallId,
        api::{StepTimes, UsageRow},
    };

    use super::*;

    /// Calls with ascending numbers. Fails on the page that contains the call `fails_at`.
    struct Log {
        calls: u8,
        fails_at: Option<u8>,
    }

    fn call(number: u8) -> CallRecord {
        CallRecord {
            id: CallId::from_bytes([number; 16]),
            user: "ada".parse().unwrap(),
            tool: format!("com.a:t{number}").into(),
            package: None,
            source: SourceKind::App,
            door: Door::Rest,
            caller: Caller::User,
            error: None,
            error_message: None,
            replayed: false,
            started_at: jiff::Timestamp::UNIX_EPOCH,
            duration_us: 0,
            steps: StepTimes::default(),
            bytes_in: 0,
            bytes_out: 0,
            approval: None,
            waiting: None,
            trace: TraceContext { trace_id: 1, parent: None, span_id: 1, sampled: false },
        }
    }

    #[async_trait]
    impl CallLog for Log {
        async fn list_calls(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
            let fits = |call: &CallRecord| filter.before.as_ref().is_none_or(|before| call.id < *before);
            let page: Vec<_> =
                (1..=self.calls).rev().map(call).filter(fits).take(filter.limit as usize).collect();
            match self.fails_at {
                Some(number) if page.iter().any(|call| call.id == CallId::from_bytes([number; 16])) => {
                    Err(StoreError::Failed("on purpose".to_owned()))
                }
                _ => Ok(page),
            }
        }

        async fn find_call(&self, _: &CallId) -> Result<Option<CallRecord>, StoreError> {
            Ok(None)
        }

        async fn tool_usage(&self, _: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
            Ok(Vec::new())
        }
    }

    async fn pieces(log: Log, page: u32, max_rows: u32) -> Vec<io::Result<String>> {
        call_table(Arc::new(log), UsageFilter::default(), ExportFormat::Csv, page, max_rows).collect().await
    }

    #[tokio::test]
    async fn an_export_reads_pages_until_the_end_or_the_limit() {
        // Calls, page size, limit; expected pages and rows.
        for (calls, page, max_rows, pages, rows) in [
            (0, 4, 100, 0, 0),
            (3, 4, 100, 1, 3),
            (4, 4, 100, 1, 4),
            (10, 4, 100, 3, 10),
            (10, 4, 6, 2, 6),
            (10, 4, 8, 2, 8),
        ] {
            let got = pieces(Log { calls, fails_at: None }, page, max_rows).await;
            let text: String = got.iter().map(|piece| piece.as_ref().unwrap().as_str()).collect();
            assert_eq!((got.len() - 1, text.lines().count() - 1), (pages, rows), "{calls} {page} {max_rows}");
            let newest = text.lines().nth(1).is_none_or(|row| row.contains(&format!("com.a:t{calls},")));
            assert!(newest, "the newest first: {text}");
        }
    }

    #[tokio::test]
    async fn an_export_is_aborted_if_the_store_fails() {
        let got = pieces(Log { calls: 10, fails_at: Some(5) }, 4, 100).await;
        assert_eq!(got.len(), 3, "the head, a page, and the failure");
        assert!(got[1].is_ok() && got[2].is_err());
    }
}
