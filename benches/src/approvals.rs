//! From a call that needs an approval to the question on three surfaces: how soon a person can see it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};

use crate::{process::percentile, setup::Bench};

const ASKING_APP: &str = "com.bench.asking";
/// Questions that are measured.
const QUESTIONS: usize = 60;
/// Between two questions. The change feed reports at most two changes a second, so a question that follows another one
/// within half a second is reported later.
const PAUSE: Duration = Duration::from_millis(600);
/// The revision of the MCP session.
const REVISION: &str = "2025-11-25";
const TARGET_MS: f64 = 100.0;

type StreamClient = Client<HttpConnector, Full<Bytes>>;

/// An open event stream.
struct EventStream {
    body: Incoming,
    received: String,
}

impl EventStream {
    async fn open(client: &StreamClient, request: Request<Full<Bytes>>) -> Self {
        let response = client.request(request).await.expect("a stream");
        assert!(response.status().is_success(), "{}", response.status());
        Self { body: response.into_body(), received: String::new() }
    }

    /// Waits for an event with all of these texts in one line, and skips what came before.
    async fn wait_for(&mut self, texts: &[&str]) -> Instant {
        loop {
            while let Some(end) = self.received.find('\n') {
                let line: String = self.received.drain(..=end).collect();
                if texts.iter().all(|text| line.contains(text)) {
                    return Instant::now();
                }
            }
            let frame = self.body.frame().await.expect("the stream goes on").expect("a frame");
            if let Ok(data) = frame.into_data() {
                self.received.push_str(&String::from_utf8_lossy(&data));
            }
        }
    }
}

fn request(
    bench: &Bench,
    method: Method,
    path: &str,
    session: Option<&str>,
    body: &Value,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri(bench.url(path))
        .header(header::AUTHORIZATION, bench.user())
        .header(header::ACCEPT, "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session).header("mcp-protocol-version", REVISION);
    }
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    request.header(header::CONTENT_TYPE, "application/json").body(Full::new(body)).expect("a request")
}

/// An MCP session of a client that can open pages.
async fn open_session(bench: &Bench, client: &StreamClient) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": REVISION, "capabilities": { "elicitation": { "url": {} } },
        "clientInfo": { "name": "bench", "version": "1" } } });
    let response =
        client.request(request(bench, Method::POST, "/mcp", None, &hello)).await.expect("a session");
    let id =
        response.headers().get("mcp-session-id").expect("a session id").to_str().expect("text").to_owned();
    response.into_body().collect().await.expect("a response");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response =
        client.request(request(bench, Method::POST, "/mcp", Some(&id), &ready)).await.expect("a response");
    response.into_body().collect().await.expect("a response");
    id
}

pub async fn measure(bench: &Bench) {
    let tool = json!({ "name": "delete", "description": "Deletes", "annotations": { "destructiveHint": true },
        "inputSchema": { "type": "object", "properties": { "id": { "type": "string" } } } });
    let url = format!("http://{}", bench.direct.address);
    let app = json!({ "packageName": ASKING_APP, "kind": "tools-only", "publicUrl": url, "tools": [tool] });
    bench.operate(Method::POST, "/api/apps", &app).await;
    bench.install(ASKING_APP).await;
    let client: StreamClient = Client::builder(TokioExecutor::new()).build_http();
    let session = open_session(bench, &client).await;
    let open = async |path: &str| {
        let mut stream =
            EventStream::open(&client, request(bench, Method::GET, path, None, &Value::Null)).await;
        stream.wait_for(&["ready"]).await;
        stream
    };
    let (mut events, mut feed) = (open("/api/approvals/events").await, open("/api/changes").await);
    let mut times: [Vec<f64>; 3] = Default::default();
    for number in 0..=QUESTIONS {
        tokio::time::sleep(PAUSE).await;
        let note = format!("note-{number}-end");
        let call = json!({ "jsonrpc": "2.0", "id": number + 2, "method": "tools/call", "params": {
            "name": format!("{ASKING_APP}:delete"), "arguments": { "id": note } } });
        let began = Instant::now();
        let asked = async {
            let call = request(bench, Method::POST, "/mcp", Some(&session), &call);
            let mut stream = EventStream::open(&client, call).await;
            let seen = stream.wait_for(&["elicitation/create", &note]).await;
            (stream, seen)
        };
        // The feed only names the list; the page then loads it.
        let listed = async {
            feed.wait_for(&["approvals"]).await;
            find_question(bench, &note).await;
            Instant::now()
        };
        let announced = ["pending", note.as_str()];
        let ((mut stream, in_client), in_events, in_page) =
            tokio::join!(asked, events.wait_for(&announced), listed);
        // The first one warms up.
        if number > 0 {
            for (samples, seen) in times.iter_mut().zip([in_events, in_client, in_page]) {
                samples.push((seen - began).as_secs_f64() * 1e3);
            }
        }
        deny(bench, &note).await;
        stream.wait_for(&["\"result\""]).await;
        feed.wait_for(&["approvals"]).await;
    }
    println!(
        "Request to screen. {QUESTIONS} calls that ask, from the call to the question; target p95 below {TARGET_MS} ms."
    );
    println!("{:<42} {:>10} {:>10}", "surface", "p50 ms", "p95 ms");
    let surfaces = [
        "event stream of REST and console",
        "MCP: URL elicitation",
        "change feed of the console, then the list",
    ];
    for (surface, samples) in surfaces.iter().zip(&times) {
        let (p50, p95) = (percentile(samples, 0.5), percentile(samples, 0.95));
        let verdict = if p95 < TARGET_MS { "" } else { "  above the target" };
        println!("{surface:<42} {p50:>10.1} {p95:>10.1}{verdict}");
    }
    println!();
}

/// The id of the open question about this note.
async fn find_question(bench: &Bench, note: &str) -> String {
    let (url, user) = (bench.url("/api/approvals?state=pending"), bench.user());
    let list = bench.http.json(Method::GET, &url, &[("authorization", &user)], "").await;
    let asked = list["approvals"].as_array().into_iter().flatten().find(|one| one.to_string().contains(note));
    asked.and_then(|one| one["id"].as_str()).expect("the question is listed").to_owned()
}

/// Answers the question with no.
async fn deny(bench: &Bench, note: &str) {
    let url = bench.url(&format!("/api/approvals/{}", find_question(bench, note).await));
    let user = bench.user();
    bench.http.json(Method::POST, &url, &[("authorization", &user)], r#"{"answer":"deny"}"#).await;
}
