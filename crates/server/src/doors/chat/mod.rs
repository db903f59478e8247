//! The chat door: takes a whole conversation and streams the response in the client's protocol. It stores nothing.
//!
//! | look for | in |
//! | --- | --- |
//! | starting a turn | `begin`, `admit` |
//! | calls that waited for the user's approval | `approvals` |
//! | the model's message history | `conversation` |
//! | what a conversation has read before | `history_labels` |
//! | which tools | `tools`, `toolset`, `interface_tools` |
//! | the stream formats | `respond`, `ui`, `v1` |
//! | resumable streams | `resume` |
//! | the OpenAI-compatible API | `openai` |
//! | limits on turns per user | `turns` |
//! | what only chats need | `state` |

mod admit;
mod approvals;
mod begin;
mod conversation;
mod history_labels;
mod interface_tools;
mod limit_text;
mod openai;
mod respond;
mod resume;
mod state;
mod tools;
mod toolset;
mod turns;
mod ui;
mod v1;

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use toolyard_agent::model::{ModelError, ModelErrorKind};
use toolyard_authorization::scope::OAuthScope;
use toolyard_protocol::text::truncate_chars;
use toolyard_protocol::{
    api::ApiErrorCode,
    chat::{APPROVALS_HEADER, ChatProtocol, ChatRequest, ChatRole, MCP_MODE_HEADER, PROTOCOL_QUERY},
    mcp::meta,
};

use self::{
    begin::{TurnRequest, TurnStartError},
    respond::ChatWriter,
    resume::TooManyReaders,
    turns::TurnRefusal,
};
pub(crate) use self::{
    state::ChatState,
    tools::{ViewTools, tool_spec},
};
use crate::{
    auth::{self, CallerContext, USER_HEADER},
    body,
    calls::client_name,
    doors::rest::{HandlerResult, no_content},
    error::RequestError,
    extract::QueryParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Response header that names the model.
pub(crate) const MODEL_HEADER: &str = "x-toolyard-model";
/// Characters of a tool name that an error repeats: the length of the longest valid name.
const MAX_SHOWN_NAME_CHARS: usize = 64;

/// Documents the chat body. The handler accepts several formats of it.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatBody {
    /// The client's id of the chat. Required for `resumable`.
    id: Option<String>,
    /// The conversation, in the format of the AI SDK, version 4 or later.
    messages: Vec<serde_json::Value>,
    /// Tools that the client runs itself: `name`, `description`, `parameters`.
    client_tools: Option<Vec<serde_json::Value>>,
    /// Only tools of these categories. Default: automatic choice. `interface` adds the tools of the web console.
    selected_tool_categories: Option<Vec<String>>,
    /// Maximum number of requests to the model, up to the server's own limit.
    max_steps: Option<u64>,
    /// A model from `GET /v1/models`.
    model: Option<String>,
    /// System prompt.
    system: Option<String>,
    /// Whether the client shows approval requests (AI SDK 6 and later). Otherwise the model tells the user where to answer.
    approvals: Option<bool>,
    /// Whether the response continues for 30 s after a disconnect and can be resumed, capacity permitting.
    resumable: Option<bool>,
}

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::checked_by_handler(
            Method::POST,
            "/api/chat",
            RouteAccess::Chat,
            "Responds to a conversation with the user's tools, as a UI message stream or a data stream v1",
            post_chat,
        )
        .query(&[(PROTOCOL_QUERY, "`ui` or `v1`. Default: chosen by the format of the body")])
        .headers(&[
            (
                APPROVALS_HEADER,
                "`1`: this client shows approval requests; the same as `approvals` in the body",
            ),
            (MCP_MODE_HEADER, "`true`: this client cannot run the interface tools of the web console"),
            ("traceparent", "The trace to continue"),
        ])
        .request_body::<ChatBody>(),
        Route::new(
            Method::GET,
            "/api/chat/{id}/stream",
            RouteAccess::Chat,
            "Resumes a response from its start; 204 if there is none, or if a client has read it to its end",
            resume_chat_stream,
        ),
        Route::new(
            Method::DELETE,
            "/api/chat/{id}/stream",
            RouteAccess::Chat,
            "Cancels a resumable response",
            cancel_chat_stream,
        )
        .success_status(204),
    ];
    routes.extend(openai::routes());
    routes
}

#[derive(Deserialize)]
struct ChatQuery {
    protocol: Option<String>,
}

async fn post_chat(
    State(state): State<ServerState>,
    QueryParams(query): QueryParams<ChatQuery>,
    request: Request,
) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    // A request without a credential in its headers may have one in its body.
    let known = match has_credential_header(&state, &headers) {
        true => Some(auth::caller_from_headers(&state, &headers, OAuthScope::Chat).await?),
        false => None,
    };
    // Without a known caller, the body is read only for its credential, within the general limit.
    let (ours, any) = (state.config.load().chat.body_bytes, state.config.load().server.body_bytes);
    let max_bytes = if known.is_some() { ours } else { ours.min(any) };
    let read = body::read_json_body(&headers, body, &state, max_bytes).await;
    let parsed = read.map(|bytes| ChatRequest::parse(&bytes));
    let who = match (known, &parsed) {
        (Some(who), _) => who,
        (None, Ok(Ok(request))) => caller_from_body(&state, &headers, request).await?,
        (None, _) => auth::caller_from_headers(&state, &headers, OAuthScope::Chat).await?,
    };
    let request = parsed?.map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        RequestError::with_problems(format!("the request cannot be read: {first}"), problems)
    })?;
    let protocol = match query.protocol.as_deref() {
        Some(name) => ChatProtocol::from_name(name).ok_or_else(|| {
            RequestError::invalid_request(format!("{PROTOCOL_QUERY}: expected `ui` or `v1`"))
        })?,
        None => request.protocol,
    };
    Ok(respond_to_chat(&state, who, &headers, request, protocol).await)
}

async fn respond_to_chat(
    state: &ServerState,
    who: CallerContext,
    headers: &HeaderMap,
    request: ChatRequest,
    protocol: ChatProtocol,
) -> Response {
    let continued = request.messages.last().filter(|message| message.role == ChatRole::Assistant);
    // A continued message keeps its id, or has none. A new id would show it twice.
    let message_id = match continued {
        Some(message) => message.id.clone(),
        None => Some(new_id(state, "msg")),
    };
    let (id, resumable, owner) = (request.id.clone(), request.resumable, who.call_owner());
    let key = match resumable_id(id, resumable) {
        Ok(key) => key,
        Err(failure) => return failure.into_response(),
    };
    if key.as_ref().is_some_and(|id| !state.chat.replays.can_accept(&owner, id)) {
        return too_many_streams().into_response();
    }
    let turn_request = TurnRequest { replaces: key.clone(), ..turn_request(request, protocol, headers) };
    let turn = match begin::start_turn(state, who, turn_request).await {
        Ok(turn) => turn,
        Err(TurnStartError::Failure(failure)) => return failure.into_response(),
        Err(TurnStartError::Model(error)) => return no_model_response(&error),
        Err(TurnStartError::Limited(refusal)) => return turn_refusal_response(&refusal),
        Err(TurnStartError::Unsupported(unsupported)) => {
            let text = format!("{}: {}", unsupported.option.param_name(), unsupported.error_message());
            return RequestError::invalid_request(text).into_response();
        }
        Err(TurnStartError::Tool(tool)) => {
            let problem =
                tool.into_problem("clientTools", |_, name| format!("clientTools.{}", truncate_name(name)));
            return RequestError::with_problems(problem.to_string(), vec![problem]).into_response();
        }
    };
    let model = turn.model.clone();
    let step_id = message_id.clone().unwrap_or_else(|| new_id(state, "msg"));
    let writer = ChatWriter::new(protocol, &step_id);
    let response = match key {
        None => respond::turn_response(turn, writer, protocol, message_id.as_deref()),
        Some(id) => {
            let preamble = writer.preamble(message_id.as_deref());
            match state.chat.replays.start_stream(&owner, &id, turn, writer, preamble, &state.lifecycle) {
                Ok(chunks) => respond::protocol_response(protocol, chunks),
                // No room to keep the stream: respond normally, without resume.
                Err(turn) => respond::turn_response(turn.0, turn.1, protocol, message_id.as_deref()),
            }
        }
    };
    with_model_header(response, &model)
}

fn too_many_streams() -> RequestError {
    RequestError::unavailable("Too many active streams for this user. Cancel one and retry.")
}

fn resumable_id(id: Option<String>, resumable: bool) -> Result<Option<String>, RequestError> {
    match id {
        _ if !resumable => Ok(None),
        Some(id) if !id.is_empty() && id.len() <= resume::MAX_CHAT_ID_BYTES => Ok(Some(id)),
        _ => Err(RequestError::invalid_request(format!(
            "id: a resumable chat needs one, of at most {} bytes",
            resume::MAX_CHAT_ID_BYTES
        ))),
    }
}

fn turn_request(request: ChatRequest, protocol: ChatProtocol, headers: &HeaderMap) -> TurnRequest {
    let mcp_mode =
        headers.get(MCP_MODE_HEADER).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"));
    TurnRequest {
        messages: request.messages,
        client_tools: request.client_tools,
        categories: request.categories,
        only: request.only,
        without: request.without,
        max_steps: request.max_steps,
        model: request.model,
        system: request.system,
        has_interface: !mcp_mode,
        trace: trace_parent(headers),
        shows_approvals: protocol == ChatProtocol::Ui
            && (request.approvals || approvals::is_announced(headers)),
        client: client_name(headers),
        chat_id: request.id,
        ..TurnRequest::default()
    }
}

fn trace_parent(headers: &HeaderMap) -> Option<toolyard_protocol::trace::TraceParent> {
    headers.get(meta::TRACEPARENT)?.to_str().ok()?.parse().ok()
}

fn new_id(state: &ServerState, kind: &str) -> String {
    let mut bytes = [0; 12];
    state.ids.fill_random(&mut bytes);
    format!("{kind}_{}", hex::encode(bytes))
}

fn has_credential_header(state: &ServerState, headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
        || (state.trusts_user_header() && headers.contains_key(USER_HEADER))
}

/// Some clients send their credential in the body.
async fn caller_from_body(
    state: &ServerState,
    headers: &HeaderMap,
    request: &ChatRequest,
) -> Result<CallerContext, RequestError> {
    match &request.api_key {
        Some(key) => {
            let who = auth::actor_by_credential(state, key.expose()).await?;
            auth::require_scope(&who, OAuthScope::Chat)?;
            auth::caller_context(state, who, auth::user_from_header(headers)?).await
        }
        None => auth::caller_from_headers(state, headers, OAuthScope::Chat).await,
    }
}

async fn resume_chat_stream(
    State(chat): State<Arc<ChatState>>,
    who: CallerContext,
    Path(id): Path<String>,
) -> HandlerResult {
    match chat.replays.resume_stream(&who.call_owner(), &id) {
        Ok(Some((protocol, chunks))) => Ok(respond::protocol_response(protocol, chunks)),
        Ok(None) => no_content(),
        Err(TooManyReaders) => {
            Err(RequestError::unavailable("Too many clients read this stream. Close one and retry."))
        }
    }
}

async fn cancel_chat_stream(
    State(chat): State<Arc<ChatState>>,
    who: CallerContext,
    Path(id): Path<String>,
) -> HandlerResult {
    match chat.replays.cancel_stream(&who.call_owner(), &id) {
        true => no_content(),
        false => Err(RequestError::not_found("active stream for this chat")),
    }
}

/// The response if the model is unavailable before the turn starts.
fn no_model_response(error: &ModelError) -> Response {
    tracing::warn!(%error, cause = error.cause, "model unavailable");
    let code = match error.kind {
        ModelErrorKind::Unknown | ModelErrorKind::Refused => ApiErrorCode::InvalidRequest,
        ModelErrorKind::RateLimited => ApiErrorCode::RateLimited,
        _ => ApiErrorCode::Unavailable,
    };
    with_model_retry_after(RequestError::new(code, error.text.clone()).into_response(), error)
}

/// The response for a user at a turn limit.
fn turn_refusal_response(refusal: &TurnRefusal) -> Response {
    let (code, text, wait) = refusal.to_error();
    with_retry_after(RequestError::new(code, text).into_response(), Some(wait))
}

/// Adds the vendor's `Retry-After`, never a shorter one.
fn with_model_retry_after(response: Response, error: &ModelError) -> Response {
    with_retry_after(response, error.retry_after)
}

fn with_retry_after(mut response: Response, wait: Option<Duration>) -> Response {
    if let Some(wait) = wait {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    response
}

/// Adds the header that names the model.
fn with_model_header(mut response: Response, model: &str) -> Response {
    if let Ok(model) = HeaderValue::try_from(model) {
        response.headers_mut().insert(HeaderName::from_static(MODEL_HEADER), model);
    }
    response
}

/// A name from a request, cut for an error text.
fn truncate_name(name: &str) -> String {
    truncate_chars(name, MAX_SHOWN_NAME_CHARS).into_owned()
}

/// The HTTP status for a model error.
fn model_error_status(error: &ModelError) -> StatusCode {
    match error.kind {
        ModelErrorKind::Unknown => StatusCode::NOT_FOUND,
        ModelErrorKind::Refused => StatusCode::BAD_REQUEST,
        ModelErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ModelErrorKind::Unauthorized
        | ModelErrorKind::NoCredit
        | ModelErrorKind::Unreachable
        | ModelErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ModelErrorKind::Broken => StatusCode::BAD_GATEWAY,
    }
}
