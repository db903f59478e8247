//! Calls with an idempotency key run once.
//!
//! The key is durable before the tool runs, and belongs to the user and the caller together. A request with the same
//! key waits for the same outcome while the call runs, and gets the recorded outcome later. The call runs on its own
//! task to completion even if its client disconnects, because the client can retry with the key. Only its deadline or a
//! server stop ends it early. A key that is still open although its server is gone was interrupted: its outcome is
//! unknown, and it never runs again.

use std::{sync::Arc, time::Duration};

use dashmap::{DashMap, Entry};
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;
use toolyard_protocol::ErrorCode;

use super::{
    CallContext, CallOutcome, CallOwner, CallReply, Executor, ToolCall, outcome,
    outcome::outcome_unknown_error, record, steps::StepTimer,
};
use crate::{
    error::ToolError,
    limits::CallLimits,
    ports::{ClaimOutcome, KeyClaim, KeyEnd, KeyQuota, call_digest},
    redaction::{CallSecretCounts, RedactedOutcome},
};

/// When to retry a call that runs in another process.
const RETRY_RUNNING: Duration = Duration::from_secs(1);
/// When to retry if the user has too many keys; they expire one by one.
const RETRY_FULL: Duration = Duration::from_secs(60);

type OwnedKey = (CallOwner, Arc<str>);

/// Calls with a key that run on this node.
#[derive(Default)]
pub(super) struct KeyTable(DashMap<OwnedKey, Arc<RunningCall>>);

impl KeyTable {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// One such call.
struct RunningCall {
    digest: [u8; 32],
    outcome: watch::Sender<Option<RedactedOutcome>>,
}

impl Executor {
    pub(super) async fn call_keyed(self: &Arc<Self>, cx: CallContext, call: ToolCall) -> CallOutcome {
        let Some(key) = cx.key.clone() else { return self.call_now(cx, call).await };
        // Checked before anything about the key is revealed: a caller cannot read an outcome of a tool it may not call
        // now.
        let may_call = |tool: &&Arc<crate::catalog::Tool>| {
            self.check_policy(tool).is_ok() && cx.view.check_access(tool).is_ok()
        };
        let Some(tool) = cx.view.find_tool(&call.name).ok().filter(may_call).cloned() else {
            return self.call_now(cx, call).await;
        };
        let arguments = call.arguments.as_deref().map(RawValue::get).unwrap_or("{}");
        let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
        // Both names of a tool mean the same call.
        let digest = call_digest(tool.name.as_str(), &arguments);
        let place = (cx.owner(), key.clone());
        let (running, replayed) = match self.keys.0.entry(place.clone()) {
            Entry::Occupied(entry) if entry.get().digest != digest => {
                drop(entry);
                return self.record_replay(&cx, &call, Err(key_conflict_error())).await.stored;
            }
            Entry::Occupied(entry) => (entry.get().clone(), true),
            Entry::Vacant(entry) => {
                let running = Arc::new(RunningCall { digest, outcome: watch::Sender::new(None) });
                entry.insert(running.clone());
                self.spawn_keyed(&cx, &call, place, &running);
                (running, false)
            }
        };
        let mut outcome = running.outcome.subscribe();
        let outcome = tokio::select! {
            biased;
            () = self.caller_left(&cx) => {
                let text = "The caller disconnected; the call continues, and its outcome is available under its key.";
                return Err(ToolError::new(ErrorCode::Cancelled, text));
            }
            ended = outcome.wait_for(Option::is_some) => match ended.map(|outcome| outcome.clone()) {
                Ok(Some(outcome)) => outcome,
                Ok(None) | Err(_) => {
                    RedactedOutcome::unchanged(Err(outcome_unknown_error("ended without an outcome")))
                }
            },
        };
        if replayed {
            self.record_replay(&cx, &call, outcome.stored.clone()).await;
        }
        self.redaction.read_outcome(&cx, outcome)
    }

    /// Returns when the caller disconnects. A server stop that cuts calls off does not count: then the call itself ends
    /// with an error.
    async fn caller_left(&self, cx: &CallContext) {
        cx.cancel.cancelled().await;
        if self.cut_off.is_cancelled() {
            std::future::pending().await
        }
    }

    /// Runs the call on its own task, so that it outlives the request that started it.
    fn spawn_keyed(
        self: &Arc<Self>,
        cx: &CallContext,
        call: &ToolCall,
        place: OwnedKey,
        running: &Arc<RunningCall>,
    ) {
        let (executor, mut cx, call, running) = (self.clone(), cx.clone(), call.clone(), running.clone());
        cx.cancel = self.cut_off.child_token();
        self.tasks.spawn(async move {
            let outcome = executor.run_claimed(cx, call, running.digest, &place.1).await;
            // Removed from the table first: from now on a retry asks the ledger, which has the outcome or keeps it
            // until it can be written.
            executor.keys.0.remove(&place);
            running.outcome.send_replace(Some(outcome));
        });
    }

    /// Claims the key and runs the call.
    async fn run_claimed(
        self: &Arc<Self>,
        cx: CallContext,
        call: ToolCall,
        digest: [u8; 32],
        key: &Arc<str>,
    ) -> RedactedOutcome {
        let at = self.clock.now();
        let limits = self.limits.load_full();
        let lifetime =
            jiff::SignedDuration::try_from(limits.key_lifetime).unwrap_or(jiff::SignedDuration::MAX);
        let claim = KeyClaim {
            owner: cx.owner(),
            key: key.clone(),
            digest,
            call: cx.id.clone(),
            at,
            expired_before: at.checked_sub(lifetime).unwrap_or(jiff::Timestamp::MIN),
            quota: KeyQuota { keys: limits.user_keys, bytes: limits.user_key_bytes },
        };
        let found = match self.ledger.claim_key(&claim).await {
            Ok(ClaimOutcome::Fresh) => None,
            Ok(ClaimOutcome::Conflict) => Some(Err(key_conflict_error())),
            Ok(ClaimOutcome::Open) => {
                Some(Err(outcome_unknown_error("was cut off when its server stopped or crashed")))
            }
            Ok(ClaimOutcome::Running) => Some(Err(still_running_error())),
            Ok(ClaimOutcome::QuotaReached) => Some(Err(key_quota_error(&limits))),
            Ok(ClaimOutcome::Done(stored)) => Some(outcome::decode(stored)),
            Err(error) => Some(Err(error.into())),
        };
        if let Some(found) = found {
            return self.record_replay(&cx, &call, found).await;
        }
        let cut_off = cx.cancel.clone();
        let (outcome, record) = self.run_measured(cx, &call).await;
        if cut_off.is_cancelled()
            && outcome.stored.as_ref().is_err_and(|error| error.code == ErrorCode::Cancelled)
        {
            // The key stays open: the next process reports the outcome as unknown.
            self.ledger.record_call(record).await;
            return outcome;
        }
        let end = match &outcome.stored {
            Err(error) if error.retryable || did_not_run(error.code) => KeyEnd::Release,
            // The caller will come back under the same key, with input, or after the user has answered or signed in.
            Ok(
                CallReply::AwaitingInput(_) | CallReply::AwaitingApproval(_) | CallReply::AwaitingSignIn(_),
            ) => KeyEnd::Release,
            outcome => KeyEnd::Keep(
                outcome::encode(outcome).filter(|text| text.len() <= self.limits.load().key_outcome_bytes),
            ),
        };
        if let Err(error) = self.ledger.end_key(&claim, end, record).await {
            tracing::error!(%error, call = %claim.call, "key outcome not stored yet");
        }
        outcome
    }

    /// Records and logs an outcome that was replayed, not produced by this call.
    async fn record_replay(
        &self,
        cx: &CallContext,
        call: &ToolCall,
        outcome: CallOutcome,
    ) -> RedactedOutcome {
        // The key may come from another conversation, which now has the result too.
        self.record_labels(cx, call, &outcome).await;
        let mut record = record::build_record(
            cx,
            call,
            &outcome,
            self.clock.now(),
            &mut StepTimer::start(),
            self.limits.load().error_message_bytes,
        );
        if let Some(record) = Arc::get_mut(&mut record) {
            record.replayed = true;
        }
        self.publish_record(&record, &outcome, CallSecretCounts::default());
        self.ledger.record_call(record).await;
        RedactedOutcome::unchanged(outcome)
    }
}

/// Whether an error code means that the tool surely did not run, so that the key can be reused.
fn did_not_run(code: ErrorCode) -> bool {
    match code {
        ErrorCode::InvalidRequest
        | ErrorCode::InvalidToolName
        | ErrorCode::ToolNotFound
        | ErrorCode::InvalidArguments
        | ErrorCode::Conflict
        | ErrorCode::Denied
        | ErrorCode::RateLimited
        | ErrorCode::Overloaded
        | ErrorCode::AppNotAvailable
        | ErrorCode::ToolNotHandled
        | ErrorCode::NetworkError => true,
        ErrorCode::Timeout
        | ErrorCode::HttpError
        | ErrorCode::InvalidResponse
        | ErrorCode::ExecutionError
        | ErrorCode::HandlerError
        | ErrorCode::OutcomeUnknown
        | ErrorCode::Cancelled => false,
    }
}

fn key_conflict_error() -> ToolError {
    let text = "This idempotency key was used for another call; give each call a key of its own.";
    ToolError::new(ErrorCode::Conflict, text)
}

fn still_running_error() -> ToolError {
    let text = "The call under this idempotency key has not ended, or its outcome is still being written. \
                Retry with the same key to get its outcome.";
    ToolError::new(ErrorCode::Overloaded, text).retry_after(RETRY_RUNNING)
}

fn key_quota_error(limits: &CallLimits) -> ToolError {
    let text = format!(
        "This user has {} idempotency keys in use, and no more are taken; a key is free again {} s after its call. \
         The tool did not run. Retry later, or make the call without a key.",
        limits.user_keys,
        limits.key_lifetime.as_secs()
    );
    ToolError::new(ErrorCode::RateLimited, text).retry_after(RETRY_FULL)
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::error::RetryRule;

    use super::*;

    #[test]
    fn a_code_that_is_always_retryable_frees_the_key() {
        for code in ErrorCode::ALL {
            if code.retry_rule() == RetryRule::Yes {
                assert!(did_not_run(code), "{code}: a retry under the same key would not run");
            }
        }
        // The tool may have run: the key must stay taken.
        for code in
            [ErrorCode::Timeout, ErrorCode::Cancelled, ErrorCode::OutcomeUnknown, ErrorCode::HttpError]
        {
            assert!(!did_not_run(code), "{code}");
        }
    }
}
