//! `/mcp` over HTTP, both eras.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderValue, StatusCode, header as headers_of};
use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolyard_authorization::scope::OAuthScope;
use toolyard_core::catalog::ToolAccess;
use toolyard_protocol::mcp::{RpcError, RpcMessage, header, method};

use super::{
    about,
    client::McpClientContext,
    dispatch::dispatch_request,
    legacy,
    listen::ChangeStream,
    metadata, modern,
    params::RpcParams,
    sse::{self, McpExchange, OUT_QUEUE, error_response},
};
use crate::{
    auth::{self, CallerContext},
    body,
    state::ServerState,
};

/// POST: one message.
pub(super) async fn post_mcp(State(state): State<ServerState>, request: Request) -> Response {
    mark_private(handle_message(state, request).await)
}

async fn handle_message(state: ServerState, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let who = match authenticate(&state, &headers).await {
        Ok(who) => who,
        Err(refused) => return *refused,
    };
    let body = match body::read_mcp_body(&headers, body, &state).await {
        Ok(body) => body,
        Err((status, why)) => {
            return error_response(status, None, &RpcError::new(RpcError::INVALID_REQUEST, why));
        }
    };
    match RpcMessage::parse(&body) {
        Ok(RpcMessage::Request { id, method, params }) => {
            Box::pin(handle_request(&state, who, &headers, id, &method, params)).await
        }
        Ok(RpcMessage::Notification { method, params }) => {
            handle_notification(&state, who, &headers, &method, params)
        }
        Ok(RpcMessage::Response { id, outcome }) => handle_response(&state, who, &headers, id, outcome),
        Err(refused) => error_response(StatusCode::BAD_REQUEST, refused.id.as_deref(), &refused.error),
    }
}

/// Handles a client's response to a question. Only clients with a session get questions this way.
fn handle_response(
    state: &ServerState,
    who: CallerContext,
    headers: &HeaderMap,
    id: Option<&RawValue>,
    outcome: Result<&RawValue, RpcError>,
) -> Response {
    if modern::looks_modern(&RpcParams::default(), Some(headers)) {
        let text = "clients send no responses in this revision; repeat the request with `inputResponses`";
        return error_response(
            StatusCode::BAD_REQUEST,
            None,
            &RpcError::new(RpcError::INVALID_REQUEST, text),
        );
    }
    let owner = who.call_owner();
    if headers.contains_key(header::SESSION)
        && let Err(refused) = legacy::session_client(state, who, headers, None)
    {
        return *refused;
    }
    if let Some(id) = id {
        state.mcp.questions.deliver_answer(&owner, id, outcome);
    }
    StatusCode::ACCEPTED.into_response()
}

/// GET: the stream of a session. Only in the handshake revisions.
pub(super) async fn get_mcp(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    let client = match authenticate_session(&state, &headers).await {
        Ok(client) => client,
        Err(refused) => return mark_private(*refused),
    };
    mark_private(match ChangeStream::for_session(&state, &client).await {
        Ok(stream) => sse::change_stream_response(&state, stream),
        Err(error) => error_response(StatusCode::TOO_MANY_REQUESTS, None, &error),
    })
}

/// DELETE: ends a session.
pub(super) async fn delete_mcp(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    mark_private(match authenticate_session(&state, &headers).await {
        Ok(client) => {
            if let Some(session) = &client.session {
                state.mcp.sessions.end_session(session, state.clock.now());
            }
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => *refused,
    })
}

async fn authenticate_session(
    state: &ServerState,
    headers: &HeaderMap,
) -> Result<McpClientContext, Box<Response>> {
    let who = authenticate(state, headers).await?;
    if modern::looks_modern(&RpcParams::default(), Some(headers)) {
        let text = "this revision supports only POST; subscribe with `subscriptions/listen`";
        let mut refused = error_response(
            StatusCode::METHOD_NOT_ALLOWED,
            None,
            &RpcError::new(RpcError::INVALID_REQUEST, text),
        );
        refused.headers_mut().insert(headers_of::ALLOW, HeaderValue::from_static("POST"));
        return Err(Box::new(refused));
    }
    legacy::session_client(state, who, headers, None)
}

/// The caller. A refusal names the metadata that says how to authenticate.
async fn authenticate(state: &ServerState, headers: &HeaderMap) -> Result<CallerContext, Box<Response>> {
    auth::caller_from_headers(state, headers, OAuthScope::ToolsRead)
        .await
        .map_err(|failure| Box::new(metadata::challenge_response(state, failure)))
}

async fn handle_request(
    state: &ServerState,
    who: CallerContext,
    headers: &HeaderMap,
    id: &RawValue,
    method_name: &str,
    params: Option<&RawValue>,
) -> Response {
    let bad = |error: &RpcError| error_response(StatusCode::BAD_REQUEST, Some(id), error);
    let params = match RpcParams::from_raw(params) {
        Ok(params) => params,
        Err(error) => return bad(&error),
    };
    // Only the method decides whether it is a handshake: some clients already send the headers of the revision they want.
    let handshake = method_name == method::INITIALIZE && !modern::looks_modern(&params, None);
    if !handshake && modern::looks_modern(&params, Some(headers)) {
        let client = modern::modern_client(who, &params, Some(headers));
        let checked = client.and_then(|client| {
            modern::check_headers(headers, method_name, &params)?;
            Ok(client)
        });
        return match checked {
            Ok(client) => handle_modern_request(state, client, headers, id, method_name, params).await,
            Err(error) => bad(&error),
        };
    }
    if handshake {
        return match about::accept_handshake(who, &params) {
            Ok((client, result)) => {
                let session = state.mcp.sessions.open_session(&client, state.clock.now(), &*state.ids);
                let mut response =
                    sse::json_response(StatusCode::OK, sse::result_envelope(id, result.get().as_bytes()));
                if let Ok(session) = HeaderValue::try_from(session) {
                    response.headers_mut().insert(header::SESSION, session);
                }
                response
            }
            Err(error) => error_response(StatusCode::OK, Some(id), &error),
        };
    }
    match legacy::session_client(state, who, headers, Some(id)) {
        Ok(client) => match check_granted(state, &client, method_name, &params).await {
            Ok(()) => start_exchange(state, client, id, method_name, params).respond().await,
            Err(refused) => *refused,
        },
        Err(refused) => *refused,
    }
}

/// Refuses a call that needs more than the user granted this client, while a client can still react to the status. The executor
/// checks again.
async fn check_granted(
    state: &ServerState,
    client: &McpClientContext,
    method_name: &str,
    params: &RpcParams,
) -> Result<(), Box<Response>> {
    let Some(access) = client.who.actor.client_access() else { return Ok(()) };
    let name = params.get::<String>("name").ok().flatten().and_then(|name| name.parse().ok());
    let (method::TOOLS_CALL, Some(name)) = (method_name, name) else { return Ok(()) };
    // Without a view the call itself reports the error.
    let Ok(view) = about::client_view(state, &client.who).await else { return Ok(()) };
    let needed = view.find_tool(&name).map(|tool| ToolAccess::required_for(tool));
    match needed {
        Ok(needed) if needed > access.view.access => {
            Err(Box::new(metadata::step_up_response(state, &access.scopes, needed)))
        }
        _ => Ok(()),
    }
}

async fn handle_modern_request(
    state: &ServerState,
    client: McpClientContext,
    headers: &HeaderMap,
    id: &RawValue,
    method_name: &str,
    params: RpcParams,
) -> Response {
    if method_name == method::LISTEN {
        // All messages are sent on the stream itself.
        let (out, _nobody) = mpsc::channel(1);
        return match ChangeStream::for_listen_request(state, &client, id, &params, &out).await {
            Ok(stream) => sse::change_stream_response(state, stream),
            Err(error) => error_response(StatusCode::OK, Some(id), &error),
        };
    }
    if let Err(refused) = check_granted(state, &client, method_name, &params).await {
        return *refused;
    }
    if method_name == method::TOOLS_CALL
        && let Err(error) = check_tool_headers(state, &client, headers, &params).await
    {
        return error_response(StatusCode::BAD_REQUEST, Some(id), &error);
    }
    start_exchange(state, client, id, method_name, params).respond().await
}

async fn check_tool_headers(
    state: &ServerState,
    client: &McpClientContext,
    headers: &HeaderMap,
    params: &RpcParams,
) -> Result<(), RpcError> {
    let Some(name) = params.get::<String>("name").ok().flatten().and_then(|name| name.parse().ok()) else {
        return Ok(());
    };
    let view = about::client_view(state, &client.who).await?;
    match view.find_tool(&name) {
        Ok(tool) => modern::check_mirrored(headers, tool, params.raw("arguments")),
        Err(_) => Ok(()),
    }
}

/// Starts a request and its message queue.
fn start_exchange(
    state: &ServerState,
    client: McpClientContext,
    id: &RawValue,
    method_name: &str,
    params: RpcParams,
) -> McpExchange {
    let (out, messages) = mpsc::channel(OUT_QUEUE);
    let (modern, id) = (client.is_modern(), id.to_owned());
    let under_way = CancellableRequest::register(state, &client, &id);
    let (state, method_name) = (state.clone(), method_name.to_owned());
    let work = async move {
        let answered = dispatch_request(&state, &client, &method_name, &params, &out);
        tokio::select! {
            answered = answered => answered,
            () = under_way.cancelled() => Err(RpcError::new(RpcError::INVALID_REQUEST, "cancelled by the client")),
        }
    };
    McpExchange { id, work: Box::pin(work), messages, modern }
}

/// A request of a session that a notification can cancel.
struct CancellableRequest(Option<RegisteredRequest>);

struct RegisteredRequest {
    state: ServerState,
    session: Arc<str>,
    number: u64,
    cancel: CancellationToken,
}

impl CancellableRequest {
    fn register(state: &ServerState, client: &McpClientContext, id: &RawValue) -> Self {
        Self(client.session.as_ref().map(|session| {
            let (number, cancel) = state.mcp.sessions.begin_request(session, id);
            RegisteredRequest { state: state.clone(), session: session.clone(), number, cancel }
        }))
    }

    async fn cancelled(&self) {
        match &self.0 {
            Some(registered) => registered.cancel.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for CancellableRequest {
    fn drop(&mut self) {
        if let Some(RegisteredRequest { state, session, number, .. }) = &self.0 {
            state.mcp.sessions.finish_request(session, *number);
        }
    }
}

/// Accepts a notification. Only cancellations need handling.
fn handle_notification(
    state: &ServerState,
    who: CallerContext,
    headers: &HeaderMap,
    method_name: &str,
    params: Option<&RawValue>,
) -> Response {
    if headers.contains_key(header::SESSION) {
        let client = match legacy::session_client(state, who, headers, None) {
            Ok(client) => client,
            Err(refused) => return *refused,
        };
        if let (method::CANCELLED, Some(session), Ok(params)) =
            (method_name, &client.session, RpcParams::from_raw(params))
            && let Some(id) = params.raw("requestId")
        {
            state.mcp.sessions.cancel_request(session, id);
        }
    }
    StatusCode::ACCEPTED.into_response()
}

/// Prevents caches from serving one user's response to another.
fn mark_private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(headers_of::VARY, HeaderValue::from_static("Authorization, X-User-Id"));
    headers.insert(headers_of::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
