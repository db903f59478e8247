//! An upstream behind OAuth: a request without a valid token is sent to the authorization server; a valid token selects the
//! server of its user.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{FakeAuthorization, FakeResource};
use crate::upstream::{FakeUpstream, UpstreamEra, UpstreamOptions};

type Body = BoxBody<Bytes, hyper::Error>;

/// An upstream, its authorization server, and the proxy that checks tokens.
pub struct GuardedUpstream {
    /// The authorization server.
    pub authorization: FakeAuthorization,
    /// Checks tokens for the proxy, and serves the metadata.
    pub resource: FakeResource,
    /// The server for the first token.
    pub first: FakeUpstream,
    /// The server for every other token.
    pub second: FakeUpstream,
    url: String,
    stop: CancellationToken,
}

/// The state of the proxy.
struct Door {
    checks: String,
    upstreams: [String; 2],
    tokens: Mutex<HashMap<String, usize>>,
}

impl GuardedUpstream {
    /// Starts it, with plain tools of this era.
    pub async fn start(era: UpstreamEra) -> Self {
        let authorization = FakeAuthorization::start().await;
        let resource = FakeResource::start(&authorization).await;
        let upstream = || FakeUpstream::start_with(UpstreamOptions { era, ..UpstreamOptions::default() });
        let (first, second) = (upstream().await, upstream().await);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        resource.configure(|script| script.resource = Some(url.clone()));
        let door = Arc::new(Door {
            checks: resource.url(),
            upstreams: [first.url(), second.url()],
            tokens: Mutex::default(),
        });
        let stop = CancellationToken::new();
        TaskTracker::new().spawn(accept(listener, door, stop.clone()));
        Self { authorization, resource, first, second, url, stop }
    }

    /// Where the platform reaches it.
    pub fn url(&self) -> String {
        self.url.clone()
    }
}

impl Drop for GuardedUpstream {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(listener: TcpListener, door: Arc<Door>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = stop.cancelled() => return,
        };
        let (door, stop) = (door.clone(), stop.clone());
        tasks.spawn(async move {
            let service = service_fn(move |request| pass(door.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

/// Checks the token, then forwards the request.
async fn pass(door: Arc<Door>, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let token = head.headers.get(header::AUTHORIZATION).cloned();
    let mut check = Request::get("/mcp");
    if let Some(token) = &token {
        check = check.header(header::AUTHORIZATION, token);
    }
    let checked = send(&door.checks, check.body(Full::default()).unwrap()).await?;
    if !checked.status().is_success() {
        return Ok(checked);
    }
    let place = {
        let mut tokens = door.tokens.lock().unwrap();
        let next = tokens.len().min(1);
        *tokens.entry(token.unwrap().to_str().unwrap().to_owned()).or_insert(next)
    };
    head.headers.remove(header::AUTHORIZATION);
    head.headers.remove(header::HOST);
    send(&door.upstreams[place], Request::from_parts(head, Full::new(body))).await
}

async fn send(url: &str, mut request: Request<Full<Bytes>>) -> Result<Response<Body>, hyper::Error> {
    let authority = url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    request.headers_mut().insert(header::HOST, authority.parse().unwrap());
    #[expect(clippy::disallowed_methods, reason = "this is the outside world, not the server")]
    let stream = TcpStream::connect(&authority).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    TaskTracker::new().spawn(connection);
    let response = sender.send_request(request).await?;
    Ok(response.map(|body| body.boxed()))
}

/// A user signs in at an upstream, in a browser, on a server in dev mode. The authorization server agrees at once.
pub async fn sign_in_at_upstream(server: &str, user: &str, id: &str) {
    let start = Request::post(format!("/api/upstreams/{id}/authorize")).header("x-user-id", user);
    let started = send(server, start.body(Full::default()).unwrap()).await.unwrap();
    let cookie =
        started.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let body = started.into_body().collect().await.unwrap().to_bytes();
    let link: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let agreed = open_page(link["link"].as_str().unwrap(), "").await;
    let done = open_page(agreed.headers()[header::LOCATION].to_str().unwrap(), &cookie).await;
    assert!(done.status().is_success(), "the callback was refused: {}", done.status());
}

async fn open_page(url: &str, cookie: &str) -> Response<Body> {
    let page: http::Uri = url.parse().unwrap();
    let path = page.path_and_query().unwrap().as_str();
    let request = Request::get(path).header(header::COOKIE, cookie).body(Full::default()).unwrap();
    send(url, request).await.unwrap()
}
