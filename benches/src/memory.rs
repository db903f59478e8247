//! Memory: after a start, after the load, and for each idle device socket.

use futures_util::StreamExt as _;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::setup::Bench;

/// Proportional set size of the server, in MiB.
pub fn now(bench: &Bench) -> f64 {
    bench.server.process.as_ref().map_or(0.0, |process| process.pss() as f64 / 1024.0)
}

/// Measured before any load: afterwards sockets would live in memory that the load left behind.
pub async fn measure(bench: &Bench, sockets: usize) {
    let idle = now(bench);
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
    let each = (now(bench) - idle).max(0.0) * 1024.0 / open.len().max(1) as f64;
    println!(
        "Memory (PSS). After the start: {idle:.1} MiB; each of {} idle device sockets: {each:.1} KiB",
        open.len()
    );
    println!();
}
