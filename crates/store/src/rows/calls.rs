//! Rows of the ledger.

use sqlx::FromRow;
use toolyard_core::{
    executor::{Caller, Door, TraceContext},
    ports::{CallRecord, CallWait, SourceKind, StoreError},
};
use toolyard_protocol::{ErrorCode, UserId, api::StepTimes};

use super::{damaged_value, parse_column, to_timestamp, to_u64};

/// The caller of keys from before they belonged to a caller.
pub(crate) const ANY_CALLER: &str = "*";
/// Outcomes under keys that are evicted at once.
pub(crate) const EVICTED_AT_ONCE: i64 = 32;
/// Most rows of a page.
pub(crate) const MAX_PAGE: u32 = 1_000;
/// Most tools in a usage report.
pub(crate) const MAX_USAGE: i64 = 1_000;

#[derive(FromRow)]
pub(crate) struct CallRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) tool: String,
    pub(crate) package: Option<String>,
    pub(crate) source: String,
    pub(crate) door: String,
    pub(crate) caller: String,
    pub(crate) error: Option<String>,
    pub(crate) replayed: bool,
    pub(crate) started_at: i64,
    pub(crate) duration_us: i64,
    pub(crate) steps: String,
    pub(crate) bytes_in: i64,
    pub(crate) bytes_out: i64,
    pub(crate) trace: String,
    pub(crate) error_message: Option<String>,
    pub(crate) approval: Option<String>,
    pub(crate) waiting: i64,
}

impl CallRow {
    pub(crate) fn into_record(self) -> Result<CallRecord, StoreError> {
        Ok(CallRecord {
            id: parse_column("call id", &self.id)?,
            user: UserId::from_stored(&self.user_id),
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

/// The column of the steps' times.
pub(crate) fn steps_column(steps: &StepTimes) -> String {
    let steps = [steps.find, steps.validate, steps.authorize, steps.ready, steps.invoke, steps.check];
    steps.map(|us| us.to_string()).join(" ")
}

/// The column of a trace.
pub(crate) fn trace_column(trace: &TraceContext) -> String {
    let parent = trace.parent.unwrap_or(0);
    format!("{:032x} {:016x} {parent:016x} {}", trace.trace_id, trace.span_id, u8::from(trace.sampled))
}

/// The column of what a call waits for; 0 if it waits for nothing.
pub(crate) const fn wait_column(wait: Option<CallWait>) -> i64 {
    match wait {
        None => 0,
        Some(CallWait::Approval) => 1,
        Some(CallWait::SignIn) => 2,
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

pub(crate) fn read_door(text: &str) -> Result<Door, StoreError> {
    Door::ALL.into_iter().find(|door| door.as_str() == text).ok_or_else(|| damaged_value("door", text))
}

pub(crate) fn read_steps(text: &str) -> StepTimes {
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
