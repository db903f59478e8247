//! A client that sends what the platform sends.

use bytes::Bytes;
use http::{Request, StatusCode, request::Builder};
use http_body_util::Full;
use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient, HttpResponse};

pub(crate) const ADA: &str = "ada@example.com";

/// A call in the form of the platform.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({
        "name": tool,
        "arguments": arguments,
        "context": {
            "userId": ADA, "timestamp": "2026-01-02T03:04:05.678Z", "activatedForTool": true, "callId": "c-1",
        },
        "toolId": tool,
        "toolParameters": arguments,
        "userId": ADA,
        "timestamp": "2026-01-02T03:04:05.678Z",
    })
}

pub(crate) fn request(url: &str) -> Builder {
    Request::post(url).header("content-type", "application/json")
}

/// Sends a request and gives back the head of the answer.
pub(crate) async fn send(request: Builder, body: impl Into<Bytes>) -> HttpResponse {
    let client = HttpClient::new(Guard::dev(), ClientSettings::default());
    client.send(request.body(Full::new(body.into())).unwrap()).await.unwrap()
}

/// Sends JSON and gives back the status and the JSON of the answer.
pub(crate) async fn post(url: &str, body: &Value) -> (StatusCode, Value) {
    json_of(send(request(url), body.to_string()).await).await
}

pub(crate) async fn json_of(response: HttpResponse) -> (StatusCode, Value) {
    assert_eq!(response.headers["content-type"], "application/json");
    let status = response.status;
    let body = response.bytes(16 * 1024 * 1024).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}
