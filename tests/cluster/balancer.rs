//! A load balancer: each connection goes to a node that is ready. Connections to a node that is not are cut.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::app::spawn;

const CHECK_EVERY: Duration = Duration::from_millis(100);
const CHECK_TIMEOUT: Duration = Duration::from_millis(800);
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// A node as the balancer sees it. While it is ready it has a token that cuts its connections.
struct Target {
    address: SocketAddr,
    ready: Mutex<Option<CancellationToken>>,
}

pub(crate) struct Balancer {
    pub(crate) url: String,
    targets: Arc<Vec<Target>>,
}

impl Balancer {
    pub(crate) async fn start(listener: TcpListener, nodes: &[SocketAddr]) -> Self {
        let targets: Vec<_> =
            nodes.iter().map(|address| Target { address: *address, ready: Mutex::new(None) }).collect();
        let targets = Arc::new(targets);
        let url = format!("http://{}", listener.local_addr().unwrap());
        for index in 0..targets.len() {
            spawn(watch(targets.clone(), index));
        }
        spawn(accept(listener, targets.clone()));
        Self { url, targets }
    }

    pub(crate) fn all_ready(&self) -> bool {
        self.targets.iter().all(|target| target.ready.lock().is_some())
    }
}

async fn watch(targets: Arc<Vec<Target>>, index: usize) {
    let target = &targets[index];
    loop {
        let is_ready = timeout(CHECK_TIMEOUT, is_ready(target.address)).await.unwrap_or(false);
        {
            let mut ready = target.ready.lock();
            match (is_ready, ready.is_some()) {
                (true, false) => *ready = Some(CancellationToken::new()),
                (false, true) => ready.take().unwrap().cancel(),
                _ => {}
            }
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "a connection to a node of the test")]
async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    TcpStream::connect(address).await
}

async fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut socket) = connect(address).await else { return false };
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut response = [0; 12];
    socket.write_all(request.as_bytes()).await.is_ok()
        && socket.read_exact(&mut response).await.is_ok()
        && response.ends_with(b" 200")
}

async fn accept(listener: TcpListener, targets: Arc<Vec<Target>>) {
    let turn = AtomicUsize::new(0);
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        let first = turn.fetch_add(1, Ordering::Relaxed);
        let targets = targets.clone();
        spawn(async move {
            for index in 0..targets.len() {
                let target = &targets[(first + index) % targets.len()];
                let Some(cut) = target.ready.lock().clone() else { continue };
                let Ok(Ok(mut node)) = timeout(CONNECT_TIMEOUT, connect(target.address)).await else {
                    continue;
                };
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut node) => {}
                    () = cut.cancelled() => {}
                }
                return;
            }
        });
    }
}
