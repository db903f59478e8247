//! Streamable HTTP, both eras on one path: POST answers JSON or a stream, GET and DELETE are the legacy era's.

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
    message::{Call, Failure, LEGACY, MODERN, OWN, Out, QUEUE, Side},
    sessions::Session,
    sse::{self, Body},
    state::{Goodbye, Inner, List, Seen},
};

/// Where it answers.
pub(super) const PATH: &str = "/mcp";

/// Largest request that it reads.
const MAX_BODY: usize = 16 * 1024 * 1024;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

type Answer = Result<Response<Body>, io::Error>;

/// Takes connections until it is told to stop.
pub(super) async fn accept(listener: TcpListener, inner: Arc<Inner>, up: CancellationToken) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = up.cancelled() => return,
        };
        let (serving, up) = (inner.clone(), up.clone());
        inner.tasks.spawn(async move {
            let service = service_fn(move |request| answer(serving.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = up.cancelled() => {}
            }
        });
    }
}

async fn answer(inner: Arc<Inner>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return Ok(sse::status(413));
    };
    let raw = body.to_bytes();
    let message = serde_json::from_slice::<Value>(&raw);
    let mut seen = Seen::of(&head.headers, &raw, message.as_ref().unwrap_or(&Value::Null));
    if head.method != Method::POST {
        seen.method = head.method.to_string();
    }
    inner.saw(seen);
    if head.uri.path() != PATH {
        return Ok(sse::status(404));
    }
    if !is_local(&head.headers) {
        return Ok(sse::status(403));
    }
    if let Some(refusal) = unauthorized(&inner, &head.headers) {
        return Ok(refusal);
    }
    let modern_only = inner.options().era.handshakes().is_empty();
    let modern_verb = head.headers.get(VERSION).is_some_and(|version| version == MODERN);
    match head.method {
        Method::POST => post(inner, head.headers, message).await,
        Method::GET if !modern_only && !modern_verb => get(&inner, &head.headers),
        Method::DELETE if !modern_only && !modern_verb => delete(&inner, &head.headers),
        _ => Ok(sse::with(405, header::ALLOW.as_str(), "POST")),
    }
}

/// A page on another host must not reach a server on this machine by a name that it controls.
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

fn unauthorized(inner: &Inner, headers: &HeaderMap) -> Option<Response<Body>> {
    let options = inner.options();
    let bearer = options.bearer.map(|token| (header::AUTHORIZATION.to_string(), format!("Bearer {token}")));
    let mut wanted = bearer.into_iter().chain(options.header);
    let missing = wanted.any(|(name, value)| headers.get(&name).is_none_or(|given| given != value.as_str()));
    missing.then(|| sse::with(401, header::WWW_AUTHENTICATE.as_str(), "Bearer"))
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    given.contains(kind) || given.contains("*/*")
}

fn refuse(failure: &Failure, id: Option<&Value>) -> Answer {
    Ok(sse::json(failure.status, &failure.message(id)))
}

async fn post(inner: Arc<Inner>, headers: HeaderMap, message: serde_json::Result<Value>) -> Answer {
    if !accepts(&headers, "application/json") || !accepts(&headers, "text/event-stream") {
        return Ok(sse::status(406));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Ok(sse::status(415));
    }
    let Ok(message) = message else {
        return refuse(&Failure::new(-32700, 400, "Parse error"), None);
    };
    if !message.is_object() {
        return refuse(&Failure::new(-32600, 400, "one message at a time"), None);
    }
    if is_modern(&inner, &headers, &message) {
        modern(inner, &headers, &message).await
    } else {
        legacy(inner, &headers, &message).await
    }
}

/// The era of a request is told by how it looks, not by its method.
fn is_modern(inner: &Inner, headers: &HeaderMap, message: &Value) -> bool {
    let era = inner.options().era;
    let in_body = message["params"]["_meta"].get(format!("{OWN}protocolVersion")).is_some();
    let in_header = headers.get(VERSION).is_some_and(|version| LEGACY.iter().all(|known| version != known));
    era.handshakes().is_empty() || era.versions().contains(&MODERN) && (in_body || in_header)
}

async fn modern(inner: Arc<Inner>, headers: &HeaderMap, message: &Value) -> Answer {
    let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
        return Ok(sse::status(202));
    };
    let arguments = || {
        let params = &message["params"];
        let name = params["name"].as_str().filter(|_| method == "tools/call").unwrap_or_default();
        let tool = inner.script.lock().unwrap().lists.find(List::Tools, name);
        tool.map_or(Ok(()), |tool| checks::arguments(headers, &tool["inputSchema"], &params["arguments"]))
    };
    let checked = checks::version(headers, message)
        .and_then(|()| checks::meta(message, &inner.options().era.versions()))
        .and_then(|()| checks::headers(headers, message))
        .and_then(|()| checks::method(message))
        .and_then(|()| arguments());
    if let Err(failure) = checked {
        return refuse(&failure, Some(id));
    }
    let (out, queue) = mpsc::channel(QUEUE);
    let call = call(message, id, Side::Modern, out);
    let cancel = CancellationToken::new();
    inner.tasks.spawn(inner.clone().run(call, cancel.clone(), Goodbye::Closed));
    sse::respond(queue, Some(cancel.drop_guard()), inner.options().always_sse).await
}

fn call(message: &Value, id: &Value, side: Side, out: mpsc::Sender<Out>) -> Call {
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    Call { id: id.clone(), method, params: message["params"].clone(), side, out }
}

/// The session of a request, or how it is refused.
fn session(inner: &Inner, headers: &HeaderMap, message: Option<&Value>) -> Result<Arc<Session>, Box<Answer>> {
    let refused = |failure: &Failure| Box::new(refuse(failure, Some(&Value::Null)));
    if let Some(version) = headers.get(VERSION) {
        let handshakes = inner.options().era.handshakes();
        if handshakes.iter().all(|known| version != known) {
            return Err(refused(&Failure::new(-32000, 400, "Bad Request: Unsupported protocol version")));
        }
    }
    let id = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default());
    match id {
        None if inner.options().session_ids => {
            Err(refused(&Failure::new(-32000, 400, "Bad Request: Mcp-Session-Id header is required")))
        }
        id => inner.session(id.unwrap_or_default()).ok_or_else(|| Box::new(stale(inner, message))),
    }
}

/// The refusal of a session that it does not know.
fn stale(inner: &Inner, message: Option<&Value>) -> Answer {
    let StaleSession { status, error } = inner.options().stale_session;
    let Some((code, text)) = error else { return Ok(sse::status(status)) };
    let id = message.and_then(|message| message.get("id")).filter(|_| status == 200);
    refuse(&Failure::new(code, status, text), Some(id.unwrap_or(&Value::Null)))
}

async fn legacy(inner: Arc<Inner>, headers: &HeaderMap, message: &Value) -> Answer {
    let opens = message["method"] == "initialize";
    let session = if opens {
        inner.open_session(inner.session_id(), &message["params"])
    } else {
        match session(&inner, headers, Some(message)) {
            Ok(session) => session,
            Err(refused) => return *refused,
        }
    };
    let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
        match message["method"].as_str() {
            None => session.answered(message),
            Some("notifications/cancelled") => session.running.cancel(&message["params"]["requestId"]),
            Some(_) => {}
        }
        return Ok(sse::status(202));
    };
    let (out, queue) = mpsc::channel(QUEUE);
    let call = call(message, id, Side::Legacy(session.clone()), out);
    let (cancel, running) = (CancellationToken::new(), inner.clone());
    session.running.begin(id, &cancel);
    let (keeping, id) = (session.clone(), id.clone());
    inner.tasks.spawn(async move {
        running.run(call, cancel, Goodbye::Notified).await;
        keeping.running.end(&id);
    });
    // A closed response is no cancellation in this era: the call goes on.
    let mut response = sse::respond(queue, None, inner.options().always_sse).await?;
    if method == "initialize" && !session.id.is_empty() {
        response.headers_mut().insert(SESSION, session.id.parse().unwrap());
    }
    Ok(response)
}

fn get(inner: &Inner, headers: &HeaderMap) -> Answer {
    if !accepts(headers, "text/event-stream") {
        return Ok(sse::status(406));
    }
    let session = match session(inner, headers, None) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let (out, queue) = mpsc::channel(QUEUE);
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    match last.and_then(|last| session.unpark(last)) {
        Some(message) => drop(out.try_send(Out::Answer(200, message))),
        None => session.open(out),
    }
    inner.changed.notify_waiters();
    Ok(sse::stream(None, queue, None))
}

fn delete(inner: &Inner, headers: &HeaderMap) -> Answer {
    match session(inner, headers, None) {
        Ok(session) if session.id.is_empty() => Ok(sse::status(405)),
        Ok(session) => {
            inner.end_session(&session.id);
            Ok(sse::status(200))
        }
        Err(refused) => *refused,
    }
}
