//! `/api/audit`: the audit log, for operators.

use std::{io, sync::Arc};

use axum::{body::Body, extract::State};
use futures_util::{Stream, StreamExt as _, stream};
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_core::ports::{AuditCursor, AuditFilter, AuditRecord};
use toolyard_platform::{Platform, audit};
use toolyard_protocol::{
    JsonLine,
    audit::{AuditEntry, AuditPage},
    raw::to_raw,
    session::iso_millis,
};

use super::{
    HandlerResult,
    attachment::{ExportFormat, attachment},
    calls::parse_time,
    ok_json,
};
use crate::{
    auth::{Actor, KnownActor},
    error::RequestError,
    extract::QueryParams,
    routes::{Route, RouteAccess},
};

/// Default page size.
const DEFAULT_PAGE: u32 = 50;
/// Maximum page size.
const MAX_PAGE: u32 = 200;
/// Most entries in one export.
const MAX_EXPORTED: u32 = 100_000;
/// Entries read at once for an export.
const EXPORT_PAGE: u32 = 1_000;

const ACTION: (&str, &str) = ("action", "Only this action, such as `token.issued`");
const ACTOR: (&str, &str) = ("actor", "Only what this actor did: a user id or a package");
const USER: (&str, &str) = ("user", "Only what is about this user");
const SINCE: (&str, &str) = ("since", "Only entries at this time or later, ISO 8601");
const UNTIL: (&str, &str) = ("until", "Only entries before this time, ISO 8601");

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/audit",
            RouteAccess::Operator,
            "The audit log, newest first",
            list_entries,
        )
        .query(&[
            ("before", "`next` of the previous page"),
            ("after", "Oldest first, after the entry with this number"),
            ("limit", "Page size, at most 200. Default: 50"),
            ACTION,
            ACTOR,
            USER,
            SINCE,
            UNTIL,
        ])
        .response_body::<AuditPage>(),
        Route::new(
            Method::GET,
            "/api/audit/export",
            RouteAccess::Operator,
            "Entries of the audit log as JSON lines, oldest first, at most 100,000. The number of the last one is `after` of \
             the next request",
            export_entries,
        )
        .query(&[("after", "Only entries after this number. Default: 0"), ACTION, ACTOR, USER, SINCE, UNTIL]),
    ]
}

#[derive(Deserialize)]
struct AuditQuery {
    before: Option<u64>,
    after: Option<u64>,
    limit: Option<u32>,
    action: Option<String>,
    actor: Option<String>,
    user: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

impl AuditQuery {
    fn into_filter(self, cursor: AuditCursor, limit: u32) -> Result<AuditFilter, RequestError> {
        let named = |what: &str, error: &dyn std::fmt::Display| {
            RequestError::invalid_request(format!("{what}: {error}"))
        };
        let filter = AuditFilter {
            cursor,
            action: self
                .action
                .map(|text| text.parse().map_err(|error| named("action", &error)))
                .transpose()?,
            actor: self.actor,
            user: self.user.map(|text| text.parse().map_err(|error| named("user", &error))).transpose()?,
            since: parse_time("since", self.since.as_deref())?,
            until: parse_time("until", self.until.as_deref())?,
            limit,
        };
        if filter.since.zip(filter.until).is_some_and(|(since, until)| since >= until) {
            return Err(RequestError::invalid_request("until: expected a time after `since`"));
        }
        Ok(filter)
    }
}

async fn list_entries(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<AuditQuery>,
) -> HandlerResult {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let cursor = match (query.before, query.after) {
        (Some(_), Some(_)) => {
            return Err(RequestError::invalid_request("after: send either `before` or `after`"));
        }
        (before, None) => AuditCursor::NewestBefore(before),
        (None, Some(after)) => AuditCursor::OldestAfter(after),
    };
    let mut records = audit::list(&platform, &who, &query.into_filter(cursor, limit + 1)?).await?;
    let more = records.len() > limit as usize;
    records.truncate(limit as usize);
    let next = records.last().filter(|_| more).map(|last| last.number);
    ok_json(&AuditPage { entries: records.into_iter().map(audit_entry).collect(), next })
}

async fn export_entries(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<AuditQuery>,
) -> HandlerResult {
    if query.before.is_some() || query.limit.is_some() {
        let text = "an export is in ascending order and has a fixed size; send `after` only";
        return Err(RequestError::invalid_request(text));
    }
    let cursor = AuditCursor::OldestAfter(query.after.unwrap_or(0));
    let filter = query.into_filter(cursor, EXPORT_PAGE)?;
    // The first page is read before the response begins, so that a refusal has its own status.
    let first = audit::list(&platform, &who, &filter).await?;
    let lines = exported_lines(platform, who, filter, first, MAX_EXPORTED);
    Ok(attachment("toolyard-audit", ExportFormat::JsonLines, Body::from_stream(lines)))
}

/// The entries, a page at a time. If the store fails, the response is aborted, so that a part is not mistaken for the whole.
fn exported_lines(
    platform: Arc<Platform>,
    who: Actor,
    filter: AuditFilter,
    first: Vec<AuditRecord>,
    max: u32,
) -> impl Stream<Item = io::Result<String>> + Send {
    let rest = stream::unfold(next_page(filter, &first, max), move |at| {
        let (platform, who) = (platform.clone(), who.clone());
        async move {
            let (filter, left) = at?;
            match audit::list(&platform, &who, &filter).await {
                Ok(page) => {
                    let next = next_page(filter, &page, left);
                    Some((Ok(page_lines(page)), next))
                }
                Err(error) => {
                    tracing::error!(%error, "store failed during export of the audit log");
                    Some((Err(io::Error::other("the store failed")), None))
                }
            }
        }
    });
    stream::iter([Ok(page_lines(first))]).chain(rest)
}

/// The filter of the page after this one, and how many entries are left to export. None after the last page.
fn next_page(mut filter: AuditFilter, page: &[AuditRecord], left: u32) -> Option<(AuditFilter, u32)> {
    let read = u32::try_from(page.len()).unwrap_or(left);
    let left = left.saturating_sub(read);
    let last = page.last().filter(|_| read == filter.limit && left > 0)?;
    filter.cursor = AuditCursor::OldestAfter(last.number);
    filter.limit = filter.limit.min(left);
    Some((filter, left))
}

fn page_lines(page: Vec<AuditRecord>) -> String {
    page.into_iter().map(|record| JsonLine::new(&audit_entry(record)).into_terminated()).collect()
}

fn audit_entry(record: AuditRecord) -> AuditEntry {
    let at = jiff::Timestamp::from_millisecond(record.at).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    AuditEntry {
        number: record.number,
        at: iso_millis(at),
        actor_kind: record.actor_kind,
        actor: record.actor,
        credential: record.credential,
        action: record.action,
        target: record.target,
        user_id: Some(record.user).filter(|user| !user.is_empty()),
        // Someone may have changed it to something else; it is shown as a text then.
        detail: RawValue::from_string(record.detail.clone()).unwrap_or_else(|_| to_raw(&record.detail)),
        previous: hex::encode(record.previous),
        hash: hex::encode(record.hash),
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::{
        audit::AuditKeys,
        ports::{AuditActor, AuditEvent, SystemIds},
    };
    use toolyard_protocol::audit::{AuditAction, AuditActorKind};

    use super::*;
    use crate::secrets::RootKeys;

    fn page(numbers: std::ops::RangeInclusive<u64>) -> Vec<AuditRecord> {
        let keys = AuditKeys::derive(&RootKeys::new(vec![[1; 32]], Arc::new(SystemIds)));
        let event = AuditEvent {
            at: jiff::Timestamp::UNIX_EPOCH,
            actor: AuditActor {
                kind: AuditActorKind::Person,
                name: "ada".to_owned(),
                credential: String::new(),
            },
            action: AuditAction::TokenIssued,
            target: String::new(),
            user: None,
            detail: "{}".to_owned(),
        };
        let record = keys.link(toolyard_core::audit::AuditHead::default(), &event);
        numbers.map(|number| AuditRecord { number, ..record.clone() }).collect()
    }

    #[test]
    fn an_export_reads_full_pages_until_its_limit() {
        let filter = || AuditFilter { limit: 4, ..AuditCursor::OldestAfter(0).into() };
        let (next, left) = next_page(filter(), &page(1..=4), 10).unwrap();
        assert_eq!((next.cursor, next.limit, left), (AuditCursor::OldestAfter(4), 4, 6));
        let (next, left) = next_page(next, &page(5..=8), left).unwrap();
        assert_eq!((next.cursor, next.limit, left), (AuditCursor::OldestAfter(8), 2, 2));
        assert!(next_page(next, &page(9..=10), left).is_none(), "the limit");
        assert!(next_page(filter(), &page(1..=3), 10).is_none(), "the last page");
        assert!(next_page(filter(), &[], 10).is_none());
    }

    #[test]
    fn a_detail_that_is_no_json_is_shown_as_a_text() {
        let record = AuditRecord { detail: "{broken".to_owned(), ..page(1..=1).remove(0) };
        assert_eq!(audit_entry(record).detail.get(), "\"{broken\"");
    }
}
