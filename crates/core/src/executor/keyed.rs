//! A call under a caller's key is made once.
//!
//! The key is durable before the tool runs. Whoever comes with the same key while it runs waits for the same outcome;
//! whoever comes later gets the recorded one. The call runs on its own task, so one waiter leaving does not cancel the
//! others; when the last one left, it is cancelled. A key that was found open and that nobody here is working on belongs
//! to a server that died: what came of it is unknown, and it is never run again.

use std::sync::{Arc, Mutex, PoisonError};

use dashmap::{DashMap, Entry};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::{
    ErrorCode, UserId,
    error::WireError,
    result::{McpResult, ResultExtensions, ToolResult},
};

use super::{CallContext, Executor, Outcome, Reply, ToolCall, record, steps::Steps};
use crate::{
    error::ToolError,
    ports::{Claim, KeyClaim, KeyEnd, digest_of},
};

type Key = (UserId, Arc<str>);

/// Calls under a key that run on this node.
#[derive(Default)]
pub(super) struct KeyTable(DashMap<Key, Arc<Running>>);

/// One such call.
struct Running {
    digest: [u8; 32],
    outcome: watch::Sender<Option<Outcome>>,
    waiters: Mutex<usize>,
    cancel: CancellationToken,
}

/// One caller that waits; when the last one goes, the call is cancelled.
struct Waiter(Arc<Running>);

impl Waiter {
    /// None where the last one has just left and the call is being cancelled.
    fn join(running: &Arc<Running>) -> Option<Self> {
        let mut waiters = running.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        (*waiters > 0).then(|| {
            *waiters += 1;
            Self(running.clone())
        })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiters = self.0.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        *waiters -= 1;
        if *waiters == 0 {
            self.0.cancel.cancel();
        }
    }
}

impl Executor {
    pub(super) async fn call_once(self: &Arc<Self>, cx: CallContext, call: ToolCall) -> Outcome {
        let Some(key) = cx.key.clone() else { return self.call_now(cx, call).await };
        let arguments = call.arguments.as_deref().map(RawValue::get).unwrap_or("{}");
        let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
        // Either name of a tool is the same call.
        let tool =
            cx.view.find(&call.name).map_or_else(|_| call.name.to_string(), |tool| tool.name.to_string());
        let digest = digest_of(&tool, &arguments);
        let place = (cx.user.clone(), key.clone());
        let (waiter, replayed) = match self.keys.0.entry(place.clone()) {
            Entry::Occupied(entry) if entry.get().digest != digest => {
                drop(entry);
                return self.told(&cx, &call, Err(conflict())).await;
            }
            Entry::Occupied(entry) => match Waiter::join(entry.get()) {
                Some(waiter) => (waiter, true),
                None => {
                    drop(entry);
                    return self.told(&cx, &call, Err(unknown("is being cancelled"))).await;
                }
            },
            Entry::Vacant(entry) => {
                let running = Arc::new(Running {
                    digest,
                    outcome: watch::Sender::new(None),
                    waiters: Mutex::new(1),
                    cancel: CancellationToken::new(),
                });
                entry.insert(running.clone());
                self.start(&cx, &call, digest, place, &running);
                (Waiter(running), false)
            }
        };
        let mut outcome = waiter.0.outcome.subscribe();
        let outcome = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "The caller went away.")),
            ended = outcome.wait_for(Option::is_some) => match ended.map(|outcome| outcome.clone()) {
                Ok(Some(outcome)) => outcome,
                Ok(None) | Err(_) => Err(unknown("ended without an outcome")),
            },
        };
        drop(waiter);
        if replayed { self.told(&cx, &call, outcome).await } else { outcome }
    }

    /// Runs the call on a task of its own, so that it outlives the request that began it.
    fn start(
        self: &Arc<Self>,
        cx: &CallContext,
        call: &ToolCall,
        digest: [u8; 32],
        place: Key,
        running: &Arc<Running>,
    ) {
        let (executor, mut cx, call, running) = (self.clone(), cx.clone(), call.clone(), running.clone());
        cx.cancel = running.cancel.clone();
        self.tasks.spawn(async move {
            let outcome = executor.claimed(cx, call, digest, &place.1).await;
            // Gone from the table first: whoever comes now asks the ledger, which has it.
            executor.keys.0.remove(&place);
            running.outcome.send_replace(Some(outcome));
        });
    }

    async fn claimed(
        self: &Arc<Self>,
        cx: CallContext,
        call: ToolCall,
        digest: [u8; 32],
        key: &Arc<str>,
    ) -> Outcome {
        let at = self.clock.now();
        let lifetime =
            jiff::SignedDuration::try_from(self.limits.key_lifetime).unwrap_or(jiff::SignedDuration::MAX);
        let claim = KeyClaim {
            user: cx.user.clone(),
            key: key.clone(),
            digest,
            call: cx.id.clone(),
            at,
            expired_before: at.checked_sub(lifetime).unwrap_or(jiff::Timestamp::MIN),
        };
        match self.ledger.begin(&claim).await {
            Ok(Claim::Fresh) => {}
            Ok(Claim::Conflict) => return self.told(&cx, &call, Err(conflict())).await,
            Ok(Claim::Open) => return self.told(&cx, &call, Err(unknown("was cut off by a crash"))).await,
            Ok(Claim::Done(stored)) => return self.told(&cx, &call, revive(stored)).await,
            Err(error) => return self.told(&cx, &call, Err(error.into())).await,
        }
        let (outcome, record) = self.measured(cx, &call).await;
        let end = match &outcome {
            Err(error) if error.retryable || did_not_run(error.code) => KeyEnd::Release,
            // The caller comes back with more, under the same key.
            Ok(Reply::AwaitingClient | Reply::AwaitingApproval | Reply::AwaitingInput(_)) => KeyEnd::Release,
            outcome => {
                KeyEnd::Keep(store(outcome).filter(|text| text.len() <= self.limits.key_outcome_bytes))
            }
        };
        if let Err(error) = self.ledger.end(&claim, end, record).await {
            tracing::error!(%error, call = %claim.call, "the outcome under a key could not be stored");
        }
        outcome
    }

    /// An outcome that was found, not made: recorded and logged like any other.
    async fn told(&self, cx: &CallContext, call: &ToolCall, outcome: Outcome) -> Outcome {
        let mut record = record::of(cx, call, &outcome, self.clock.now(), &mut Steps::start());
        if let Some(record) = Arc::get_mut(&mut record) {
            record.replayed = true;
        }
        self.tell(&record, &outcome);
        self.ledger.record(record).await;
        outcome
    }
}

/// Whether a code says that the tool surely did not run, so that the key may be used again.
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
        | ErrorCode::NetworkError => true,
        ErrorCode::Timeout
        | ErrorCode::HttpError
        | ErrorCode::InvalidResponse
        | ErrorCode::ToolNotHandled
        | ErrorCode::ExecutionError
        | ErrorCode::HandlerError
        | ErrorCode::OutcomeUnknown
        | ErrorCode::Cancelled => false,
    }
}

fn conflict() -> ToolError {
    let text = "This idempotency key was used for another call; give each call a key of its own.";
    ToolError::new(ErrorCode::Conflict, text)
}

fn unknown(why: &str) -> ToolError {
    let text = format!(
        "The call under this idempotency key {why}: it may or may not have run, and is not run again."
    );
    ToolError::new(ErrorCode::OutcomeUnknown, text)
}

/// An outcome as the ledger keeps it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kept {
    Done { mcp: Box<RawValue>, extensions: ResultExtensions },
    Failed(WireError),
}

fn store(outcome: &Outcome) -> Option<String> {
    let kept = match outcome {
        Ok(Reply::Done(result)) => {
            Kept::Done { mcp: result.mcp.raw().to_owned(), extensions: result.extensions.clone() }
        }
        Err(error) => Kept::Failed(error.to_wire()),
        Ok(Reply::AwaitingClient | Reply::AwaitingApproval | Reply::AwaitingInput(_)) => return None,
    };
    serde_json::to_string(&kept).ok()
}

fn revive(stored: Option<String>) -> Outcome {
    let Some(text) = stored else {
        return Err(ToolError::new(
            ErrorCode::OutcomeUnknown,
            "The call under this idempotency key was made, but its result was too large to keep. It is not run again.",
        ));
    };
    let damaged = || unknown("has a damaged record");
    match serde_json::from_str(&text).map_err(|error| damaged().because(error))? {
        Kept::Done { mcp, extensions } => {
            Ok(Reply::Done(ToolResult { mcp: McpResult::from_raw(mcp).ok_or_else(damaged)?, extensions }))
        }
        Kept::Failed(error) => {
            let mut failed = ToolError::new(error.code, error.message);
            failed.retryable = error.retryable;
            Err(failed)
        }
    }
}
