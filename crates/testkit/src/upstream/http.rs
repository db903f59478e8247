//! Streamable HTTP, both eras on one path: POST responds with JSON or a stream; GET and DELETE are for the legacy era.

use std::{io, sync::Arc};

use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    StaleSession, checks,
    message::{AnswerStep, LEGACY, META_PREFIX, MODERN, QUEUE, RequestEra, RpcFailure, UpstreamCall},
    sessions::LegacySession,
    sse::{self, SseBody},
    state::{CancelSignal, OfferListKind, RecordedMessage, UpstreamShared},
};

/// The endpoint.
pub(super) const PATH: &str = "/mcp";

/// Largest accepted request.
const MAX_BODY: usize = 16 * 1024 * 1024;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

type HttpResult = Result<Response<SseBody>, io::Error>;

/// Accepts connections until it is stopped.
pub(super) async fn accept_loop(listener: TcpListener, inner: Arc<UpstreamShared>, up: CancellationToken) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = up.cancelled() => return,
        };
        let (serving, up) = (inner.clone(), up.clone());
        inner.tasks.spawn(async move {
            let service = service_fn(move |request| handle_http_request(serving.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = up.cancelled() => {}
            }
        });
    }
}

async fn handle_http_request(inner: Arc<UpstreamShared>, request: Request<Incoming>) -> HttpResult {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return Ok(sse::status_response(413));
    };
    let raw = body.to_bytes();
    let message = serde_json::from_slice::<Value>(&raw);
    let mut seen =
        RecordedMessage::from_message(&head.headers, &raw, message.as_ref().unwrap_or(&Value::Null));
    if head.method != Method::POST {
        seen.method = head.method.to_string();
    }
    inner.record_message(seen);
    if head.uri.path() != PATH {
        return Ok(sse::status_response(404));
    }
    if !is_local(&head.headers) {
        return Ok(sse::status_response(403));
    }
    if let Some(refusal) = check_authorization(&inner, &head.headers) {
        return Ok(refusal);
    }
    let modern_only = inner.options().era.handshakes().is_empty();
    let modern_verb = head.headers.get(VERSION).is_some_and(|version| version == MODERN);
    match head.method {
        Method::POST => handle_post(inner, head.headers, message).await,
        Method::GET if !modern_only && !modern_verb => handle_get(&inner, &head.headers),
        Method::DELETE if !modern_only && !modern_verb => handle_delete(&inner, &head.headers),
        _ => Ok(sse::header_response(405, header::ALLOW.as_str(), "POST")),
    }
}

/// Protects against DNS rebinding: a page on another host must not reach a local server by a name that it controls.
fn is_local(headers: &HeaderMap) -> bool {
    let local = |authority: &str| {
        let host = authority.rsplit_once(':').map_or(authority, |(host, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { host } else { authority }
        });
        ["localhost", "127.0.0.1", "[::1]"].contains(&host)
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = headers.get(header::ORIGIN).map(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        origin.split_once("://").map_or(origin, |(_, authority)| authority)
    });
    host.is_some_and(local) && origin.is_none_or(local)
}

fn check_authorization(inner: &UpstreamShared, headers: &HeaderMap) -> Option<Response<SseBody>> {
    let options = inner.options();
    let bearer = options.bearer.map(|token| (header::AUTHORIZATION.to_string(), format!("Bearer {token}")));
    let mut wanted = bearer.into_iter().chain(options.header);
    let missing = wanted.any(|(name, value)| headers.get(&name).is_none_or(|given| given != value.as_str()));
    missing.then(|| sse::header_response(401, header::WWW_AUTHENTICATE.as_str(), "Bearer"))
}

fn accepts_type(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    given.contains(kind) || given.contains("*/*")
}

fn failure_response(failure: &RpcFailure, id: Option<&Value>) -> HttpResult {
    Ok(sse::json_response(failure.status, &failure.to_message(id)))
}

async fn handle_post(
    inner: Arc<UpstreamShared>,
    headers: HeaderMap,
    message: serde_json::Result<Value>,
) -> HttpResult {
    if !accepts_type(&headers, "application/json") || !accepts_type(&headers, "text/event-stream") {
        return Ok(sse::status_response(406));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Ok(sse::status_response(415));
    }
    let Ok(message) = message else {
        return failure_response(&RpcFailure::new(-32700, 400, "Parse error"), None);
    };
    if !message.is_object() {
        return failure_response(&RpcFailure::new(-32600, 400, "one message at a time"), None);
    }
    if is_modern(&inner, &headers, &message) {
        handle_modern(inner, &headers, &message).await
    } else {
        handle_legacy(inner, &headers, &message).await
    }
}

/// The era of a request depends on its form, not on its method.
fn is_modern(inner: &UpstreamShared, headers: &HeaderMap, message: &Value) -> bool {
    let era = inner.options().era;
    let in_body = message["params"]["_meta"].get(format!("{META_PREFIX}protocolVersion")).is_some();
    let in_header = headers.get(VERSION).is_some_and(|version| LEGACY.iter().all(|known| version != known));
    era.handshakes().is_empty() || era.versions().contains(&MODERN) && (in_body || in_header)
}

async fn handle_modern(inner: Arc<UpstreamShared>, headers: &HeaderMap, message: &Value) -> HttpResult {
    let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
        return Ok(sse::status_response(202));
    };
    let arguments = || {
        let params = &message["params"];
        let name = params["name"].as_str().filter(|_| method == "tools/call").unwrap_or_default();
        let tool = inner.script.lock().unwrap().lists.find_item(OfferListKind::Tools, name);
        tool.map_or(Ok(()), |tool| {
            checks::check_arguments(headers, &tool["inputSchema"], &params["arguments"])
        })
    };
    let checked = checks::check_version(headers, message)
        .and_then(|()| checks::check_meta(message, &inner.options().era.versions()))
        .and_then(|()| checks::check_headers(headers, message))
        .and_then(|()| checks::check_method(message))
        .and_then(|()| arguments());
    if let Err(failure) = checked {
        return failure_response(&failure, Some(id));
    }
    let (out, queue) = mpsc::channel(QUEUE);
    let call = build_call(message, id, RequestEra::Modern, out);
    let cancel = CancellationToken::new();
    inner.tasks.spawn(inner.clone().run_call(call, cancel.clone(), CancelSignal::Closed));
    sse::respond(queue, Some(cancel.drop_guard()), inner.options().always_sse).await
}

fn build_call(message: &Value, id: &Value, side: RequestEra, out: mpsc::Sender<AnswerStep>) -> UpstreamCall {
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    UpstreamCall { id: id.clone(), method, params: message["params"].clone(), side, out }
}

/// The session of a request, or the error response.
fn find_session(
    inner: &UpstreamShared,
    headers: &HeaderMap,
    message: Option<&Value>,
) -> Result<Arc<LegacySession>, Box<HttpResult>> {
    let refused = |failure: &RpcFailure| Box::new(failure_response(failure, Some(&Value::Null)));
    if let Some(version) = headers.get(VERSION) {
        let handshakes = inner.options().era.handshakes();
        if handshakes.iter().all(|known| version != known) {
            return Err(refused(&RpcFailure::new(-32000, 400, "Bad Request: Unsupported protocol version")));
        }
    }
    let id = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default());
    match id {
        None if inner.options().session_ids => {
            Err(refused(&RpcFailure::new(-32000, 400, "Bad Request: Mcp-Session-Id header is required")))
        }
        id => {
            inner.find_session(id.unwrap_or_default()).ok_or_else(|| Box::new(stale_response(inner, message)))
        }
    }
}

/// The response to an unknown session.
fn stale_response(inner: &UpstreamShared, message: Option<&Value>) -> HttpResult {
    let StaleSession { status, error } = inner.options().stale_session;
    let Some((code, text)) = error else { return Ok(sse::status_response(status)) };
    let id = message.and_then(|message| message.get("id")).filter(|_| status == 200);
    failure_response(&RpcFailure::new(code, status, text), Some(id.unwrap_or(&Value::Null)))
}

async fn handle_legacy(inner: Arc<UpstreamShared>, headers: &HeaderMap, message: &Value) -> HttpResult {
    let opens = message["method"] == "initialize";
    let session = if opens {
        inner.open_session(inner.session_id(), &message["params"])
    } else {
        match find_session(&inner, headers, Some(message)) {
            Ok(session) => session,
            Err(refused) => return *refused,
        }
    };
    let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
        match message["method"].as_str() {
            None => session.receive_answer(message),
            Some("notifications/cancelled") => session.running.cancel(&message["params"]["requestId"]),
            Some(_) => {}
        }
        return Ok(sse::status_response(202));
    };
    let (out, queue) = mpsc::channel(QUEUE);
    let call = build_call(message, id, RequestEra::Legacy(session.clone()), out);
    let (cancel, running) = (CancellationToken::new(), inner.clone());
    session.running.begin(id, &cancel);
    let (keeping, id) = (session.clone(), id.clone());
    inner.tasks.spawn(async move {
        running.run_call(call, cancel, CancelSignal::Notified).await;
        keeping.running.end(&id);
    });
    // A closed response is not a cancellation in this era: the call continues.
    let mut response = sse::respond(queue, None, inner.options().always_sse).await?;
    if method == "initialize" && !session.id.is_empty() {
        response.headers_mut().insert(SESSION, session.id.parse().unwrap());
    }
    Ok(response)
}

fn handle_get(inner: &UpstreamShared, headers: &HeaderMap) -> HttpResult {
    if !accepts_type(headers, "text/event-stream") {
        return Ok(sse::status_response(406));
    }
    let session = match find_session(inner, headers, None) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let (out, queue) = mpsc::channel(QUEUE);
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    match last.and_then(|last| session.take_parked(last)) {
        Some(message) => drop(out.try_send(AnswerStep::Answer(200, message))),
        None => session.open_stream(out),
    }
    inner.changed.notify_waiters();
    Ok(sse::sse_response(None, queue, None))
}

fn handle_delete(inner: &UpstreamShared, headers: &HeaderMap) -> HttpResult {
    match find_session(inner, headers, None) {
        Ok(session) if session.id.is_empty() => Ok(sse::status_response(405)),
        Ok(session) => {
            inner.end_session(&session.id);
            Ok(sse::status_response(200))
        }
        Err(refused) => *refused,
    }
}
