//! The chat door: a whole conversation in, an answer out, as a stream that the client understands. Nothing of it is kept.
//!
//! | look for | in |
//! | --- | --- |
//! | from a request to a turn | `begin` |
//! | from messages to a conversation | `conversation` |
//! | which tools | `tools`, `toolset`, `platform` |
//! | the streams | `respond`, `ui`, `v1` |
//! | answers that can be heard again | `resume` |
//! | OpenAI's clients | `openai` |
//! | how many answers a user may have | `turns` |

mod begin;
mod conversation;
mod openai;
mod platform;
mod respond;
mod resume;
mod tools;
mod toolset;
mod turns;
mod ui;
mod v1;
mod words;

use std::time::Duration;

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use toolyard_agent::model::{ModelError, ModelTrouble};
use toolyard_protocol::{
    api::ApiErrorCode,
    chat::{ChatProtocol, ChatRequest, MCP_MODE_HEADER, PROTOCOL_QUERY, Role},
    mcp::meta,
};

use self::{
    begin::{Asked, NotBegun},
    respond::Writer,
    resume::TooManyReaders,
    turns::TurnRefusal,
};
pub(crate) use self::{
    resume::Replays,
    tools::{ViewTools, spec_of},
    turns::TurnGate,
};
use crate::{
    auth::{self, ActingFor, USER_HEADER},
    body,
    doors::rest::{Answer, nothing},
    error::Failure,
    extract::Query,
    routes::{Access, Route},
    state::AppState,
};

/// Which model answers.
pub(crate) const MODEL_HEADER: &str = "x-toolyard-model";
/// Characters of a tool's name in an error: as many as a good one has at most.
const MAX_SHOWN: usize = 64;

/// Documents the body of a chat; the door itself reads it in many forms.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatBody {
    /// The chat's id, the client's own; needed for `resumable`.
    id: Option<String>,
    /// The conversation, as the AI SDK sends it, version 4 or later.
    messages: Vec<serde_json::Value>,
    /// Tools that the client runs itself: `name`, `description`, `parameters`.
    client_tools: Option<Vec<serde_json::Value>>,
    /// Only tools of these categories; empty or missing is automatic choice. `interface` adds the tools of our own console.
    selected_tool_categories: Option<Vec<String>>,
    /// Most questions to the model, within the server's own bound.
    max_steps: Option<u64>,
    /// Which model, as `GET /v1/models` lists them.
    model: Option<String>,
    /// How the model shall behave.
    system: Option<String>,
    /// Whether the answer goes on without its reader for 30 s and can be heard again, as long as the server has room.
    resumable: Option<bool>,
}

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::checked_by_handler(
            Method::POST,
            "/api/chat",
            Access::Acting,
            "Answers a conversation with the user's tools, as a UI message stream or a data stream v1",
            chat,
        )
        .query(&[(PROTOCOL_QUERY, "`ui` or `v1`; where it is missing, the form of the body decides")])
        .headers(&[
            (MCP_MODE_HEADER, "`true`: this client runs no tools of our own interface"),
            ("traceparent", "The trace to go on with"),
        ])
        .takes::<ChatBody>(),
        Route::new(
            Method::GET,
            "/api/chat/{id}/stream",
            Access::Acting,
            "A resumable answer from its first word; 204 where there is none, or somebody heard it to its end",
            again,
        ),
        Route::new(Method::DELETE, "/api/chat/{id}/stream", Access::Acting, "Ends a resumable answer", stop)
            .success(204),
    ];
    routes.extend(openai::routes());
    routes
}

#[derive(Deserialize)]
struct ChatQuery {
    protocol: Option<String>,
}

async fn chat(State(state): State<AppState>, Query(query): Query<ChatQuery>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    // Whoever shows no credential in a header may have one in the body.
    let known = match shows_credential(&state, &headers) {
        true => Some(auth::acting_over_mcp(&state, &headers).await?),
        false => None,
    };
    // A stranger is read for a credential, not for a long conversation.
    let (ours, any) = (state.config.chat.body_bytes, state.config.server.body_bytes);
    let most = if known.is_some() { ours } else { ours.min(any) };
    let read = body::read(&headers, body, &state, most).await;
    let parsed = read.map(|bytes| ChatRequest::read(&bytes));
    let who = match (known, &parsed) {
        (Some(who), _) => who,
        (None, Ok(Ok(request))) => by_body(&state, &headers, request).await?,
        (None, _) => auth::acting_over_mcp(&state, &headers).await?,
    };
    let request = parsed?.map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        Failure::problems(format!("the request cannot be read: {first}"), problems)
    })?;
    let protocol = match query.protocol.as_deref() {
        Some(name) => ChatProtocol::named(name)
            .ok_or_else(|| Failure::invalid(format!("{PROTOCOL_QUERY}: expected `ui` or `v1`")))?,
        None => request.protocol,
    };
    Ok(answer(&state, who, &headers, request, protocol).await)
}

async fn answer(
    state: &AppState,
    who: ActingFor,
    headers: &HeaderMap,
    request: ChatRequest,
    protocol: ChatProtocol,
) -> Response {
    let goes_on = request.messages.last().filter(|message| message.role == Role::Assistant);
    // A message that goes on keeps its id, or has none; another one would double it on the screen.
    let message_id = match goes_on {
        Some(message) => message.id.clone(),
        None => Some(new_id(state, "msg")),
    };
    let (id, resumable, owner) = (request.id.clone(), request.resumable, who.owner());
    let key = match resumable_id(id, resumable) {
        Ok(key) => key,
        Err(failure) => return failure.into_response(),
    };
    if key.as_ref().is_some_and(|id| !state.replays.takes(&owner, id)) {
        return too_many().into_response();
    }
    let begun = match begin::begin(state, who, asked(request, headers)).await {
        Ok(begun) => begun,
        Err(NotBegun::Failure(failure)) => return failure.into_response(),
        Err(NotBegun::Model(error)) => return no_model(&error),
        Err(NotBegun::Limited(refusal)) => return limited(&refusal),
        Err(NotBegun::Unsupported(unsupported)) => {
            return Failure::invalid(format!("{:?}: {}", unsupported.option, unsupported.message()))
                .into_response();
        }
        Err(NotBegun::Tool(tool)) => {
            let problem = tool.problem("clientTools", |_, name| format!("clientTools.{}", short(name)));
            return Failure::problems(problem.to_string(), vec![problem]).into_response();
        }
    };
    let model = begun.model.clone();
    let step_id = message_id.clone().unwrap_or_else(|| new_id(state, "msg"));
    let writer = Writer::new(protocol, &step_id);
    let response = match key {
        None => respond::answer(begun, writer, protocol, message_id.as_deref()),
        Some(id) => {
            let hello = writer.hello(message_id.as_deref());
            match state.replays.begin(&owner, &id, begun, writer, hello, &state.lifecycle) {
                Ok(pieces) => respond::in_form(protocol, pieces),
                // A server that keeps all it can still answers; the answer ends with its reader.
                Err(turn) => respond::answer(turn.0, turn.1, protocol, message_id.as_deref()),
            }
        }
    };
    with_model(response, &model)
}

fn too_many() -> Failure {
    Failure::unavailable("too many answers of this user go on; end one")
}

fn resumable_id(id: Option<String>, resumable: bool) -> Result<Option<String>, Failure> {
    match id {
        _ if !resumable => Ok(None),
        Some(id) if !id.is_empty() && id.len() <= resume::MAX_ID => Ok(Some(id)),
        _ => Err(Failure::invalid(format!(
            "id: a resumable chat needs one, of at most {} bytes",
            resume::MAX_ID
        ))),
    }
}

fn asked(request: ChatRequest, headers: &HeaderMap) -> Asked {
    let mcp_mode =
        headers.get(MCP_MODE_HEADER).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"));
    Asked {
        messages: request.messages,
        client_tools: request.client_tools,
        categories: request.categories,
        only: request.only,
        without: request.without,
        max_steps: request.max_steps,
        model: request.model,
        system: request.system,
        has_interface: !mcp_mode,
        trace: trace(headers),
        ..Asked::default()
    }
}

fn trace(headers: &HeaderMap) -> Option<toolyard_protocol::trace::TraceParent> {
    headers.get(meta::TRACEPARENT)?.to_str().ok()?.parse().ok()
}

fn new_id(state: &AppState, kind: &str) -> String {
    let mut bytes = [0; 12];
    state.ids.fill(&mut bytes);
    format!("{kind}_{}", hex::encode(bytes))
}

fn shows_credential(state: &AppState, headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
        || (state.trusts_user_header() && headers.contains_key(USER_HEADER))
}

/// One family of clients sends its credential in the body.
async fn by_body(state: &AppState, headers: &HeaderMap, request: &ChatRequest) -> Result<ActingFor, Failure> {
    match &request.api_key {
        Some(key) => {
            let who = auth::by_credential(state, key.expose()).await?;
            auth::acting_for(state, who, auth::named_user(headers)?).await
        }
        None => auth::acting_over_mcp(state, headers).await,
    }
}

async fn again(State(state): State<AppState>, who: ActingFor, Path(id): Path<String>) -> Answer {
    match state.replays.read(&who.owner(), &id) {
        Ok(Some((protocol, pieces))) => Ok(respond::in_form(protocol, pieces)),
        Ok(None) => nothing(),
        Err(TooManyReaders) => {
            Err(Failure::unavailable("too many read this answer already; close one of them"))
        }
    }
}

async fn stop(State(state): State<AppState>, who: ActingFor, Path(id): Path<String>) -> Answer {
    match state.replays.stop(&who.owner(), &id) {
        true => nothing(),
        false => Err(Failure::not_found("answer of that chat")),
    }
}

/// A model that is not there, before anything was said.
fn no_model(error: &ModelError) -> Response {
    tracing::warn!(cause = error.cause, "{error}");
    let code = match error.kind {
        ModelTrouble::Unknown | ModelTrouble::Refused => ApiErrorCode::InvalidRequest,
        ModelTrouble::RateLimited => ApiErrorCode::RateLimited,
        _ => ApiErrorCode::Unavailable,
    };
    with_wait(Failure::new(code, error.text.clone()).into_response(), error)
}

/// A user who has as many answers as they may.
fn limited(refusal: &TurnRefusal) -> Response {
    let (code, text, wait) = refusal.told();
    with_retry(Failure::new(code, text).into_response(), Some(wait))
}

/// With the wait that the vendor asks for, never a shorter one.
fn with_wait(response: Response, error: &ModelError) -> Response {
    with_retry(response, error.retry_after)
}

fn with_retry(mut response: Response, wait: Option<Duration>) -> Response {
    if let Some(wait) = wait {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    response
}

/// With the name of the model that answers.
fn with_model(mut response: Response, model: &str) -> Response {
    if let Ok(model) = HeaderValue::try_from(model) {
        response.headers_mut().insert(HeaderName::from_static(MODEL_HEADER), model);
    }
    response
}

/// A name that somebody sent, as far as it is worth reading.
fn short(name: &str) -> String {
    name.chars().take(MAX_SHOWN).collect()
}

/// The status for a model's trouble.
fn status_of(error: &ModelError) -> StatusCode {
    match error.kind {
        ModelTrouble::Unknown => StatusCode::NOT_FOUND,
        ModelTrouble::Refused => StatusCode::BAD_REQUEST,
        ModelTrouble::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ModelTrouble::Unauthorized
        | ModelTrouble::NoCredit
        | ModelTrouble::Unreachable
        | ModelTrouble::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ModelTrouble::Broken => StatusCode::BAD_GATEWAY,
    }
}
