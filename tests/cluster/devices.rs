//! Devices that reconnect, and how long that takes.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};
use tokio_util::sync::CancellationToken;

use crate::{
    app::spawn,
    nodes::{Nodes, user_name},
};

/// The pause before a device connects again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) struct Devices(Vec<JoinHandle<Vec<Duration>>>);

impl Devices {
    pub(crate) fn connect(nodes: &Nodes, count: usize, stop: &CancellationToken) -> Self {
        let client = nodes.client();
        let device = |number: usize| {
            let url = format!("{}/glasses-ws", client.url.replace("http", "ws"));
            spawn(stay_connected(url, client.token.clone(), user_name(number), stop.clone()))
        };
        Self((0..count).map(device).collect())
    }

    /// The times without a connection, as a text.
    pub(crate) async fn finish(self) -> String {
        let mut gaps = Vec::new();
        for device in self.0 {
            gaps.extend(device.await.unwrap());
        }
        gaps.sort();
        let at = |share: usize| gaps.get(gaps.len() * share / 100).copied().unwrap_or_default();
        let longest = gaps.last().copied().unwrap_or_default();
        format!("{} reconnections: p50 {:?}, p99 {:?}, longest {longest:?}", gaps.len(), at(50), at(99))
    }
}

async fn stay_connected(url: String, token: String, user: String, stop: CancellationToken) -> Vec<Duration> {
    let (mut gaps, mut lost) = (Vec::new(), None::<Instant>);
    while !stop.is_cancelled() {
        let mut request = url.as_str().into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request.headers_mut().insert("x-user-id", user.parse().unwrap());
        let connected = timeout(CONNECT_TIMEOUT, async {
            let (mut socket, _) = tokio_tungstenite::connect_async(request).await.ok()?;
            // The session is there once it is acknowledged.
            matches!(socket.next().await, Some(Ok(Message::Text(_)))).then_some(socket)
        });
        let Ok(Some(mut socket)) = connected.await else {
            lost.get_or_insert_with(Instant::now);
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        gaps.extend(lost.take().map(|lost| lost.elapsed()));
        loop {
            tokio::select! {
                message = socket.next() => match message {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                    Some(Ok(_)) => {}
                },
                () = stop.cancelled() => return gaps,
            }
        }
        lost = Some(Instant::now());
    }
    gaps
}
