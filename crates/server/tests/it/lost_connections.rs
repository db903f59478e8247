//! Connections to apps that fail or break: whether the tool may have run, and what happens to the idempotency key.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use toolyard_testkit::{
    FakeApp,
    upstream::{InjectedFault, RequestMatch, UpstreamEra},
};

use crate::{
    platform::{Answer, Device, ECHO, Platform},
    upstreams::world::{add, live, plain},
};

/// Where an app closes the connection.
#[derive(Debug, Clone, Copy)]
enum BreakAt {
    /// Before it reads the request.
    BeforeReading,
    /// After it has read the request.
    AfterReading,
    /// In the middle of its response.
    WithinResponse,
}

/// Accepts one connection and closes it at this point.
async fn break_one(listener: &TcpListener, at: BreakAt) {
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.readable().await.unwrap();
    match at {
        BreakAt::BeforeReading => {}
        BreakAt::AfterReading => read_request(&mut stream).await,
        BreakAt::WithinResponse => {
            read_request(&mut stream).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
            stream.write_all(format!("{head}{{\"success\":true,\"cont").as_bytes()).await.unwrap();
        }
    }
}

/// Reads a request to its end: the body is an object, and nothing follows it.
async fn read_request(stream: &mut TcpStream) {
    let mut text = Vec::new();
    let is_whole = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.split_once("\r\n\r\n")
            .is_some_and(|(_, body)| serde_json::from_str::<serde_json::Value>(body).is_ok())
    };
    while !is_whole(&text) {
        assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0, "{}", String::from_utf8_lossy(&text));
    }
}

async fn moves_to(p: &Platform, url: &str) {
    p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "publicUrl": url })).await.expect(200);
}

async fn call(p: &Platform, key: Option<&str>) -> Answer {
    let ada = match key {
        Some(key) => p.user("ada").header("idempotency-key", key),
        None => p.user("ada"),
    };
    ada.call(&format!("{ECHO}:echo"), json!({ "text": "a" })).await
}

async fn on_raw_app(p: &Platform) -> (FakeApp, Device, TcpListener, u16) {
    let (app, device) = p.echo().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (app, device, listener, port)
}

#[tokio::test]
async fn a_call_that_was_sent_and_not_answered_keeps_its_key_as_unknown() {
    let p = Platform::start().await;
    let (app, _device, listener, port) = on_raw_app(&p).await;
    for at in [BreakAt::BeforeReading, BreakAt::AfterReading, BreakAt::WithinResponse] {
        moves_to(&p, &format!("http://127.0.0.1:{port}")).await;
        let key = format!("{at:?}");
        let (keyed, ()) = tokio::join!(call(&p, Some(&key)), break_one(&listener, at));
        let keyed = keyed.expect(409);
        assert_eq!(keyed.code(), "OUTCOME_UNKNOWN", "{at:?}");
        assert!(keyed.text.contains("may or may not have run"), "{}", keyed.text);
        assert_eq!(keyed.json()["error"]["retryable"], false);
        let (unkeyed, ()) = tokio::join!(call(&p, None), break_one(&listener, at));
        assert_eq!(unkeyed.expect(502).code(), "INVALID_RESPONSE", "{at:?}");
        // The call is not repeated, even when the app works again.
        moves_to(&p, &app.url()).await;
        assert_eq!(call(&p, Some(&key)).await.expect(409).text, keyed.text);
        assert!(app.requests("/tool").is_empty());
    }
}

#[tokio::test]
async fn a_call_whose_connection_was_refused_releases_its_key() {
    let p = Platform::start().await;
    let (app, _device, listener, port) = on_raw_app(&p).await;
    drop(listener);
    moves_to(&p, &format!("http://127.0.0.1:{port}")).await;
    let refused = call(&p, Some("k")).await.expect(502);
    assert_eq!(
        (refused.code(), refused.json()["error"]["retryable"].clone()),
        ("NETWORK_ERROR".to_owned(), json!(true))
    );
    moves_to(&p, &app.url()).await;
    call(&p, Some("k")).await.expect(200);
    assert_eq!(app.requests("/tool").len(), 1);
}

/// The TLS handshake never completes: the deadline ends a call of which nothing was sent.
#[tokio::test]
async fn a_call_whose_connection_was_never_established_releases_its_key() {
    let p = Platform::with(|config| config.calls.timeout_ms = 200).await;
    let (app, _device, listener, port) = on_raw_app(&p).await;
    moves_to(&p, &format!("https://127.0.0.1:{port}")).await;
    for key in [Some("k"), None] {
        let silent = async {
            let accepted = listener.accept().await.unwrap();
            std::future::pending::<()>().await;
            drop(accepted);
        };
        let late = tokio::select! {
            late = call(&p, key) => late.expect(502),
            () = silent => unreachable!(),
        };
        assert_eq!(
            (late.code(), late.json()["error"]["retryable"].clone()),
            ("NETWORK_ERROR".to_owned(), json!(true))
        );
        assert!(late.text.contains("did not run"), "{}", late.text);
    }
    moves_to(&p, &app.url()).await;
    call(&p, Some("k")).await.expect(200);
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn an_upstream_that_breaks_off_leaves_an_unknown_outcome_too() {
    let p = Platform::start().await;
    for (id, era) in [("modern", UpstreamEra::Modern), ("legacy", UpstreamEra::Legacy)] {
        let upstream = plain(era).await;
        add(&p, id, &upstream.url()).await;
        let ada = live(&p, "ada").await;
        upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::DieMidway);
        let tool = format!("mcp.{id}:echo");
        assert_eq!(
            ada.call(&tool, json!({ "text": "x" })).await.expect(502).code(),
            "INVALID_RESPONSE",
            "{id}"
        );
        let keyed = ada.header("idempotency-key", id).call(&tool, json!({ "text": "x" })).await;
        assert_eq!(keyed.expect(409).code(), "OUTCOME_UNKNOWN", "{id}");
    }
}
