//! An app that answers with what it was asked, by whom, and remembers it.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::Instant};

/// When a call ran, for whom.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) user: String,
    pub(crate) at: Instant,
}

/// The runs of each text.
pub(crate) type Runs = HashMap<String, Vec<Run>>;

/// The app. It runs until the process ends.
pub(crate) struct EchoApp {
    pub(crate) url: String,
    runs: Arc<parking_lot::Mutex<Runs>>,
}

impl EchoApp {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let runs = Arc::<parking_lot::Mutex<Runs>>::default();
        let shared = runs.clone();
        spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else { continue };
                let runs = shared.clone();
                let answer = service_fn(move |request| respond(runs.clone(), request));
                spawn(async move {
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await;
                });
            }
        });
        Self { url, runs }
    }

    pub(crate) fn runs(&self) -> Runs {
        self.runs.lock().clone()
    }
}

async fn respond(
    runs: Arc<parking_lot::Mutex<Runs>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let call: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = call["toolParameters"]["text"].as_str().unwrap_or_default().to_owned();
    let user = call["userId"].as_str().unwrap_or_default().to_owned();
    let answer = json!({ "success": true, "content": format!("{user} {text}") });
    runs.lock().entry(text).or_default().push(Run { user, at: Instant::now() });
    let response = Response::builder().header("content-type", "application/json");
    Ok(response.body(Full::new(Bytes::from(answer.to_string()))).unwrap())
}

#[expect(clippy::disallowed_methods, reason = "tasks of the test end with it")]
pub(crate) fn spawn<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(task)
}
