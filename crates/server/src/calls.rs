//! How every door runs a call: on a tracked task, so that it is recorded also when the client leaves.

use std::sync::Arc;

use http::HeaderMap;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_core::{
    CallContext, Door, ToolCall, ToolError,
    executor::{Outcome, TraceContext},
    ports::{CallerAbilities, ProgressSink, StoreError},
};
use toolyard_protocol::{
    CallId, ErrorCode,
    call::{IDEMPOTENCY_KEY, MAX_KEY_CHARS},
};

use crate::{auth::ActingFor, state::AppState};

/// A call under way. Dropping it tells the executor that the caller left.
pub(crate) struct Running {
    pub(crate) id: CallId,
    task: tokio::task::JoinHandle<Outcome>,
    leave: DropGuard,
}

impl Running {
    pub(crate) async fn outcome(self) -> Outcome {
        let outcome = self.task.await;
        self.leave.disarm();
        outcome.unwrap_or_else(|error| {
            Err(ToolError::new(ErrorCode::ExecutionError, "The platform failed while running the tool.")
                .because(error))
        })
    }
}

/// The caller's idempotency key, if there is one.
pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<Arc<str>>, ToolError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= MAX_KEY_CHARS);
    key.map(|key| Some(key.into())).ok_or_else(|| {
        let text = format!("Idempotency-Key: expected 1 to {MAX_KEY_CHARS} visible ASCII characters.");
        ToolError::new(ErrorCode::InvalidRequest, text)
    })
}

/// Starts a call for whoever acts.
pub(crate) async fn start(
    state: &AppState,
    who: ActingFor,
    door: Door,
    headers: &HeaderMap,
    call: ToolCall,
    progress: ProgressSink,
) -> Result<Running, ToolError> {
    if state.lifecycle.stopping.is_cancelled() {
        return Err(ToolError::new(ErrorCode::Overloaded, "The server is stopping; try again shortly."));
    }
    let key = key_of(headers)?;
    let view =
        state.catalog.view(&who.user, who.scope).await.map_err(|error: StoreError| ToolError::from(error))?;
    let (id, cancel) = (state.ids.call(state.clock.now()), CancellationToken::new());
    let cx = CallContext {
        id: id.clone(),
        user: who.user,
        caller: who.caller,
        door,
        view,
        cancel: cancel.clone(),
        progress,
        abilities: CallerAbilities::default(),
        trace: trace_of(state, headers),
        key,
        deadline: Instant::now(),
    };
    let (shared, began) = (state.clone(), Instant::now());
    let task = state.lifecycle.calls.spawn(async move {
        let outcome = shared.executor.call(cx, call).await;
        shared.call_metrics.ended(&outcome, began.elapsed().as_secs_f64());
        outcome
    });
    Ok(Running { id, task, leave: cancel.drop_guard() })
}

fn trace_of(state: &AppState, headers: &HeaderMap) -> TraceContext {
    let parent =
        headers.get("traceparent").and_then(|text| text.to_str().ok()).and_then(|text| text.parse().ok());
    let new_trace = || u128::from(state.ids.number()) << 64 | u128::from(state.ids.number());
    TraceContext::new(parent, new_trace, state.ids.number())
}
