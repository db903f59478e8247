//! PostgreSQL is down for a while.

use std::time::Duration;

use serde_json::json;
use toolyard_testkit::postgres::TestServer;

use crate::platform::{ECHO, Platform};

async fn until_status(p: &Platform, path: &str, status: u16) {
    while p.user("ada").get(path).await.status.as_u16() != status {
        // Requests try to connect now and then, and the outcome of a check is reused for a second.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_needs_no_store_runs_on_and_the_rest_is_refused_until_it_is_back() {
    let database = TestServer::launch();
    let p = Platform::with(|config| {
        config.store.url = Some(database.url.clone());
        config.store.acquire_timeout_ms = 300;
    })
    .await;
    let (_app, _device) = p.echo().await;
    let echo = format!("{ECHO}:echo");
    let call = async |text: &str| p.user("ada").call(&echo, json!({ "text": text })).await;
    let keyed =
        async || p.user("ada").header("idempotency-key", "k").call(&echo, json!({ "text": "keyed" })).await;
    call("before").await.expect(200);

    database.halt();
    call("during").await.expect(200);
    let refused = keyed().await.expect(503).json();
    assert_eq!(
        (&refused["error"]["code"], &refused["error"]["retryable"]),
        (&json!("OVERLOADED"), &json!(true))
    );
    until_status(&p, "/api/approvals", 503).await;
    assert_eq!(p.user("ada").get("/api/approvals").await.expect(503).code(), "UNAVAILABLE");
    until_status(&p, "/readyz", 503).await;
    p.nobody().get("/healthz").await.expect(200);

    database.start();
    until_status(&p, "/readyz", 200).await;
    until_status(&p, "/api/approvals", 200).await;
    keyed().await.expect(200);
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    let ended = calls["calls"].as_array().unwrap().iter().filter(|call| call["outcome"] == "OK").count();
    assert_eq!(ended, 3, "the call during the outage is recorded, too: {calls}");
}
