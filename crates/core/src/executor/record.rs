//! The record of a call, and its one log line.

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use toolyard_protocol::text::truncate_bytes;
use toolyard_protocol::{ErrorCode, ToolRef};

use super::{CallContext, CallOutcome, CallReply, Door, ToolCall, steps::StepTimer};
use crate::{
    catalog::result_size,
    error::ToolError,
    ports::{CallRecord, CallWait, SourceKind},
    redaction::CallSecretCounts,
};

pub(super) fn build_record(
    cx: &CallContext,
    call: &ToolCall,
    outcome: &CallOutcome,
    started_at: Timestamp,
    steps: &mut StepTimer,
    max_message_bytes: usize,
) -> Arc<CallRecord> {
    let (times, duration_us) = steps.finish();
    let found = cx.view.find_tool(&call.name).ok();
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
        error: error_code(outcome),
        // Chat content is not stored, and an error message may quote it.
        error_message: match cx.door {
            Door::Chat => None,
            Door::Rest | Door::Legacy | Door::Mcp => error_message(outcome, max_message_bytes),
        },
        replayed: false,
        started_at,
        duration_us,
        steps: times,
        bytes_in: call.arguments.as_ref().map_or(0, |raw| raw.get().len() as u64),
        bytes_out: match outcome {
            Ok(CallReply::Done(result)) => result_size(result),
            _ => 0,
        },
        trace: cx.trace,
        approval: match outcome {
            Ok(CallReply::AwaitingApproval(awaited)) => Some(awaited.id.clone()),
            _ => cx.approval.clone(),
        },
        waiting: match outcome {
            Ok(CallReply::AwaitingApproval(_)) => Some(CallWait::Approval),
            Ok(CallReply::AwaitingSignIn(_)) => Some(CallWait::SignIn),
            Ok(CallReply::Done(_) | CallReply::AwaitingInput(_)) | Err(_) => None,
        },
    })
}

/// The error code of an outcome. A result that is marked as an error counts as one.
fn error_code(outcome: &CallOutcome) -> Option<ErrorCode> {
    match outcome {
        Ok(CallReply::Done(result)) if result.mcp.is_error() => Some(ErrorCode::ExecutionError),
        Ok(_) => None,
        Err(error) => Some(error.code),
    }
}

/// The error message that the caller received, truncated. Messages about invalid arguments quote them, and arguments
/// are not recorded.
fn error_message(outcome: &CallOutcome, max_bytes: usize) -> Option<Arc<str>> {
    if max_bytes == 0 {
        return None;
    }
    let message = match outcome {
        Ok(CallReply::Done(result)) if result.mcp.is_error() => Cow::Owned(result.mcp.all_text()),
        Ok(_) => return None,
        Err(error) if matches!(error.code, ErrorCode::InvalidArguments | ErrorCode::InvalidRequest) => {
            return None;
        }
        Err(error) => Cow::Borrowed(error.for_model.as_str()),
    };
    let message = message.trim();
    (!message.is_empty()).then(|| truncate_bytes(message, max_bytes).into())
}

pub(super) fn log_call(record: &CallRecord, error: Option<&ToolError>, secrets: CallSecretCounts) {
    let if_any = |count: usize| (count > 0).then_some(count);
    tracing::info!(
        target: "toolyard::call",
        id = record.id.as_str(),
        user = record.user.as_str(),
        tool = &*record.tool,
        outcome = record.outcome_text(),
        replayed = record.replayed,
        duration_ms = record.duration_us as f64 / 1_000.0,
        secrets_replaced = if_any(secrets.replaced),
        secrets_restored = if_any(secrets.restored),
        cause = error.and_then(|error| error.cause.as_deref()),
        "call ended",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_have_a_message() {
        let failed = Err(ToolError::new(ErrorCode::Timeout, " too late "));
        assert_eq!(error_message(&failed, 100).as_deref(), Some("too late"));
        assert_eq!(error_message(&failed, 0), None, "none are recorded");
        let quoting = Err(ToolError::new(ErrorCode::InvalidArguments, "\"secret\" is no number"));
        assert_eq!(error_message(&quoting, 100), None, "it quotes arguments");
    }
}
