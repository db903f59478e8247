//! `/api/tools`: lists and calls the user's tools.

use std::sync::Arc;
use std::{borrow::Cow, convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use toolyard_core::Catalog;
use toolyard_core::{
    CallReply, Door, ToolCall, ToolError,
    executor::CallOutcome,
    ports::{CallNotice, NoticeSink},
};
use toolyard_protocol::{
    ErrorCode, JsonLine,
    approval::{PendingCall, PendingSignIn, ToolLabelInfo, ToolLabelList},
    call::{CONVERSATION_HEADER, ExecuteRequest, IDEMPOTENCY_KEY},
    result::{RestResult, ToolResult},
    tool::Category,
    upstream::upstream_id,
};

use super::HandlerResult;
use crate::{
    approvals::pending_approval,
    auth::CallerContext,
    body::JsonBytes,
    calls::{self, CallHandle, CallRequest},
    error::{RequestError, call_error_response, json_response},
    events,
    extract::QueryParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Progress messages queued for a slow caller. More are dropped.
const PROGRESS_QUEUE: usize = 32;
/// Interval of keep-alive comments on a silent event stream.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Documents the body of a call. The handler reads it raw.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ExecuteBody {
    /// Canonical name or alias.
    name: String,
    /// The arguments. Default: empty.
    arguments: Option<serde_json::Map<String, Value>>,
}

/// Documents a listing.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ToolListBody {
    /// MCP tool definitions under their canonical names.
    tools: Vec<Value>,
    /// With `hidden=true`: hidden tools and the reasons.
    hidden: Option<Vec<toolyard_protocol::api::HiddenTool>>,
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/tools",
            RouteAccess::Caller,
            "The tools that this user can call",
            list_tools,
        )
        .query(&[
            ("category", "Only tools of this category"),
            ("hidden", "`true` also lists hidden tools, with reasons"),
        ])
        .response_body::<ToolListBody>(),
        Route::new(
            Method::GET,
            "/api/tools/labels",
            RouteAccess::Caller,
            "What this user's tools do with data: read private data, read content from outside, send data out",
            list_labels,
        )
        .response_body::<ToolLabelList>(),
        Route::new(
            Method::POST,
            "/api/tools/execute",
            RouteAccess::Caller,
            "Calls a tool; with `Accept: text/event-stream` it sends progress as events, then the result",
            execute_tool,
        )
        .headers(&[
            (IDEMPOTENCY_KEY, "Calls with the same key run once; keys are kept for a day"),
            ("traceparent", "The trace to continue"),
            (CONVERSATION_HEADER, "Your id of the conversation that the call belongs to"),
        ])
        .request_body::<ExecuteBody>()
        .response_body::<RestResult<'static>>()
        .error_body::<RestResult<'static>>(),
    ]
}

#[derive(Deserialize)]
struct ToolListQuery {
    category: Option<String>,
    hidden: Option<String>,
}

async fn list_tools(
    State(catalog): State<Arc<Catalog>>,
    who: CallerContext,
    QueryParams(query): QueryParams<ToolListQuery>,
    headers: HeaderMap,
) -> HandlerResult {
    let category = query
        .category
        .as_deref()
        .map(str::parse::<Category>)
        .transpose()
        .map_err(RequestError::invalid_request)?;
    let view = catalog.view(&who.user, who.scope).await?;
    let listing = match query.hidden.as_deref() {
        Some("true" | "1") => view.listing_with_hidden(category),
        _ => view.listing(category),
    };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let unchanged = known
        .is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == &*listing.etag || tag.trim() == "*"));
    let mut response = if unchanged {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], listing.body).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(etag) = HeaderValue::try_from(&*listing.etag) {
        headers.insert(header::ETAG, etag);
    }
    Ok(response)
}

async fn list_labels(State(state): State<ServerState>, who: CallerContext) -> HandlerResult {
    let view = state.catalog.view(&who.user, who.scope).await?;
    let tracker = state.approvals.data_flow();
    let tools = view.tools().map(|tool| {
        let found = tracker.tool_labels(tool);
        let (labels, by_operator) = (found.labels.iter().collect(), found.by_operator);
        ToolLabelInfo { tool: tool.name.clone(), labels, by_operator }
    });
    let list = ToolLabelList { data_flow: tracker.policy(), tools: tools.collect() };
    Ok(json_response(StatusCode::OK, &list))
}

async fn execute_tool(
    State(state): State<ServerState>,
    who: CallerContext,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Response {
    let call = match read_call(&body) {
        Ok(call) => call,
        Err(error) => return call_error_response(&error),
    };
    if wants_events(&headers) {
        return Box::pin(execute_with_progress(&state, who, &headers, call)).await;
    }
    let started = match CallRequest::new(Door::Rest).with_headers(&headers, &who) {
        Ok(request) => calls::start_call(&state, who, call, request).await,
        Err(error) => Err(error),
    };
    match started {
        Ok(running) => with_call_id(&running.id.clone(), outcome_response(&running.outcome().await)),
        Err(error) => call_error_response(&error),
    }
}

fn read_call(body: &[u8]) -> Result<ToolCall, ToolError> {
    let request: ExecuteRequest<'_> = serde_json::from_slice(body).map_err(|error| {
        let text = format!("The body is not a call: expected {{\"name\", \"arguments\"}}; {error}.");
        ToolError::new(ErrorCode::InvalidRequest, text)
    })?;
    let name = request.name.parse().map_err(|error: toolyard_protocol::InvalidName| {
        ToolError::new(ErrorCode::InvalidToolName, error.to_string())
    })?;
    Ok(ToolCall { name, arguments: request.arguments.map(ToOwned::to_owned) })
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accepts.is_some_and(|accept| accept.split(',').any(|kind| kind.trim().starts_with("text/event-stream")))
}

/// The response to a finished call.
pub(crate) fn outcome_response(outcome: &CallOutcome) -> Response {
    match rest_outcome(outcome) {
        RestOutcome::Done(result) => json_response(StatusCode::OK, &RestResult::from_result(result)),
        RestOutcome::Waiting(pending) => {
            json_response(StatusCode::ACCEPTED, &RestResult::from_pending(pending))
        }
        RestOutcome::Failed(error) => call_error_response(&error),
    }
}

/// The outcome for REST.
enum RestOutcome<'a> {
    Done(&'a ToolResult),
    Waiting(PendingCall),
    Failed(Cow<'a, ToolError>),
}

fn rest_outcome(outcome: &CallOutcome) -> RestOutcome<'_> {
    match outcome {
        Ok(CallReply::Done(result)) => match error_in_result(result) {
            Some(error) => RestOutcome::Failed(Cow::Owned(error)),
            None => RestOutcome::Done(result),
        },
        Ok(CallReply::AwaitingApproval(awaited)) => {
            RestOutcome::Waiting(PendingCall::Approval(pending_approval(awaited)))
        }
        Ok(CallReply::AwaitingSignIn(awaited)) => RestOutcome::Waiting(PendingCall::SignIn(PendingSignIn {
            id: upstream_id(&awaited.package).to_owned(),
            name: awaited.name.clone(),
            url: awaited.url.clone(),
        })),
        // REST has one response per call, so tools that ask for input do not work.
        Ok(CallReply::AwaitingInput(_)) => {
            let text = "This tool asks for more input, which is not possible over REST.";
            RestOutcome::Failed(Cow::Owned(ToolError::new(ErrorCode::Denied, text)))
        }
        Err(error) => RestOutcome::Failed(Cow::Borrowed(error)),
    }
}

/// The error of a result that is marked as one.
pub(crate) fn error_in_result(result: &ToolResult) -> Option<ToolError> {
    result.mcp.is_error().then(|| {
        let text = result.mcp.all_text();
        let text = if text.is_empty() { "The tool failed and did not say why.".to_owned() } else { text };
        ToolError::new(ErrorCode::ExecutionError, text)
    })
}

fn with_call_id(id: &toolyard_protocol::CallId, mut response: Response) -> Response {
    if let Ok(id) = HeaderValue::try_from(id.as_str()) {
        response.headers_mut().insert("x-toolyard-call-id", id);
    }
    response
}

/// Sends `event: progress` events, then one `event: result` with the same body as without events.
async fn execute_with_progress(
    state: &ServerState,
    who: CallerContext,
    headers: &HeaderMap,
    call: ToolCall,
) -> Response {
    let (sink, progress) = mpsc::channel(PROGRESS_QUEUE);
    let started = match CallRequest::new(Door::Rest).with_headers(headers, &who) {
        Ok(request) => calls::start_call(state, who, call, request.with_notices(NoticeSink::new(sink))).await,
        Err(error) => Err(error),
    };
    match started {
        Ok(running) => {
            let id = running.id.clone();
            let events =
                Sse::new(call_events(running, progress)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
            with_call_id(&id, events.into_response())
        }
        Err(error) => call_error_response(&error),
    }
}

fn call_events(
    running: CallHandle,
    notices: mpsc::Receiver<CallNotice>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    enum EventsState {
        Running(Box<(CallHandle, mpsc::Receiver<CallNotice>)>),
        Over,
    }
    futures_util::stream::unfold(EventsState::Running(Box::new((running, notices))), |at| async {
        let EventsState::Running(mut at) = at else { return None };
        // The call owns the sender, so the queue ends with the call.
        while let Some(notice) = at.1.recv().await {
            if let CallNotice::Progress(step) = notice {
                let event = events::named_event("progress", &JsonLine::new(&step));
                return Some((Ok(event), EventsState::Running(at)));
            }
        }
        let outcome = at.0.outcome().await;
        let event = events::named_event("result", &result_line(&outcome));
        Some((Ok(event), EventsState::Over))
    })
}

fn result_line(outcome: &CallOutcome) -> JsonLine {
    match rest_outcome(outcome) {
        RestOutcome::Done(result) => JsonLine::new(&RestResult::from_result(result)),
        RestOutcome::Waiting(pending) => JsonLine::new(&RestResult::from_pending(pending)),
        RestOutcome::Failed(error) => JsonLine::new(&RestResult::from_error(error.to_wire())),
    }
}
