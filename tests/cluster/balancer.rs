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

/// A node as the balancer sees it.
struct Target {
    address: SocketAddr,
    state: Mutex<TargetState>,
}

/// What the last check said.
#[derive(Default)]
struct TargetState {
    is_ready: bool,
    /// Cuts the connections when the node does not respond.
    cut: CancellationToken,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    /// It gets new connections.
    Ready,
    /// It gets none, and keeps those it has.
    Refuses,
    /// Its connections are cut.
    Silent,
}

pub(crate) struct Balancer {
    pub(crate) url: String,
    targets: Arc<Vec<Target>>,
}

impl Balancer {
    pub(crate) async fn start(listener: TcpListener, nodes: &[SocketAddr]) -> Self {
        let targets: Vec<_> =
            nodes.iter().map(|address| Target { address: *address, state: Mutex::default() }).collect();
        let targets = Arc::new(targets);
        let url = format!("http://{}", listener.local_addr().unwrap());
        for index in 0..targets.len() {
            spawn(watch(targets.clone(), index));
        }
        spawn(accept(listener, targets.clone()));
        Self { url, targets }
    }

    pub(crate) fn all_ready(&self) -> bool {
        self.targets.iter().all(|target| target.state.lock().is_ready)
    }
}

async fn watch(targets: Arc<Vec<Target>>, index: usize) {
    let target = &targets[index];
    loop {
        let health = timeout(CHECK_TIMEOUT, check(target.address)).await.unwrap_or(Health::Silent);
        {
            let mut state = target.state.lock();
            state.is_ready = health == Health::Ready;
            if health == Health::Silent {
                std::mem::take(&mut state.cut).cancel();
            }
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "a connection to a node of the test")]
async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    TcpStream::connect(address).await
}

async fn check(address: SocketAddr) -> Health {
    let Ok(mut socket) = connect(address).await else { return Health::Silent };
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut response = [0; 12];
    let is_answered =
        socket.write_all(request.as_bytes()).await.is_ok() && socket.read_exact(&mut response).await.is_ok();
    match is_answered {
        true if response.ends_with(b" 200") => Health::Ready,
        true => Health::Refuses,
        false => Health::Silent,
    }
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
                let cut = {
                    let state = target.state.lock();
                    if !state.is_ready {
                        continue;
                    }
                    state.cut.clone()
                };
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
