//! How every door runs a call: on a tracked task, so that it is recorded even if the client disconnects.

use std::sync::Arc;

use http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_core::{
    CallContext, CallOwner, Caller, CatalogView, Door, ToolCall, ToolError,
    catalog::ViewScope,
    executor::{CallOutcome, CallerInput, DeliveryMark, TraceContext},
    ports::{CallerAbilities, NoticeSink, StoreError},
};
use toolyard_protocol::{
    CallId, ErrorCode,
    call::{CONVERSATION_HEADER, IDEMPOTENCY_KEY, MAX_KEY_CHARS},
    mcp::meta,
    text::truncate_chars,
    trace::TraceParent,
    visible::strip_invisible,
};

use crate::{auth::CallerContext, state::ServerState};

/// Longest name of a client program that is shown, in characters.
const MAX_CLIENT_CHARS: usize = 80;

/// Longest id of a conversation, in bytes.
pub(crate) const MAX_CONVERSATION_BYTES: usize = 200;

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
    /// The client program, if it named itself.
    pub(crate) client: Option<Arc<str>>,
    /// The conversation or MCP session.
    pub(crate) conversation: Option<Arc<str>>,
    /// What stands in for a conversation if none is named.
    pub(crate) session: Option<Arc<str>>,
    /// What the user wrote in the chat, in lower case.
    pub(crate) user_text: Option<Arc<str>>,
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
            client: None,
            conversation: None,
            session: None,
            user_text: None,
        }
    }

    /// Adds the trace parent, the conversation and the idempotency key of the headers.
    pub(crate) fn with_headers(
        mut self,
        headers: &HeaderMap,
        who: &CallerContext,
    ) -> Result<Self, ToolError> {
        let text = |name: &str| headers.get(name).and_then(|text| text.to_str().ok());
        self.parent = text(meta::TRACEPARENT).and_then(|text| text.parse().ok());
        self.client = client_name(headers);
        self.conversation = named_conversation(headers, who)?;
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

/// The client program, if it named itself.
pub(crate) fn client_name(headers: &HeaderMap) -> Option<Arc<str>> {
    headers.get(header::USER_AGENT)?.to_str().ok().and_then(shown_client_name)
}

/// The name of a client program as people see it: one short line.
pub(crate) fn shown_client_name(name: &str) -> Option<Arc<str>> {
    let visible = strip_invisible(name);
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| truncate_chars(&line, MAX_CLIENT_CHARS).into())
}

/// What stands in for a conversation if a caller names none: everything that it does with one credential. A person over REST
/// is no model, and reads what they like.
pub(crate) fn session_id(door: Door, who: &CallerContext) -> Option<Arc<str>> {
    match (door, &who.caller) {
        (Door::Rest, Caller::User | Caller::Person(_)) => None,
        (Door::Rest, Caller::App(_) | Caller::Client(_)) | (Door::Legacy | Door::Mcp | Door::Chat, _) => {
            let token = who.lease.token_id().map_or("-", |id| id.as_str());
            Some(format!("session:{}:{token}", who.caller).into())
        }
    }
}

/// The id of a conversation that a caller named. Each caller has its own, because ids come from the client. Only a digest of it
/// is stored, and another spelling in upper or lower case is not a new conversation.
pub(crate) fn conversation_id(kind: &str, who: &CallerContext, id: &str) -> Option<Arc<str>> {
    let fits = !id.is_empty() && id.len() <= MAX_CONVERSATION_BYTES;
    let digest = || hex::encode(Sha256::digest(id.to_ascii_lowercase()));
    fits.then(|| format!("{kind}:{}:{}", who.caller, digest()).into())
}

/// The conversation that the headers name.
fn named_conversation(headers: &HeaderMap, who: &CallerContext) -> Result<Option<Arc<str>>, ToolError> {
    let Some(value) = headers.get(CONVERSATION_HEADER) else { return Ok(None) };
    let id = value.to_str().ok().and_then(|id| conversation_id("rest", who, id));
    let text = format!("X-Conversation-Id: expected 1 to {MAX_CONVERSATION_BYTES} visible ASCII characters.");
    id.map(Some).ok_or_else(|| ToolError::new(ErrorCode::InvalidRequest, text))
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
    who: CallOwner,
    scope: ViewScope,
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
            let view = state.catalog.view(&who.user, scope).await;
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
        client: asked.client,
        conversation: asked.conversation,
        session: asked.session,
        user_text: asked.user_text,
        approval: None,
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
    mut asked: CallRequest,
) -> Result<CallHandle, ToolError> {
    let owner = who.call_owner();
    asked.session = session_id(asked.door, &who);
    let (cx, cancel) = build_call_context(state, owner, who.scope, asked).await?;
    let (shared, began, id) = (state.clone(), Instant::now(), cx.id.clone());
    let task = state.lifecycle.calls.spawn(async move {
        let outcome = shared.executor.call(cx, call).await;
        shared.call_metrics.record_call(&outcome, began.elapsed().as_secs_f64());
        outcome
    });
    Ok(CallHandle { id, task, leave: cancel.drop_guard() })
}
