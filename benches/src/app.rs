//! The echo app: the least that is an app, so that what is measured is the way to it. It also serves listings of fixed
//! size as the direct baseline, and connects when its webhook is called.

use std::{convert::Infallible, sync::Arc, time::Instant};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Mutex};
use tokio_tungstenite::tungstenite::Message;

/// Words of an answer of the model.
pub const TOKENS: usize = 200;
/// Tools of the MCP server.
pub const MCP_TOOLS: usize = 1_000;
/// Listings by the number of their tools.
pub const LISTS: [usize; 3] = [10, 100, 1_000];

#[derive(Default)]
struct Shared {
    /// The listings as bytes: the direct baseline is a server that has them ready.
    lists: Vec<(String, Bytes)>,
    /// The list of the MCP server.
    mcp_list: Bytes,
    /// The key to connect with, told by the bench.
    key: Mutex<String>,
    /// How long the app itself took to connect last: from the webhook to the ack, in seconds.
    connect: Mutex<f64>,
}

pub async fn run() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("{}", listener.local_addr().expect("an address"));
    let lists = LISTS.iter().map(|count| (format!("/list-{count}"), Bytes::from(listing(*count)))).collect();
    let mcp_list = Bytes::from(mcp_listing(MCP_TOOLS));
    let shared = Arc::new(Shared { lists, mcp_list, ..Shared::default() });
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let shared = shared.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(shared.clone(), request));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

fn json(body: impl Into<Bytes>) -> Response<Body> {
    let response = Response::builder().header("content-type", "application/json");
    response.body(Full::new(body.into()).boxed_unsync()).expect("a response")
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Ok(match path.as_str() {
        "/tool" => json(Bytes::from_static(br#"{"status":"success","reply":"ok"}"#)),
        "/key" => {
            *shared.key.lock().await = String::from_utf8_lossy(&body).into_owned();
            json("{}")
        }
        "/mcp" => json(mcp(&shared, &body)),
        "/v1/chat/completions" => words(),
        "/v1/models" => json(r#"{"object":"list","data":[{"id":"bench","object":"model"}]}"#),
        "/connect-time" => json(shared.connect.lock().await.to_string()),
        "/webhook" => {
            let began = Instant::now();
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            if body["type"] == "session_request" {
                tokio::spawn(connect(shared, body, began));
            }
            json(r#"{"status":"success"}"#)
        }
        path => match shared.lists.iter().find(|(name, _)| name == path) {
            Some((_, list)) => json(list.clone()),
            None => json("{}"),
        },
    })
}

/// The least that is a model: so many words, each in a piece of its own.
fn words() -> Response<Body> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] }))
    };
    let word = Bytes::from(chunk(json!({ "content": "word " }), Value::Null));
    let end = Bytes::from(chunk(json!({}), json!("stop")) + "data: [DONE]\n\n");
    let pieces = futures_util::stream::unfold(0, move |said| {
        let (word, end) = (word.clone(), end.clone());
        async move {
            tokio::task::yield_now().await;
            match said {
                said if said < TOKENS => Some((Ok(Frame::data(word)), said + 1)),
                TOKENS => Some((Ok(Frame::data(end)), said + 1)),
                _ => None,
            }
        }
    });
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(StreamBody::new(pieces).boxed_unsync()).expect("a response")
}

/// The least that is an MCP server of today: as a baseline, and as an upstream.
fn mcp(shared: &Shared, body: &[u8]) -> Bytes {
    #[derive(serde::Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        id: &'a serde_json::value::RawValue,
        method: &'a str,
    }
    let Ok(Message { id, method }) = serde_json::from_slice::<Message<'_>>(body) else { return Bytes::new() };
    let result: &[u8] = match method {
        "tools/call" => br#"{"resultType":"complete","content":[{"type":"text","text":"ok"}]}"#,
        "tools/list" => &shared.mcp_list,
        "server/discover" => {
            br#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#
        }
        _ => b"{}",
    };
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.get().as_bytes(), b",\"result\":", result, b"}"].concat().into()
}

async fn connect(shared: Arc<Shared>, webhook: Value, began: Instant) {
    let url = webhook["mentraOSWebsocketUrl"].as_str().unwrap_or_default();
    let Ok((mut socket, _)) = tokio_tungstenite::connect_async(url).await else { return };
    let init = json!({ "type": "tpa_connection_init", "sessionId": webhook["sessionId"],
        "packageName": crate::setup::SESSION_APP, "apiKey": *shared.key.lock().await });
    if socket.send(Message::text(init.to_string())).await.is_err() {
        return;
    }
    while let Some(Ok(message)) = socket.next().await {
        if message.to_text().is_ok_and(|text| text.contains("tpa_connection_ack")) {
            *shared.connect.lock().await = began.elapsed().as_secs_f64();
        }
    }
}

/// One tool of middling size.
pub fn tool(index: usize) -> Value {
    json!({ "name": format!("tool_{index}"), "description": "Does something that a user may want, and says what it did.",
        "inputSchema": { "type": "object", "properties": {
            "text": { "type": "string", "description": "What it is about" },
            "count": { "type": "integer", "description": "How many", "default": 1 } }, "required": ["text"] } })
}

fn listing(count: usize) -> String {
    json!({ "tools": (0..count).map(tool).collect::<Vec<_>>() }).to_string()
}

fn mcp_listing(count: usize) -> String {
    json!({ "tools": (0..count).map(tool).collect::<Vec<_>>(), "resultType": "complete", "ttlMs": 0,
        "cacheScope": "private" })
    .to_string()
}
