//! `/api/tools`: what the user can call, and calling it.

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
use toolyard_core::{
    Door, Reply, ToolCall, ToolError,
    executor::Outcome,
    ports::{Notice, NoticeSink},
};
use toolyard_protocol::{
    ErrorCode, JsonLine,
    call::{ExecuteRequest, IDEMPOTENCY_KEY},
    result::{RestResult, ToolResult},
    tool::Category,
};

use super::Answer;
use crate::{
    auth::ActingFor,
    body::JsonBytes,
    calls::{self, Asked, Running},
    error::{Failure, call_failed, json},
    events,
    extract::Query,
    routes::{Access, Route},
    state::AppState,
};

/// Progress messages that wait for a slow caller; more are dropped.
const PROGRESS_QUEUE: usize = 32;
/// How often a silent event stream says that it is alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Documents the body of a call; the door itself reads it raw.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ExecuteBody {
    /// Canonical name or alias.
    name: String,
    /// The arguments; missing is the same as empty.
    arguments: Option<serde_json::Map<String, Value>>,
}

/// Documents a listing.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ListBody {
    /// MCP tool definitions under their canonical names.
    tools: Vec<Value>,
    /// With `hidden=true`: what is not in the list, and why.
    hidden: Option<Vec<toolyard_protocol::api::HiddenTool>>,
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/tools", Access::Acting, "The tools that this user can call", list)
            .query(&[
                ("category", "Only of this category"),
                ("hidden", "`true` lists hidden tools with reasons as well"),
            ])
            .gives::<ListBody>(),
        Route::new(
            Method::POST,
            "/api/tools/execute",
            Access::Acting,
            "Calls a tool; `Accept: text/event-stream` gets progress as events, then the result",
            execute,
        )
        .headers(&[
            (IDEMPOTENCY_KEY, "A call under the same key is made once; kept for a day"),
            ("traceparent", "The trace to go on with"),
        ])
        .takes::<ExecuteBody>()
        .gives::<RestResult<'static>>()
        .fails::<RestResult<'static>>(),
    ]
}

#[derive(Deserialize)]
struct ListQuery {
    category: Option<String>,
    hidden: Option<String>,
}

async fn list(
    State(state): State<AppState>,
    who: ActingFor,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
) -> Answer {
    let category =
        query.category.as_deref().map(str::parse::<Category>).transpose().map_err(Failure::invalid)?;
    let view = state.catalog.view(&who.user, who.scope).await?;
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

async fn execute(
    State(state): State<AppState>,
    who: ActingFor,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Response {
    let call = match read_call(&body) {
        Ok(call) => call,
        Err(error) => return call_failed(&error),
    };
    if wants_events(&headers) {
        return Box::pin(execute_with_progress(&state, who, &headers, call)).await;
    }
    let started = match Asked::through(Door::Rest).with_headers(&headers) {
        Ok(asked) => calls::start(&state, who, call, asked).await,
        Err(error) => Err(error),
    };
    match started {
        Ok(running) => with_id(&running.id.clone(), answer(&running.outcome().await)),
        Err(error) => call_failed(&error),
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

/// The answer to a finished call.
pub(crate) fn answer(outcome: &Outcome) -> Response {
    match told(outcome) {
        Ok(result) => json(StatusCode::OK, &RestResult::done(result)),
        Err(error) => call_failed(&error),
    }
}

/// What REST tells of a call: a result that worked, or an error.
fn told(outcome: &Outcome) -> Result<&ToolResult, Cow<'_, ToolError>> {
    match outcome {
        Ok(Reply::Done(result)) => match failure_in(result) {
            Some(error) => Err(Cow::Owned(error)),
            None => Ok(result),
        },
        // REST has one response a call: a tool that asks for more cannot be called through it.
        Ok(Reply::AwaitingInput(_)) => {
            let text = "This tool asks for more input, which REST cannot give.";
            Err(Cow::Owned(ToolError::new(ErrorCode::Denied, text)))
        }
        Err(error) => Err(Cow::Borrowed(error)),
    }
}

/// A result that says of itself that it is an error.
pub(crate) fn failure_in(result: &ToolResult) -> Option<ToolError> {
    result.mcp.is_error().then(|| {
        let text = result.mcp.all_text();
        let text = if text.is_empty() { "The tool failed and did not say why.".to_owned() } else { text };
        ToolError::new(ErrorCode::ExecutionError, text)
    })
}

fn with_id(id: &toolyard_protocol::CallId, mut response: Response) -> Response {
    if let Ok(id) = HeaderValue::try_from(id.as_str()) {
        response.headers_mut().insert("x-toolyard-call-id", id);
    }
    response
}

/// `event: progress` as it comes, then one `event: result` with the same body as without events.
async fn execute_with_progress(
    state: &AppState,
    who: ActingFor,
    headers: &HeaderMap,
    call: ToolCall,
) -> Response {
    let (sink, progress) = mpsc::channel(PROGRESS_QUEUE);
    let started = match Asked::through(Door::Rest).with_headers(headers) {
        Ok(asked) => calls::start(state, who, call, asked.telling(NoticeSink::new(sink))).await,
        Err(error) => Err(error),
    };
    match started {
        Ok(running) => {
            let id = running.id.clone();
            let events =
                Sse::new(told_events(running, progress)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
            with_id(&id, events.into_response())
        }
        Err(error) => call_failed(&error),
    }
}

fn told_events(
    running: Running,
    notices: mpsc::Receiver<Notice>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    enum At {
        Running(Box<(Running, mpsc::Receiver<Notice>)>),
        Over,
    }
    futures_util::stream::unfold(At::Running(Box::new((running, notices))), |at| async {
        let At::Running(mut at) = at else { return None };
        // The sink lives in the call, so the queue ends with it.
        while let Some(notice) = at.1.recv().await {
            if let Notice::Progress(step) = notice {
                let event = events::named("progress", &JsonLine::new(&step));
                return Some((Ok(event), At::Running(at)));
            }
        }
        let outcome = at.0.outcome().await;
        let event = events::named("result", &result_line(&outcome));
        Some((Ok(event), At::Over))
    })
}

fn result_line(outcome: &Outcome) -> JsonLine {
    match told(outcome) {
        Ok(result) => JsonLine::new(&RestResult::done(result)),
        Err(error) => JsonLine::new(&RestResult::failed(error.to_wire())),
    }
}
