//! A minimal client that sends exactly what a test gives it.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client as Http, rt::TokioExecutor};
use serde_json::{Value, json};
use toolyard_testkit::upstream::MODERN;

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// The message, or the last one of a stream.
    pub(crate) fn message(&self) -> Value {
        let last = self.text.lines().rev().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(last.unwrap_or(&self.text)).expect("the answer is JSON")
    }

    pub(crate) fn result(&self) -> Value {
        self.message()["result"].clone()
    }

    /// The error code.
    pub(crate) fn code(&self) -> i64 {
        self.message()["error"]["code"].as_i64().expect("the answer is an error")
    }
}

/// Sends a request and returns the response once it starts.
pub(crate) async fn open(
    verb: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let mut request = Request::builder().method(verb).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    Http::builder(TokioExecutor::new()).build_http().request(request).await
}

/// Sends a request and reads the response to its end; `None` if the connection breaks.
pub(crate) async fn send(verb: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Option<Answer> {
    let response = open(verb, url, headers, body).await.ok()?;
    let (head, body) = response.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    Some(Answer { status: head.status.as_u16(), headers: head.headers, text })
}

/// The next chunk of a stream.
pub(crate) async fn piece(response: &mut Response<Incoming>) -> Option<String> {
    let frame = response.body_mut().frame().await?.ok()?;
    Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
}

/// A message of the modern era.
pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "sampling": {}, "roots": {} },
    });
    let own = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    own.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The headers of that message.
pub(crate) fn modern_headers(message: &Value) -> Vec<(&str, &str)> {
    let params = &message["params"];
    let mut headers = post_headers();
    headers.push(("mcp-protocol-version", MODERN));
    headers.push(("mcp-method", message["method"].as_str().unwrap()));
    if let Some(name) = params["name"].as_str().or_else(|| params["uri"].as_str()) {
        headers.push(("mcp-name", name));
    }
    headers
}

pub(crate) fn post_headers() -> Vec<(&'static str, &'static str)> {
    vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
}

/// Calls a method in the modern era; `None` if the connection breaks.
pub(crate) async fn ask(url: &str, method: &str, params: Value) -> Option<Answer> {
    let message = modern(1, method, params);
    send("POST", url, &modern_headers(&message), &message.to_string()).await
}

/// A legacy session.
pub(crate) struct Session {
    pub(crate) url: String,
    pub(crate) id: String,
}

impl Session {
    /// Performs the handshake.
    pub(crate) async fn open(url: &str) -> Self {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {}, "sampling": {} },
            "clientInfo": { "name": "test", "version": "1" },
        });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = send("POST", url, &post_headers(), &message.to_string()).await.unwrap();
        assert_eq!(answer.result()["protocolVersion"], "2025-11-25");
        let id = answer.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let session = Self { url: url.to_owned(), id };
        let greeting = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.say(&greeting).await.unwrap().status, 202);
        session
    }

    pub(crate) fn headers(&self) -> Vec<(&str, &str)> {
        let own = [("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", "2025-11-25")];
        post_headers().into_iter().chain(own).collect()
    }

    pub(crate) async fn say(&self, message: &Value) -> Option<Answer> {
        send("POST", &self.url, &self.headers(), &message.to_string()).await
    }

    pub(crate) async fn ask(&self, id: u64, method: &str, params: Value) -> Option<Answer> {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await
    }
}
