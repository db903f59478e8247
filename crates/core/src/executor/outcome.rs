//! How outcomes are stored: under idempotency keys, and with approvals.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::{
    ErrorCode,
    approval::ApprovalState,
    error::WireError,
    result::{McpResult, ResultExtensions, ToolResult},
};

use super::{CallOutcome, CallReply};
use crate::{
    error::ToolError,
    ports::{ApprovalRecord, StoredOutcome},
};

/// An outcome as the ledger stores it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RecordedOutcome {
    Done { mcp: Box<RawValue>, extensions: ResultExtensions },
    Failed(WireError),
}

/// An outcome as text. None while the call waits.
pub(crate) fn encode(outcome: &CallOutcome) -> Option<String> {
    let recorded = match outcome {
        Ok(CallReply::Done(result)) => {
            RecordedOutcome::Done { mcp: result.mcp.raw().to_owned(), extensions: result.extensions.clone() }
        }
        Err(error) => RecordedOutcome::Failed(error.to_wire()),
        Ok(CallReply::AwaitingInput(_) | CallReply::AwaitingApproval(_) | CallReply::AwaitingSignIn(_)) => {
            return None;
        }
    };
    serde_json::to_string(&recorded).ok()
}

/// The outcome that was stored, if it was small enough.
pub(crate) fn decode(stored: Option<String>) -> CallOutcome {
    let Some(text) = stored else {
        return Err(ToolError::new(
            ErrorCode::OutcomeUnknown,
            "The call under this idempotency key was made, but its result was too large to keep, or newer ones took its \
             room. It is not run again.",
        ));
    };
    let damaged = || outcome_unknown_error("has a damaged record");
    match serde_json::from_str(&text).map_err(|error| damaged().with_cause(error))? {
        RecordedOutcome::Done { mcp, extensions } => {
            Ok(CallReply::Done(ToolResult { mcp: McpResult::from_raw(mcp).ok_or_else(damaged)?, extensions }))
        }
        RecordedOutcome::Failed(error) => {
            let mut failed = ToolError::new(error.code, error.message);
            failed.retryable = error.retryable;
            Err(failed)
        }
    }
}

/// The outcome of an approval that has ended.
pub(crate) fn of_approval(record: &ApprovalRecord) -> CallOutcome {
    let tool = &record.subject.tool;
    let text = match record.state {
        ApprovalState::Done | ApprovalState::Void if record.outcome.is_none() => {
            let text = format!("The approved call of {tool} was made, but its result was too large to keep.");
            return Err(ToolError::new(ErrorCode::OutcomeUnknown, text));
        }
        ApprovalState::Done | ApprovalState::Void => return decode(record.outcome.clone()),
        ApprovalState::Denied => {
            let note = record.answer.as_ref().and_then(|answer| answer.note.as_deref());
            let note = note.map(|note| format!(" They said: {note:?}.")).unwrap_or_default();
            format!("The user declined this call of {tool}; it did not run.{note} Do not retry it unchanged.")
        }
        ApprovalState::Pending
        | ApprovalState::Approved
        | ApprovalState::Running
        | ApprovalState::Expired => {
            format!(
                "Nobody answered in time whether {tool} may run; it did not run. Ask again if it is needed."
            )
        }
    };
    Err(ToolError::new(ErrorCode::Denied, text))
}

/// The stored outcome of a call that its caller withdrew before the user answered.
pub fn withdrawn() -> StoredOutcome {
    let text = "The call was withdrawn before the user answered; it did not run.";
    encode(&Err(ToolError::new(ErrorCode::Cancelled, text))).unwrap_or_default()
}

/// The stored outcome of a run that was interrupted by the end of its server.
pub(crate) fn interrupted() -> StoredOutcome {
    let text = "The approved call was cut off when its server stopped: it may or may not have run, and is not run again.";
    encode(&Err(ToolError::new(ErrorCode::OutcomeUnknown, text))).unwrap_or_default()
}

pub(super) fn outcome_unknown_error(why: &str) -> ToolError {
    let text = format!(
        "The call under this idempotency key {why}: it may or may not have run, and is not run again."
    );
    ToolError::new(ErrorCode::OutcomeUnknown, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::AwaitedInput;

    #[test]
    fn a_stored_result_is_replayed_unchanged() {
        let mcp =
            RawValue::from_string(r#"{"content":[],"odd": 1.50,"_meta":{"x":null}}"#.to_owned()).unwrap();
        let extensions = ResultExtensions { suppress_voice_response: true, ..ResultExtensions::default() };
        let result = ToolResult { mcp: McpResult::from_raw(mcp.clone()).unwrap(), extensions };
        let stored = encode(&Ok(CallReply::Done(result))).unwrap();
        let Ok(CallReply::Done(replayed)) = decode(Some(stored)) else { panic!("it was done") };
        assert_eq!(replayed.mcp.raw().get(), mcp.get());
        assert!(replayed.extensions.suppress_voice_response);
    }

    #[test]
    fn a_stored_failure_keeps_code_text_and_retryable_and_loses_its_cause() {
        let error = ToolError::new(ErrorCode::Timeout, "too late").retryable_if(true).with_cause("10.0.0.1");
        let stored = encode(&Err(error.clone())).unwrap();
        assert!(!stored.contains("10.0.0.1"), "{stored}");
        assert_eq!(decode(Some(stored)).unwrap_err(), ToolError { cause: None, ..error });
    }

    #[test]
    fn a_call_that_waits_for_input_has_no_outcome_to_store() {
        let waiting = CallReply::AwaitingInput(AwaitedInput { requests: None, state: None });
        assert_eq!(encode(&Ok(waiting)), None);
    }

    #[test]
    fn an_outcome_that_is_missing_or_damaged_is_unknown_and_never_run_again() {
        for stored in [None, Some(""), Some("{}"), Some(r#"{"done":{"mcp":[],"extensions":{}}}"#)] {
            let error = decode(stored.map(str::to_owned)).unwrap_err();
            assert_eq!((error.code, error.retryable), (ErrorCode::OutcomeUnknown, false), "{stored:?}");
        }
    }
}
