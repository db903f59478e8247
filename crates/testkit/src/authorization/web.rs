//! The HTTP server under both fakes: requests are recorded, and paths can be made to fail.

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{Notify, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// What a path does instead of its normal work.
#[derive(Debug, Clone)]
pub enum WebFault {
    /// Responds with this status and location.
    Redirect(u16, String),
    /// Responds with this status only.
    Status(u16),
    /// Responds with a huge body.
    Huge,
    /// Responds with an endless event stream.
    Stream,
    /// Never responds.
    Hang,
    /// Responds normally once it is released.
    Wait,
}

/// One recorded request.
#[derive(Debug, Clone)]
pub struct WebRequest {
    /// GET, POST
    pub method: Method,
    /// `/token`
    pub path: String,
    /// The query parameters.
    pub query: BTreeMap<String, String>,
    /// A body of form fields.
    pub form: BTreeMap<String, String>,
    /// A body of JSON.
    pub json: Value,
    /// Its headers.
    pub headers: HeaderMap,
}

pub(super) type WebReply = Response<UnsyncBoxBody<Bytes, Infallible>>;
type RequestHandler = Arc<dyn Fn(&WebRequest) -> WebReply + Send + Sync>;

/// A local listener. Stops when dropped.
pub(super) struct WebServer {
    address: SocketAddr,
    inner: Arc<WebState>,
}

#[derive(Default)]
struct WebState {
    seen: Mutex<Vec<WebRequest>>,
    faults: Mutex<HashMap<String, WebFault>>,
    changed: Notify,
    gate: RequestGate,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct RequestGate(Semaphore);

impl Default for RequestGate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl WebServer {
    /// Starts listening; the handler is created once the address is known.
    pub(super) async fn start(work: impl FnOnce(&str) -> RequestHandler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::<WebState>::default();
        let work = work(&format!("http://{address}"));
        inner.tasks.spawn(accept_loop(listener, inner.clone(), work));
        Self { address, inner }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn requests(&self, path: &str) -> Vec<WebRequest> {
        self.inner.seen.lock().unwrap().iter().filter(|seen| seen.path == path).cloned().collect()
    }

    pub(super) async fn wait_requests(&self, path: &str, times: usize) -> Vec<WebRequest> {
        loop {
            let changed = self.inner.changed.notified();
            let seen = self.requests(path);
            if seen.len() >= times {
                return seen;
            }
            changed.await;
        }
    }

    pub(super) fn set_fault(&self, path: &str, fault: WebFault) {
        self.inner.faults.lock().unwrap().insert(path.to_owned(), fault);
    }

    pub(super) fn let_through(&self) {
        self.inner.gate.0.add_permits(1);
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}

async fn accept_loop(listener: TcpListener, inner: Arc<WebState>, work: RequestHandler) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = inner.stop.cancelled() => return,
        };
        let (serving, work, stop) = (inner.clone(), work.clone(), inner.stop.clone());
        inner.tasks.spawn(async move {
            let service =
                service_fn(move |request| handle_web_request(serving.clone(), work.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn handle_web_request(
    inner: Arc<WebState>,
    work: RequestHandler,
    request: http::Request<Incoming>,
) -> Result<WebReply, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let pairs = |bytes: &[u8]| url::form_urlencoded::parse(bytes).into_owned().collect();
    let request = WebRequest {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: pairs(head.uri.query().unwrap_or_default().as_bytes()),
        form: pairs(&body),
        json: serde_json::from_slice(&body).unwrap_or_default(),
        headers: head.headers,
    };
    inner.seen.lock().unwrap().push(request.clone());
    inner.changed.notify_waiters();
    let fault = inner.faults.lock().unwrap().get(&request.path).cloned();
    Ok(match fault {
        None => work(&request),
        Some(WebFault::Redirect(status, place)) => redirect_reply(status, &place),
        Some(WebFault::Status(status)) => text_reply(status, String::new()),
        Some(WebFault::Huge) => text_reply(200, " ".repeat(8 * 1024 * 1024)),
        Some(WebFault::Stream) => endless_stream_reply(),
        Some(WebFault::Hang) => std::future::pending().await,
        Some(WebFault::Wait) => {
            inner.gate.0.acquire().await.unwrap().forget();
            work(&request)
        }
    })
}

pub(super) fn text_reply(status: u16, body: String) -> WebReply {
    let status = StatusCode::from_u16(status).unwrap();
    Response::builder().status(status).body(Full::new(Bytes::from(body)).boxed_unsync()).unwrap()
}

fn endless_stream_reply() -> WebReply {
    let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let body = BodyExt::boxed_unsync(StreamBody::new(never));
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

pub(super) fn json_reply(status: u16, body: &Value) -> WebReply {
    let mut reply = text_reply(status, body.to_string());
    reply.headers_mut().insert("content-type", "application/json".parse().unwrap());
    reply
}

pub(super) fn redirect_reply(status: u16, place: &str) -> WebReply {
    let mut reply = text_reply(status, String::new());
    reply.headers_mut().insert("location", place.parse().unwrap());
    reply
}
