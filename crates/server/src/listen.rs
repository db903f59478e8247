//! Accepts connections and serves each until it ends or the server stops.

use std::time::Duration;

use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::{hosts::HostCheckedRouter, state::ServerState};

/// Largest request head in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The pause after a failed accept, which usually means that there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `closing` ends. Connections that were made by then are accepted; they may finish the request that is in progress.
pub(crate) async fn serve_connections(
    listener: TcpListener,
    service: HostCheckedRouter,
    state: &ServerState,
    closing: impl Future<Output = ()>,
) {
    let (lifecycle, connections) = (&state.lifecycle, &state.process.connections);
    let head_timeout = Duration::from_millis(state.config.load().server.head_timeout_ms);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head_timeout).max_buf_size(MAX_HEAD_BYTES);
    tokio::pin!(closing);
    loop {
        let accepted = tokio::select! {
            // In this order: a connection that waits would be reset if the socket closed.
            biased;
            accepted = connections.accept(&listener) => accepted,
            () = &mut closing => return,
        };
        let stream = match accepted {
            Ok(Some(stream)) => stream,
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let newcomer = connections.newcomers.reserve();
        let evicted = newcomer.eviction_token();
        let (newcomer, service) = (Mutex::new(Some(newcomer)), service.clone());
        let answer = service_fn(move |request: Request<Incoming>| {
            newcomer.lock().take();
            service.call(request)
        });
        let connection = http.serve_connection(TokioIo::new(stream), answer).with_upgrades();
        let stopping = lifecycle.stopping.clone();
        lifecycle.spawn(async move {
            tokio::pin!(connection);
            tokio::select! {
                _ = &mut connection => return,
                () = evicted.cancelled() => return,
                () = stopping.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
}
