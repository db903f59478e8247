//! Reading the ledger, and the conversion between records and rows.

use async_trait::async_trait;
use sqlx::{Arguments as _, FromRow, sqlite::SqliteArguments};
use toolyard_core::{
    executor::{Caller, Door, TraceContext},
    ports::{CallFilter, CallLog, CallRecord, CallWait, SourceKind, StoreError, UsageFilter},
};
use toolyard_protocol::{
    ApprovalId, CallId, ErrorCode, UserId,
    api::{StepTimes, UsageRow},
};

use super::{
    SqliteStore, damaged_value,
    rows::{parse_column, to_i64, to_timestamp, to_u64},
    store_error,
};

/// Most rows of a page.
const MAX_PAGE: u32 = 1_000;
/// Most tools in a usage report.
const MAX_USAGE: i64 = 1_000;

#[derive(FromRow)]
struct CallRow {
    id: String,
    user: String,
    tool: String,
    package: Option<String>,
    source: String,
    door: String,
    caller: String,
    error: Option<String>,
    replayed: bool,
    started_at: i64,
    duration_us: i64,
    steps: String,
    bytes_in: i64,
    bytes_out: i64,
    trace: String,
    error_message: Option<String>,
    approval: Option<String>,
    waiting: i64,
}

/// Binds the columns in the order of the insert statement.
pub(super) fn bind_record(to: &mut SqliteArguments, record: &CallRecord) -> Result<(), StoreError> {
    let steps = &record.steps;
    let steps = [steps.find, steps.validate, steps.authorize, steps.ready, steps.invoke, steps.check];
    let steps = steps.map(|us| us.to_string()).join(" ");
    let trace = &record.trace;
    let parent = trace.parent.unwrap_or(0);
    let trace =
        format!("{:032x} {:016x} {parent:016x} {}", trace.trace_id, trace.span_id, u8::from(trace.sampled));
    let bind = || {
        to.add(record.id.as_str())?;
        to.add(record.user.as_str())?;
        to.add(&*record.tool)?;
        to.add(record.package.as_ref().map(|package| package.as_str()))?;
        to.add(record.source.as_str())?;
        to.add(record.door.as_str())?;
        to.add(record.caller.to_string())?;
        to.add(record.error.map(ErrorCode::as_str))?;
        to.add(record.replayed)?;
        to.add(record.started_at.as_millisecond())?;
        to.add(to_i64(record.duration_us))?;
        to.add(steps)?;
        to.add(to_i64(record.bytes_in))?;
        to.add(to_i64(record.bytes_out))?;
        to.add(trace)?;
        to.add(record.error_message.as_deref())?;
        to.add(record.approval.as_ref().map(ApprovalId::as_str))?;
        to.add(record.waiting.map_or(0, wait_column))
    };
    bind().map_err(|error| StoreError::Failed(error.to_string()))
}

impl CallRow {
    fn into_record(self) -> Result<CallRecord, StoreError> {
        Ok(CallRecord {
            id: parse_column("call id", &self.id)?,
            user: UserId::from_stored(&self.user),
            tool: self.tool.into(),
            package: self.package.map(|package| parse_column("package name", &package)).transpose()?,
            source: read_source(&self.source)?,
            door: read_door(&self.door)?,
            caller: parse_column::<Caller>("caller", &self.caller)?,
            error: self
                .error
                .map(|code| ErrorCode::from_wire(&code).ok_or_else(|| damaged_value("error", code)))
                .transpose()?,
            error_message: self.error_message.map(Into::into),
            replayed: self.replayed,
            started_at: to_timestamp(self.started_at),
            duration_us: to_u64(self.duration_us),
            steps: read_steps(&self.steps),
            bytes_in: to_u64(self.bytes_in),
            bytes_out: to_u64(self.bytes_out),
            trace: read_trace(&self.trace),
            approval: self.approval.map(|id| parse_column("approval id", &id)).transpose()?,
            waiting: read_wait(self.waiting)?,
        })
    }
}

/// The column of what a call waits for; 0 if it waits for nothing.
const fn wait_column(wait: CallWait) -> i64 {
    match wait {
        CallWait::Approval => 1,
        CallWait::SignIn => 2,
    }
}

fn read_wait(column: i64) -> Result<Option<CallWait>, StoreError> {
    match column {
        0 => Ok(None),
        1 => Ok(Some(CallWait::Approval)),
        2 => Ok(Some(CallWait::SignIn)),
        other => Err(damaged_value("waiting", other.to_string())),
    }
}

fn read_source(text: &str) -> Result<SourceKind, StoreError> {
    SourceKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| damaged_value("source", text))
}

fn read_door(text: &str) -> Result<Door, StoreError> {
    Door::ALL.into_iter().find(|door| door.as_str() == text).ok_or_else(|| damaged_value("door", text))
}

pub(super) fn read_steps(text: &str) -> StepTimes {
    let mut times = text.split(' ').map(|us| us.parse().unwrap_or(0));
    let mut next = || times.next().unwrap_or(0);
    StepTimes {
        find: next(),
        validate: next(),
        authorize: next(),
        ready: next(),
        invoke: next(),
        check: next(),
    }
}

fn read_trace(text: &str) -> TraceContext {
    let mut parts = text.split(' ').map(|part| u128::from_str_radix(part, 16).unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let (trace_id, span_id, parent, sampled) = (next(), next(), next(), next());
    let span = |id: u128| u64::try_from(id).unwrap_or(0);
    TraceContext {
        trace_id,
        span_id: span(span_id),
        parent: (parent != 0).then_some(span(parent)),
        sampled: sampled == 1,
    }
}

/// Every filter is optional. An owner sees calls since the app became theirs, because package names can change hands.
/// The user condition is separate SQL, because with `OR` its index would not be used.
macro_rules! page_sql {
    ($of_user:literal) => {
        concat!(
            "SELECT c.* FROM calls c WHERE ",
            $of_user,
            " AND (?2 IS NULL OR c.tool = ?2) AND (?3 IS NULL OR c.package = ?3)
              AND (?4 IS NULL OR CASE c.waiting WHEN 1 THEN 'AWAITING_APPROVAL' WHEN 2 THEN 'AWAITING_SIGN_IN'
                ELSE COALESCE(c.error, 'OK') END = ?4)
              AND (?5 IS NULL OR c.started_at >= ?5) AND (?6 IS NULL OR c.id < ?6)
              AND (?7 IS NULL OR EXISTS (SELECT 1 FROM apps a WHERE a.owner = ?7
                AND a.package = c.package AND a.created_at <= c.started_at))
              AND (?9 IS NULL OR c.started_at < ?9)
              ORDER BY c.id DESC LIMIT ?8"
        )
    };
}

/// The time condition is separate as well: without one, scanning the table is faster than its index.
macro_rules! usage_sql {
    ($of_user:literal, $since:literal) => {
        concat!(
            "SELECT tool, COUNT(*) AS calls, COUNT(error), CAST(AVG(duration_us) AS INTEGER) FROM calls c
             WHERE package IS NOT NULL AND ",
            $of_user,
            " AND ",
            $since,
            " AND (?3 IS NULL OR EXISTS (SELECT 1 FROM apps a WHERE a.owner = ?3
                AND a.package = c.package AND a.created_at <= c.started_at))
             AND (?5 IS NULL OR started_at < ?5) AND (?6 IS NULL OR package = ?6) AND (?7 IS NULL OR tool = ?7)
             GROUP BY tool ORDER BY calls DESC, tool LIMIT ?4"
        )
    };
}

const fn usage_query(of_user: bool, since: bool) -> &'static str {
    match (of_user, since) {
        (false, false) => usage_sql!("?1 IS NULL", "?2 IS NULL"),
        (false, true) => usage_sql!("?1 IS NULL", "started_at >= ?2"),
        (true, false) => usage_sql!("user = ?1", "?2 IS NULL"),
        (true, true) => usage_sql!("user = ?1", "started_at >= ?2"),
    }
}

#[async_trait]
impl CallLog for SqliteStore {
    async fn list_calls(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        self.ledger.flush().await;
        let sql = if filter.user.is_some() { page_sql!("c.user = ?1") } else { page_sql!("?1 IS NULL") };
        let query = sqlx::query_as::<_, CallRow>(sql)
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(filter.tool.as_ref().map(|tool| tool.as_str()))
            .bind(filter.package.as_ref().map(|package| package.as_str()))
            .bind(filter.outcome.as_deref())
            .bind(filter.since.map(|at| at.as_millisecond()))
            .bind(filter.before.as_ref().map(|id| id.as_str()))
            .bind(filter.owner.as_deref())
            .bind(filter.limit.clamp(1, MAX_PAGE))
            .bind(filter.until.map(|at| at.as_millisecond()));
        query
            .fetch_all(&self.read)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(CallRow::into_record)
            .collect()
    }

    async fn find_call(&self, id: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.ledger.flush().await;
        let query = sqlx::query_as::<_, CallRow>("SELECT * FROM calls WHERE id = ?").bind(id.as_str());
        query.fetch_optional(&self.read).await.map_err(store_error)?.map(CallRow::into_record).transpose()
    }

    async fn tool_usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError> {
        self.ledger.flush().await;
        let sql = usage_query(filter.user.is_some(), filter.since.is_some());
        let query = sqlx::query_as::<_, (String, i64, i64, i64)>(sql)
            .bind(filter.user.as_ref().map(|user| user.as_str()))
            .bind(filter.since.map(|at| at.as_millisecond()))
            .bind(filter.owner.as_deref())
            .bind(MAX_USAGE)
            .bind(filter.until.map(|at| at.as_millisecond()))
            .bind(filter.package.as_ref().map(|package| package.as_str()))
            .bind(filter.tool.as_ref().map(|tool| tool.as_str()));
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?.into_iter();
        Ok(rows
            .map(|(tool, calls, errors, mean)| UsageRow {
                tool,
                calls: to_u64(calls),
                errors: to_u64(errors),
                mean_us: to_u64(mean),
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use sqlx::AssertSqlSafe;
    use tokio_util::task::TaskTracker;

    use toolyard_core::ports::StoreMaintenance as _;

    use super::*;
    use crate::StoreSettings;

    #[tokio::test]
    async fn the_usage_of_a_user_reads_only_the_calls_of_that_user() {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        for (of_user, since, by) in [
            (true, false, "SEARCH c USING INDEX calls_by_user (user=?)"),
            (true, true, "SEARCH c USING INDEX calls_by_user (user=?)"),
            (false, true, "SEARCH c USING INDEX calls_by_time (started_at>?"),
        ] {
            let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", usage_query(of_user, since)));
            let steps =
                sqlx::query_as::<_, (i64, i64, i64, String)>(explain).fetch_all(&store.read).await.unwrap();
            assert!(steps.iter().any(|(_, _, _, step)| step.contains(by)), "{steps:?}");
        }
        store.close().await;
    }
}
