//! How every door runs a call: on a tracked task, so that it is recorded even if the client disconnects.

use std::sync::Arc;

use http::HeaderMap;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_core::{
    CallContext, CatalogView, Door, ToolCall, ToolError,
    executor::{CallOutcome, CallerInput, DeliveryMark, TraceContext},
    ports::{CallerAbilities, NoticeSink, StoreError},
};
use toolyard_protocol::{
    CallId, ErrorCode,
    call::{IDEMPOTENCY_KEY, MAX_KEY_CHARS},
    mcp::meta,
    trace::TraceParent,
};

use crate::{auth::CallerContext, state::ServerState};

/// A call in progress. Dropping it signals that the caller has disconnected.
pub(crate) struct CallHandle {
    pub(crate) id: CallId,
    task: tokio::task::JoinHandle<CallOutcome>,
    leave: DropGuard,
}

impl CallHandle {
    pub(crate) async fn outcome(self) -> CallOutcome {
        let outcome = self.task.await;
        self.leave.disarm();
        outcome.unwrap_or_else(|error| {
            Err(ToolError::new(ErrorCode::ExecutionError, "The platform failed while running the tool.")
                .with_cause(error))
        })
    }
}

/// Everything about a call besides the tool and its arguments.
pub(crate) struct CallRequest {
    pub(crate) door: Door,
    /// The idempotency key.
    pub(crate) key: Option<Arc<str>>,
    /// The trace that the call belongs to.
    pub(crate) parent: Option<TraceParent>,
    pub(crate) baggage: Vec<(&'static str, Arc<str>)>,
    /// Receives progress and log notices.
    pub(crate) notices: NoticeSink,
    /// What the caller can do while the call runs.
    pub(crate) abilities: CallerAbilities,
    /// The caller's answers, if it resumes a call that awaited input.
    pub(crate) input: Option<CallerInput>,
    /// The view that the caller was offered, if the tool must be one of it.
    pub(crate) view: Option<CatalogView>,
}

impl CallRequest {
    pub(crate) fn new(door: Door) -> Self {
        Self {
            door,
            key: None,
            parent: None,
            baggage: Vec::new(),
            notices: NoticeSink::default(),
            abilities: CallerAbilities::default(),
            input: None,
            view: None,
        }
    }

    /// Adds the trace parent and the idempotency key of the headers.
    pub(crate) fn with_headers(mut self, headers: &HeaderMap) -> Result<Self, ToolError> {
        let text = |name: &str| headers.get(name).and_then(|text| text.to_str().ok());
        self.parent = text(meta::TRACEPARENT).and_then(|text| text.parse().ok());
        if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
            let key = key.to_str().ok().and_then(checked_key);
            self.key = Some(key.ok_or_else(|| bad_key("Idempotency-Key"))?);
        }
        Ok(self)
    }

    pub(crate) fn with_notices(mut self, notices: NoticeSink) -> Self {
        self.notices = notices;
        self
    }
}

/// The idempotency key, if it is valid.
pub(crate) fn checked_key(key: &str) -> Option<Arc<str>> {
    let fits =
        !key.is_empty() && key.len() <= MAX_KEY_CHARS && key.bytes().all(|b| (0x20..=0x7e).contains(&b));
    fits.then(|| key.into())
}

pub(crate) fn bad_key(place: &str) -> ToolError {
    let text = format!("{place}: expected 1 to {MAX_KEY_CHARS} visible ASCII characters.");
    ToolError::new(ErrorCode::InvalidRequest, text)
}

/// The context of a call, and the token that cancels it.
pub(crate) async fn build_call_context(
    state: &ServerState,
    who: CallerContext,
    asked: CallRequest,
) -> Result<(CallContext, CancellationToken), ToolError> {
    if state.lifecycle.stopping.is_cancelled() {
        return Err(ToolError::new(ErrorCode::Overloaded, "The server is stopping; try again shortly."));
    }
    if state.stores.maintenance.backlog().is_full {
        let text = "The platform cannot record calls right now, so the tool did not run; try again shortly.";
        return Err(ToolError::new(ErrorCode::Overloaded, text));
    }
    let view = match asked.view {
        Some(view) => view,
        None => {
            let view = state.catalog.view(&who.user, who.scope).await;
            view.map_err(|error: StoreError| ToolError::from(error))?
        }
    };
    let new_trace = || u128::from(state.ids.random_number()) << 64 | u128::from(state.ids.random_number());
    let cancel = state.lifecycle.cut_off.child_token();
    let cx = CallContext {
        id: state.ids.new_call_id(state.clock.now()),
        user: who.user,
        caller: who.caller,
        door: asked.door,
        view,
        cancel: cancel.clone(),
        notices: asked.notices,
        abilities: asked.abilities,
        input: asked.input,
        trace: TraceContext::new(asked.parent, new_trace, state.ids.random_number()),
        baggage: asked.baggage,
        key: asked.key,
        deadline: Instant::now(),
        delivery: DeliveryMark::default(),
    };
    Ok((cx, cancel))
}

/// Starts a call on a task of its own.
pub(crate) async fn start_call(
    state: &ServerState,
    who: CallerContext,
    call: ToolCall,
    asked: CallRequest,
) -> Result<CallHandle, ToolError> {
    let (cx, cancel) = build_call_context(state, who, asked).await?;
    let (shared, began, id) = (state.clone(), Instant::now(), cx.id.clone());
    let task = state.lifecycle.calls.spawn(async move {
        let outcome = shared.executor.call(cx, call).await;
        shared.call_metrics.record_call(&outcome, began.elapsed().as_secs_f64());
        outcome
    });
    Ok(CallHandle { id, task, leave: cancel.drop_guard() })
}
