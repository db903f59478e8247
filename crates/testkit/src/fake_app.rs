//! An app with configurable faults.
//!
//! It responds to `/tool`, `/prompt` and `/resource` as configured, and to `/webhook` by connecting like an SDK app, by ignoring
//! it, or by refusing. Its requests are recorded; its behavior can be changed at any time.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{body::Frame, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How the app responds to a call, or to a request for a prompt or a resource.
#[derive(Debug, Clone)]
pub enum AppBehavior {
    /// Responds with this status and JSON.
    Json(u16, Value),
    /// Responds with this status, content type and text.
    Text(u16, &'static str, String),
    /// Redirects to this URL.
    Redirect(String),
    /// Never responds.
    Hang,
    /// Starts a response and closes the connection.
    Cut,
    /// Responds in lines, each released by [`FakeApp::let_line_through`].
    Lines(Vec<Value>),
}

impl AppBehavior {
    /// The old form: text.
    pub fn reply(text: &str) -> Self {
        Self::Json(200, json!({ "status": "success", "reply": text }))
    }

    /// The new form: content.
    pub fn content(content: Value) -> Self {
        Self::Json(200, json!({ "success": true, "content": content }))
    }
}

/// How the app responds to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnWebhook {
    /// Connects like an SDK app.
    Connect,
    /// Accepts and never connects.
    Ignore,
    /// Responds 500.
    Refuse,
}

/// One recorded request.
#[derive(Debug, Clone)]
pub struct RecordedAppRequest {
    /// `/tool`, `/prompt`, `/resource`, `/webhook`
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, raw.
    pub raw: Bytes,
    /// Its body.
    pub body: Value,
}

struct AppScript {
    behavior: AppBehavior,
    webhook: OnWebhook,
    /// Responses for other paths.
    files: HashMap<String, AppBehavior>,
    api_key: String,
    seen: Vec<RecordedAppRequest>,
    cancelled: usize,
    sessions: VecDeque<AppSession>,
}

struct FakeAppState {
    script: Mutex<AppScript>,
    changed: Notify,
    lines: tokio::sync::Semaphore,
    package: String,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A local app. Stops when dropped.
pub struct FakeApp {
    inner: Arc<FakeAppState>,
    address: SocketAddr,
}

/// An open WebSocket from the app to the platform.
pub struct AppSession {
    /// The session id from the webhook.
    pub session: String,
    /// Messages from the platform.
    pub incoming: mpsc::Receiver<Message>,
    outgoing: mpsc::Sender<Message>,
}

impl AppSession {
    /// Sends a message to the platform.
    pub async fn send(&self, message: Value) {
        self.outgoing.send(Message::text(message.to_string())).await.expect("the socket is open");
    }

    /// Drops the socket without a close frame, as a crash does.
    pub fn disconnect(self) {}

    /// The next message of that type; others are skipped. `None` if the socket closed.
    pub async fn receive(&mut self, kind: &str) -> Option<Value> {
        while let Some(message) = self.incoming.recv().await {
            if let Message::Text(text) = message {
                let message: Value = serde_json::from_str(&text).expect("the platform speaks JSON");
                if message["type"] == kind {
                    return Some(message);
                }
            }
        }
        None
    }

    /// Waits until the socket closes, and returns the close code.
    pub async fn wait_closed(&mut self) -> Option<u16> {
        while let Some(message) = self.incoming.recv().await {
            if let Message::Close(frame) = message {
                return frame.map(|frame| frame.code.into());
            }
        }
        None
    }
}

impl FakeApp {
    /// Starts an app that responds "ok" and connects on request.
    pub async fn start(package: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = AppScript {
            behavior: AppBehavior::reply("ok"),
            webhook: OnWebhook::Connect,
            files: HashMap::new(),
            api_key: String::new(),
            seen: Vec::new(),
            cancelled: 0,
            sessions: VecDeque::new(),
        };
        let inner = Arc::new(FakeAppState {
            script: Mutex::new(script),
            changed: Notify::new(),
            lines: tokio::sync::Semaphore::new(0),
            package: package.to_owned(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        inner.tasks.spawn(accept_loop(listener, inner.clone()));
        Self { inner, address }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the response to calls.
    pub fn set_behavior(&self, behavior: AppBehavior) {
        self.inner.script.lock().unwrap().behavior = behavior;
    }

    /// Sets the response for a path.
    pub fn set_path_behavior(&self, path: &str, behavior: AppBehavior) {
        self.inner.script.lock().unwrap().files.insert(path.to_owned(), behavior);
    }

    /// Sets the response to webhooks.
    pub fn on_webhook(&self, webhook: OnWebhook) {
        self.inner.script.lock().unwrap().webhook = webhook;
    }

    /// Sets the key to connect with.
    pub fn set_api_key(&self, key: &str) {
        self.inner.script.lock().unwrap().api_key = key.to_owned();
    }

    /// The requests to a path so far.
    pub fn requests(&self, path: &str) -> Vec<RecordedAppRequest> {
        self.inner.script.lock().unwrap().seen.iter().filter(|seen| seen.path == path).cloned().collect()
    }

    /// Waits for this many requests to a path.
    pub async fn wait_requests(&self, path: &str, times: usize) -> Vec<RecordedAppRequest> {
        self.wait_until(|| Some(self.requests(path)).filter(|seen| seen.len() >= times)).await
    }

    /// Waits until the platform has cancelled this many calls.
    pub async fn wait_cancelled(&self, times: usize) {
        self.wait_until(|| (self.inner.script.lock().unwrap().cancelled >= times).then_some(())).await;
    }

    /// The next socket that the app opened; waits for one.
    pub async fn next_session(&self) -> AppSession {
        self.wait_until(|| self.inner.script.lock().unwrap().sessions.pop_front()).await
    }

    /// Releases one more line of [`AppBehavior::Lines`].
    pub fn let_line_through(&self) {
        self.inner.lines.add_permits(1);
    }

    /// Opens a socket to the platform without a webhook, as an app does that reconnects.
    pub async fn connect_socket(&self, url: &str, session: &str) -> AppSession {
        let key = self.inner.script.lock().unwrap().api_key.clone();
        open_session(&self.inner, url, session, &key).await
    }

    async fn wait_until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            let changed = self.inner.changed.notified();
            if let Some(value) = ready() {
                return value;
            }
            changed.await;
        }
    }
}

impl Drop for FakeApp {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}

async fn accept_loop(listener: TcpListener, inner: Arc<FakeAppState>) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = inner.stop.cancelled() => return,
        };
        let (serving, stop) = (inner.clone(), inner.stop.clone());
        inner.tasks.spawn(async move {
            let service = service_fn(move |request| handle_request(serving.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

type FakeAppBody = UnsyncBoxBody<Bytes, std::io::Error>;

fn full_response(status: u16, kind: &str, body: String) -> Response<FakeAppBody> {
    let body = http_body_util::Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let status = StatusCode::from_u16(status).unwrap();
    Response::builder().status(status).header("content-type", kind).body(body).unwrap()
}

async fn handle_request(
    inner: Arc<FakeAppState>,
    request: Request<hyper::body::Incoming>,
) -> Result<Response<FakeAppBody>, Infallible> {
    let (head, body) = request.into_parts();
    let raw = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let behavior = {
        let mut script = inner.script.lock().unwrap();
        script.seen.push(RecordedAppRequest {
            path: path.clone(),
            headers: head.headers,
            raw,
            body: body.clone(),
        });
        script.files.get(&path).cloned().ok_or_else(|| script.behavior.clone())
    };
    inner.changed.notify_waiters();
    let behavior = match behavior {
        Ok(file) => return Ok(respond_as(inner, file).await),
        Err(behavior) => behavior,
    };
    Ok(match path.as_str() {
        "/webhook" => handle_webhook(&inner, &body),
        "/tool" | "/prompt" | "/resource" => respond_as(inner, behavior).await,
        _ => full_response(404, "text/html", "<h1>not here</h1>".to_owned()),
    })
}

fn handle_webhook(inner: &Arc<FakeAppState>, body: &Value) -> Response<FakeAppBody> {
    let ok = || full_response(200, "application/json", json!({ "status": "success" }).to_string());
    let (webhook, key) = {
        let script = inner.script.lock().unwrap();
        (script.webhook, script.api_key.clone())
    };
    match (body["type"].as_str(), webhook) {
        (Some("session_request"), OnWebhook::Connect) => {
            let url = body["mentraOSWebsocketUrl"].as_str().unwrap().to_owned();
            let session = body["sessionId"].as_str().unwrap().to_owned();
            let dialling = inner.clone();
            inner.tasks.spawn(async move {
                let session = open_session(&dialling, &url, &session, &key).await;
                dialling.script.lock().unwrap().sessions.push_back(session);
                dialling.changed.notify_waiters();
            });
            ok()
        }
        (Some("session_request"), OnWebhook::Refuse) => full_response(
            500,
            "application/json",
            json!({ "status": "error", "message": "Failed to connect" }).to_string(),
        ),
        _ => ok(),
    }
}

async fn open_session(inner: &Arc<FakeAppState>, url: &str, session: &str, key: &str) -> AppSession {
    let (socket, _) = tokio_tungstenite::connect_async(url).await.expect("the platform takes sockets");
    let (mut write, mut read) = socket.split();
    let init = json!({ "type": "tpa_connection_init", "sessionId": session, "packageName": inner.package,
        "apiKey": key, "timestamp": "2026-01-02T03:04:05.700Z" });
    write.send(Message::text(init.to_string())).await.unwrap();
    let (outgoing, mut to_send) = mpsc::channel::<Message>(64);
    let (received, incoming) = mpsc::channel(1_024);
    let stop = inner.stop.clone();
    inner.tasks.spawn(async move {
        loop {
            tokio::select! {
                message = read.next() => match message {
                    Some(Ok(message)) => drop(received.send(message).await),
                    Some(Err(_)) | None => return,
                },
                message = to_send.recv() => match message {
                    Some(message) => drop(write.send(message).await),
                    None => return,
                },
                () = stop.cancelled() => return,
            }
        }
    });
    AppSession { session: session.to_owned(), incoming, outgoing }
}

/// Counts a call that the platform cancelled.
struct CancelCounter(Arc<FakeAppState>);

impl Drop for CancelCounter {
    fn drop(&mut self) {
        self.0.script.lock().unwrap().cancelled += 1;
        self.0.changed.notify_waiters();
    }
}

async fn respond_as(inner: Arc<FakeAppState>, behavior: AppBehavior) -> Response<FakeAppBody> {
    match behavior {
        AppBehavior::Json(status, body) => full_response(status, "application/json", body.to_string()),
        AppBehavior::Text(status, kind, body) => full_response(status, kind, body),
        AppBehavior::Redirect(location) => {
            let mut response = full_response(302, "text/plain", String::new());
            if let Ok(location) = location.parse() {
                response.headers_mut().insert(http::header::LOCATION, location);
            }
            response
        }
        AppBehavior::Hang => {
            let _dropped = CancelCounter(inner);
            std::future::pending().await
        }
        AppBehavior::Cut => {
            let pieces = [
                Ok(Frame::data(Bytes::from_static(b"{\"success\":true,\"cont"))),
                Err(std::io::Error::other("cut")),
            ];
            let body = BodyExt::boxed_unsync(StreamBody::new(futures_util::stream::iter(pieces)));
            Response::builder().header("content-type", "application/json").body(body).unwrap()
        }
        AppBehavior::Lines(lines) => {
            let dropped = CancelCounter(inner.clone());
            let lines = futures_util::stream::unfold(
                (lines.into_iter(), inner, dropped),
                |(mut lines, inner, dropped)| async {
                    let Some(line) = lines.next() else {
                        // Finished, not cancelled.
                        std::mem::forget(dropped);
                        return None;
                    };
                    inner.lines.acquire().await.unwrap().forget();
                    let line = Frame::data(Bytes::from(format!("{line}\n")));
                    Some((Ok(line), (lines, inner, dropped)))
                },
            );
            let body = BodyExt::boxed_unsync(StreamBody::new(lines));
            Response::builder().header("content-type", "application/x-ndjson").body(body).unwrap()
        }
    }
}
