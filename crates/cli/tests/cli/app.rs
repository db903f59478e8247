//! A small app: tools, a health page, a `tpa_config.json`, and a webhook that notifies the test.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, Receiver, Sender},
};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::fixture::soon;

/// An app that runs until it is dropped.
pub(crate) struct App {
    pub(crate) url: String,
    /// The requests to it, as path and body.
    asked: Receiver<(String, Value)>,
    _server: AbortOnDropHandle<()>,
}

impl App {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::channel(64);
        let tasks = TaskTracker::new();
        let connections = tasks.clone();
        let server = tasks.spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let tell = tell.clone();
                let service = service_fn(move |request| answer(request, tell.clone()));
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { url, asked, _server: AbortOnDropHandle::new(server) }
    }

    /// The number of calls since the last check.
    pub(crate) fn calls(&mut self) -> usize {
        std::iter::from_fn(|| self.asked.try_recv().ok()).filter(|(path, _)| path == "/tool").count()
    }

    /// The next request to a path.
    pub(crate) async fn asked(&mut self, path: &str) -> Value {
        soon(async {
            loop {
                let (asked, body) = self.asked.recv().await.unwrap();
                if asked == path {
                    return body;
                }
            }
        })
        .await
    }
}

async fn answer(
    request: Request<Incoming>,
    tell: Sender<(String, Value)>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let _ = tell.send((path.clone(), body.clone())).await;
    Ok(match (head.method, path.as_str()) {
        (Method::GET, "/health") => reply(&json!({ "status": "healthy" })),
        (Method::GET, "/tpa_config.json") => reply(&config()),
        (Method::POST, "/webhook") => reply(&json!({ "status": "success" })),
        (Method::POST, "/tool") => tool(&body).await,
        _ => {
            let mut missing = reply(&json!({ "error": "nothing here" }));
            *missing.status_mut() = StatusCode::NOT_FOUND;
            missing
        }
    })
}

async fn tool(body: &Value) -> Response<Full<Bytes>> {
    match body["name"].as_str().unwrap_or_default() {
        "say" => {
            reply(&json!({ "success": true, "content": format!("you said {}", body["arguments"]["text"]) }))
        }
        "count" => reply(&json!({ "success": true, "content": { "n": body["arguments"]["n"] } })),
        "fail" => reply(
            &json!({ "success": false, "error": { "code": "EXECUTION_ERROR", "message": "no milk left" } }),
        ),
        "work" => lines(concat!(
            r#"{"type":"progress","progress":0.5,"message":"half way"}"#,
            "\n",
            r#"{"type":"result","success":true,"content":"all done"}"#,
            "\n"
        )),
        _ => std::future::pending().await,
    }
}

fn lines(text: &'static str) -> Response<Full<Bytes>> {
    let mut lines = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    lines.headers_mut().insert(header::CONTENT_TYPE, "application/x-ndjson".parse().unwrap());
    lines
}

fn reply(body: &Value) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(Bytes::from(body.to_string())));
    reply.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    reply
}

/// Its tools as definitions.
pub(crate) fn tools() -> Value {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    json!({ "tools": [
        { "name": "say", "title": "Say it again", "inputSchema": object(json!({ "text": { "type": "string" } })) },
        { "name": "count", "description": "Counts.\nSlowly.", "inputSchema": object(json!({ "n": { "type": "integer" } })),
            "mentraExtensions": { "category": "utility" } },
        { "name": "fail", "description": "Fails", "inputSchema": object(json!({})) },
        { "name": "work", "description": "Takes its time", "inputSchema": object(json!({})) },
        { "name": "hang", "description": "Never ends", "inputSchema": object(json!({})) },
    ] })
}

/// Its description in the older format.
pub(crate) fn config() -> Value {
    json!({
        "name": "Notes", "description": "Keeps notes", "version": "1.0.0",
        "permissions": [{ "type": "MICROPHONE" }],
        "settings": [{ "type": "toggle", "key": "loud", "label": "Loud", "defaultValue": false }],
        "tools": [{
            "id": "note", "description": "Writes a note", "activationPhrases": "note, write down",
            "parameters": { "text": { "type": "string", "description": "The note", "required": true } },
        }],
    })
}
