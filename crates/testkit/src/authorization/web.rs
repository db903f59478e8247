//! HTTP underneath both fakes: what came in is written down, and paths can be made to fail.

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

/// What a path does instead of its work.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answers with this status and place.
    Redirect(u16, String),
    /// Answers with this status and nothing else.
    Status(u16),
    /// Answers with more than anybody takes.
    Huge,
    /// Answers with events that never end.
    Stream,
    /// Never answers.
    Hang,
    /// Does its work when it is let through.
    Wait,
}

/// One request that came in.
#[derive(Debug, Clone)]
pub struct WebRequest {
    /// GET, POST
    pub method: Method,
    /// `/token`
    pub path: String,
    /// What stands behind the question mark.
    pub query: BTreeMap<String, String>,
    /// A body of form fields.
    pub form: BTreeMap<String, String>,
    /// A body of JSON.
    pub json: Value,
    /// Its headers.
    pub headers: HeaderMap,
}

pub(super) type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;
type Work = Arc<dyn Fn(&WebRequest) -> Reply + Send + Sync>;

/// A listener on this machine. Stops when dropped.
pub(super) struct Web {
    address: SocketAddr,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    seen: Mutex<Vec<WebRequest>>,
    faults: Mutex<HashMap<String, Fault>>,
    changed: Notify,
    gate: Gate,
    tasks: TaskTracker,
    stop: CancellationToken,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Web {
    /// Listens; the work is made once the address is known.
    pub(super) async fn start(work: impl FnOnce(&str) -> Work) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::<Inner>::default();
        let work = work(&format!("http://{address}"));
        inner.tasks.spawn(accept(listener, inner.clone(), work));
        Self { address, inner }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn seen(&self, path: &str) -> Vec<WebRequest> {
        self.inner.seen.lock().unwrap().iter().filter(|seen| seen.path == path).cloned().collect()
    }

    pub(super) async fn wait_seen(&self, path: &str, times: usize) -> Vec<WebRequest> {
        loop {
            let changed = self.inner.changed.notified();
            let seen = self.seen(path);
            if seen.len() >= times {
                return seen;
            }
            changed.await;
        }
    }

    pub(super) fn fails(&self, path: &str, fault: Fault) {
        self.inner.faults.lock().unwrap().insert(path.to_owned(), fault);
    }

    pub(super) fn let_through(&self) {
        self.inner.gate.0.add_permits(1);
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}

async fn accept(listener: TcpListener, inner: Arc<Inner>, work: Work) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = inner.stop.cancelled() => return,
        };
        let (serving, work, stop) = (inner.clone(), work.clone(), inner.stop.clone());
        inner.tasks.spawn(async move {
            let service = service_fn(move |request| answer(serving.clone(), work.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn answer(
    inner: Arc<Inner>,
    work: Work,
    request: http::Request<Incoming>,
) -> Result<Reply, Infallible> {
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
        Some(Fault::Redirect(status, place)) => redirect(status, &place),
        Some(Fault::Status(status)) => text(status, String::new()),
        Some(Fault::Huge) => text(200, " ".repeat(8 * 1024 * 1024)),
        Some(Fault::Stream) => stream(),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Wait) => {
            inner.gate.0.acquire().await.unwrap().forget();
            work(&request)
        }
    })
}

pub(super) fn text(status: u16, body: String) -> Reply {
    let status = StatusCode::from_u16(status).unwrap();
    Response::builder().status(status).body(Full::new(Bytes::from(body)).boxed_unsync()).unwrap()
}

fn stream() -> Reply {
    let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let body = BodyExt::boxed_unsync(StreamBody::new(never));
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

pub(super) fn json(status: u16, body: &Value) -> Reply {
    let mut reply = text(status, body.to_string());
    reply.headers_mut().insert("content-type", "application/json".parse().unwrap());
    reply
}

pub(super) fn redirect(status: u16, place: &str) -> Reply {
    let mut reply = text(status, String::new());
    reply.headers_mut().insert("location", place.parse().unwrap());
    reply
}
