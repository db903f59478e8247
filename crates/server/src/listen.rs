//! Accepts connections and serves each until it ends or the server stops.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::net::TcpListener;

use crate::lifecycle::Lifecycle;

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long to wait after a failed accept: usually there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until the lifecycle stops. Connections with a request under way are left to finish it.
pub(crate) async fn serve(listener: TcpListener, router: Router, lifecycle: &Lifecycle) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = lifecycle.stopping.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let stopping = lifecycle.stopping.clone();
        lifecycle.spawn(async move {
            tokio::pin!(connection);
            tokio::select! {
                _ = &mut connection => return,
                () = stopping.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
}
