//! The record of a call, and its one log line.

use std::sync::Arc;

use jiff::Timestamp;
use toolyard_protocol::{ErrorCode, ToolRef, api::outcome_text};

use super::{CallContext, Outcome, Reply, ToolCall, steps::Steps};
use crate::{
    catalog::size_of,
    error::ToolError,
    ports::{CallRecord, SourceKind},
};

pub(super) fn of(
    cx: &CallContext,
    call: &ToolCall,
    outcome: &Outcome,
    started_at: Timestamp,
    steps: &mut Steps,
) -> Arc<CallRecord> {
    let (times, duration_us) = steps.finish();
    let found = cx.view.find(&call.name).ok();
    let tool = match (found, &call.name) {
        (Some(tool), _) => tool.name.as_str().into(),
        (None, ToolRef::Canonical(name)) => name.as_str().into(),
        (None, ToolRef::Alias(alias)) => alias.as_str().into(),
    };
    Arc::new(CallRecord {
        id: cx.id.clone(),
        user: cx.user.clone(),
        tool,
        package: found.map(|tool| tool.name.package().clone()),
        source: found.map_or(SourceKind::App, |tool| tool.source),
        door: cx.door,
        caller: cx.caller.clone(),
        error: error_of(outcome),
        replayed: false,
        started_at,
        duration_us,
        steps: times,
        bytes_in: call.arguments.as_ref().map_or(0, |raw| raw.get().len() as u64),
        bytes_out: match outcome {
            Ok(Reply::Done(result)) => size_of(result),
            _ => 0,
        },
        trace: cx.trace,
    })
}

/// The code of an outcome: a result that says it is an error counts as one.
fn error_of(outcome: &Outcome) -> Option<ErrorCode> {
    match outcome {
        Ok(Reply::Done(result)) if result.mcp.is_error() => Some(ErrorCode::ExecutionError),
        Ok(_) => None,
        Err(error) => Some(error.code),
    }
}

pub(super) fn log(record: &CallRecord, error: Option<&ToolError>) {
    let (outcome, word) = (outcome_text(record.error), if record.replayed { " (replayed)" } else { "" });
    let cause = error.and_then(|error| error.cause.as_deref());
    tracing::info!(
        target: "toolyard::call",
        id = record.id.as_str(),
        user = record.user.as_str(),
        us = record.duration_us,
        cause,
        "{} {outcome}{word}",
        record.tool,
    );
}
