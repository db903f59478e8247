//! Memory: after a start, after the load, and for each idle device socket.

use futures_util::StreamExt as _;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::setup::Bench;

/// Of a server that has only started.
pub fn idle(bench: &Bench) -> f64 {
    bench.server.process.as_ref().map_or(0.0, |process| process.pss() as f64 / 1024.0)
}

pub async fn measure(bench: &Bench, at_start: f64, sockets: usize) {
    let Some(process) = &bench.server.process else { return };
    let idle = process.pss();
    let mut open = Vec::with_capacity(sockets);
    for index in 0..sockets {
        let url = format!("ws://{}/glasses-ws", bench.server.address);
        let mut request = url.into_client_request().expect("a request");
        let headers = request.headers_mut();
        headers.insert("authorization", format!("Bearer {}", bench.operator).parse().expect("a header"));
        headers.insert("x-user-id", format!("device-{index}").parse().expect("a header"));
        match tokio_tungstenite::connect_async(request).await {
            Ok((mut socket, _)) => {
                let _ = socket.next().await;
                open.push(socket);
            }
            Err(error) => {
                println!(
                    "Memory. Only {index} sockets could be opened ({error}); raise the limit of open files."
                );
                break;
            }
        }
    }
    let full = process.pss();
    let each = (full.saturating_sub(idle)) as f64 / open.len().max(1) as f64;
    println!(
        "Memory (PSS). After the start: {at_start:.1} MiB; after the load above: {:.1} MiB; each of {} idle device sockets: {each:.1} KiB",
        idle as f64 / 1024.0,
        open.len()
    );
}
