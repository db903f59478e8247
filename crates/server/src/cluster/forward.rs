//! A request to another node: the same request, with a stamp. The response, a stream or a socket is passed on as it comes.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header, request::Parts};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use tokio_util::sync::WaitForCancellationFutureOwned;
use toolyard_cluster::Peer;

use super::stamp::FORWARDED;
use crate::state::ServerState;

/// How long a node may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Unused connections are closed before the other node closes them, so that no request meets a closed one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Headers that belong to one connection.
const CONNECTION_HEADERS: [header::HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

/// Why a request got no response from its home.
#[derive(Debug)]
pub(super) enum ForwardError {
    /// It was not sent: it can be sent to another node.
    NotSent(String),
    /// The node stopped or is lost. The request may have run.
    Interrupted,
}

/// Sends requests to other nodes.
pub(crate) struct Forwarder(Client<HttpConnector, Body>);

impl Forwarder {
    pub(super) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        Self(client)
    }

    /// Sends a request to a node. A socket is connected to it for as long as both ends want.
    pub(super) async fn send(
        &self,
        peer: &Peer,
        parts: &mut Parts,
        body: &Bytes,
        stamp: HeaderValue,
        state: &ServerState,
    ) -> Result<Response, ForwardError> {
        let request = build_request(peer, parts, body, stamp)
            .map_err(|error| ForwardError::NotSent(error.to_string()))?;
        let response = tokio::select! {
            response = self.0.request(request) => response.map_err(|error| match error.is_connect() {
                true => ForwardError::NotSent(error.to_string()),
                false => ForwardError::Interrupted,
            })?,
            () = peer.lost.cancelled() => return Err(ForwardError::Interrupted),
        };
        let lost = peer.lost.clone().cancelled_owned();
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(connect_sockets(parts, response, lost, state));
        }
        let (mut head, body) = response.into_parts();
        remove_connection_headers(&mut head.headers);
        Ok(Response::from_parts(head, Body::new(PeerBody { body, lost: Box::pin(lost) })))
    }
}

/// Whether a request opens a socket.
pub(super) fn is_socket(parts: &Parts) -> bool {
    parts.headers.contains_key(header::UPGRADE)
}

/// Whether a request that may have run can be sent again.
pub(super) fn may_repeat(parts: &Parts) -> bool {
    matches!(parts.method, Method::GET | Method::HEAD) || parts.headers.contains_key("idempotency-key")
}

fn build_request(
    peer: &Peer,
    parts: &Parts,
    body: &Bytes,
    stamp: HeaderValue,
) -> Result<Request<Body>, http::Error> {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(parts.method.clone())
        .uri(format!("{}{path}", peer.address).parse::<Uri>()?)
        .body(Body::from(body.clone()))?;
    let headers = request.headers_mut();
    *headers = parts.headers.clone();
    remove_connection_headers(headers);
    if is_socket(parts) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.extend(parts.headers.get(header::UPGRADE).map(|upgrade| (header::UPGRADE, upgrade.clone())));
    }
    headers.insert(FORWARDED, stamp);
    Ok(request)
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    for name in &CONNECTION_HEADERS {
        headers.remove(name);
    }
}

/// Connects the client's socket with the one to its home, byte by byte, so that every frame arrives as it was sent.
fn connect_sockets(
    parts: &mut Parts,
    mut there: Response<Incoming>,
    lost: WaitForCancellationFutureOwned,
    state: &ServerState,
) -> Response {
    let client = parts.extensions.remove::<OnUpgrade>();
    let home = hyper::upgrade::on(&mut there);
    let stopping = state.lifecycle.stopping.clone();
    state.lifecycle.spawn(async move {
        let Some(client) = client else { return };
        let (Ok(client), Ok(home)) = tokio::join!(client, home) else { return };
        let (mut client, mut home) = (TokioIo::new(client), TokioIo::new(home));
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut client, &mut home) => {}
            () = lost => {}
            () = stopping.cancelled() => {}
        }
    });
    let (head, _) = there.into_parts();
    Response::from_parts(head, Body::empty())
}

/// The body of a response from another node. It fails when the node is lost, so that nobody takes half of it for the whole.
struct PeerBody {
    body: Incoming,
    lost: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl HttpBody for PeerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new))),
            Poll::Pending if self.lost.as_mut().poll(cx).is_ready() => {
                Poll::Ready(Some(Err(axum::Error::new("the node that sent this response is lost"))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
