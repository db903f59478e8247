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
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_testkit::{
    authorization::{FakeAuthorization, FakeResource},
    upstream::{FakeUpstream, UpstreamEra},
};

use super::world::plain;
use crate::{
    mcp::client::soon,
    platform::{Answer, Person, Platform},
};

type Body = BoxBody<Bytes, hyper::Error>;

/// An upstream, its authorization server, and the proxy that checks tokens.
pub(crate) struct Guarded {
    pub(crate) authorization: FakeAuthorization,
    /// Checks tokens for the proxy, and serves the metadata.
    pub(crate) resource: FakeResource,
    /// The server for the first token.
    pub(crate) first: FakeUpstream,
    /// The server for every other token.
    pub(crate) second: FakeUpstream,
    url: String,
    stop: CancellationToken,
}

/// The state of the proxy.
struct Door {
    checks: String,
    upstreams: [String; 2],
    tokens: Mutex<HashMap<String, usize>>,
}

impl Guarded {
    pub(crate) async fn start(era: UpstreamEra) -> Self {
        let authorization = FakeAuthorization::start().await;
        let resource = FakeResource::start(&authorization).await;
        let (first, second) = (plain(era).await, plain(era).await);
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

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }
}

impl Drop for Guarded {
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

/// Acts as a browser: follows the link to the authorization server, which approves and returns the callback URL.
pub(crate) async fn says_yes(p: &Platform, link: &str) -> String {
    let browser = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
    let request = Request::get(link).body(Full::default()).unwrap();
    let answer = soon(browser.send(request)).await.unwrap();
    assert_eq!(answer.status, 302);
    let back = answer.headers[header::LOCATION].to_str().unwrap();
    back.strip_prefix(&p.url).unwrap_or_else(|| panic!("{back} leads elsewhere")).to_owned()
}

/// Requests an authorization link: its URL and the cookie that comes with it.
pub(crate) async fn link(who: &Person<'_>, id: &str) -> (String, String) {
    let answer = soon(who.post(&format!("/api/upstreams/{id}/authorize"), &json!({}))).await.expect(200);
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    (answer.json()["link"].as_str().unwrap().to_owned(), cookie)
}

/// The whole OAuth flow in one browser.
pub(crate) async fn authorize(p: &Platform, user: &str, id: &str) -> Answer {
    let (link, cookie) = link(&p.user(user), id).await;
    let back = says_yes(p, &link).await;
    soon(p.as_with(&[("cookie", &cookie)]).get(&back)).await
}
