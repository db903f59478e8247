//! Accepts connections and serves each until it ends or the server stops.

use std::{io, sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{hosts::Checked, lifecycle::Lifecycle};

/// How long a client may take to send the head of a request, and how long a connection may idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long to wait after a failed accept: usually there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until the lifecycle stops. Connections with a request under way are left to finish it.
pub(crate) async fn serve(
    listener: TcpListener,
    service: Checked,
    max_connections: usize,
    lifecycle: &Lifecycle,
) {
    let places = Arc::new(Semaphore::new(max_connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    loop {
        let accepted = tokio::select! {
            // A place first: what cannot be served is not accepted, and waits in the system's queue.
            accepted = accept(&listener, &places) => accepted,
            () = lifecycle.stopping.cancelled() => return,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(stream), service.clone()).with_upgrades();
        let stopping = lifecycle.stopping.clone();
        lifecycle.spawn(async move {
            let _place = place;
            tokio::pin!(connection);
            tokio::select! {
                _ = &mut connection => return,
                () = stopping.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}
