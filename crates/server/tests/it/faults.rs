//! Every failure of a call to an app, with its error code.

use serde_json::json;
use toolyard_testkit::{AppBehavior, FakeApp, OnWebhook};

use crate::platform::{ECHO, Platform, echo_tool};

#[tokio::test]
async fn both_reply_forms_are_understood() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    for (act, content) in [
        (AppBehavior::reply("hello"), json!("hello")),
        (AppBehavior::Json(200, json!({ "status": "success", "reply": { "n": 1 } })), json!({ "n": 1 })),
        (AppBehavior::content(json!("hello")), json!("hello")),
        (AppBehavior::content(json!({ "n": 1 })), json!({ "n": 1 })),
        (AppBehavior::content(json!([{ "type": "text", "text": "one" }])), json!("one")),
        (
            AppBehavior::Json(
                200,
                json!({ "content": [{ "type": "image", "data": "AA==", "mimeType": "image/png" }] }),
            ),
            json!([{ "type": "image", "data": "AA==", "mimeType": "image/png" }]),
        ),
    ] {
        app.set_behavior(act);
        assert_eq!(p.call_echo().await.expect(200).json(), json!({ "success": true, "content": content }));
    }
}

#[tokio::test]
async fn the_app_gets_both_forms_signed_with_key_and_trace() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let answer = p.user("Ada").header("traceparent", parent).header("idempotency-key", "k1");
    let answer = answer.call(&format!("{ECHO}:echo"), json!({ "text": "hi" })).await.expect(200);
    let seen = &app.requests("/tool")[0];
    assert_eq!(
        seen.body,
        json!({
            "name": "echo", "arguments": { "text": "hi" }, "toolId": "echo", "toolParameters": { "text": "hi" },
            "userId": "ada", "timestamp": "2026-01-02T03:04:05.678Z",
            "context": { "userId": "ada", "timestamp": "2026-01-02T03:04:05.678Z", "activatedForTool": false,
                "callId": answer.header("x-toolyard-call-id") },
        })
    );
    let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default();
    assert_eq!(header("idempotency-key"), "k1");
    assert_eq!(header("accept"), "application/x-ndjson, application/json");
    assert!(header("traceparent").starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
    assert_ne!(header("traceparent"), parent, "the app is called under a span of ours");
    assert!(header("x-toolyard-signature").starts_with("v1="));
    assert_eq!(header("x-app-api-key"), "", "only apps marked as legacy get the hash of their key");
}

#[tokio::test]
async fn legacy_apps_get_the_hash_of_their_key() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(json!({ "legacy": true })).await;
    p.call_echo().await.expect(200);
    assert_eq!(app.requests("/tool")[0].headers["x-app-api-key"].len(), 64);
}

#[tokio::test]
async fn every_invalid_response_of_an_app_has_its_error_code() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let html = || "<!DOCTYPE html><pre>Error</pre>".to_owned();
    for (act, status, code) in [
        (AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })), 500, "EXECUTION_ERROR"),
        (
            AppBehavior::Json(
                200,
                json!({ "content": [{ "type": "text", "text": "no milk" }], "isError": true }),
            ),
            500,
            "EXECUTION_ERROR",
        ),
        (
            AppBehavior::Json(
                200,
                json!({ "success": false, "error": { "code": "X", "message": "no milk" } }),
            ),
            500,
            "EXECUTION_ERROR",
        ),
        (
            AppBehavior::Json(
                200,
                json!({ "success": false, "error": { "code": "HANDLER_ERROR", "message": "no milk" } }),
            ),
            500,
            "HANDLER_ERROR",
        ),
        (
            AppBehavior::Json(
                404,
                json!({ "success": false, "error": { "code": "TOOL_NOT_FOUND", "message": "" } }),
            ),
            502,
            "TOOL_NOT_HANDLED",
        ),
        (AppBehavior::Json(200, json!({ "status": "success", "reply": null })), 502, "TOOL_NOT_HANDLED"),
        (AppBehavior::Text(500, "text/html", html()), 502, "HTTP_ERROR"),
        (AppBehavior::Text(413, "text/html", html()), 502, "HTTP_ERROR"),
        (AppBehavior::Text(302, "text/html", html()), 502, "HTTP_ERROR"),
        (AppBehavior::Text(200, "text/html", html()), 502, "INVALID_RESPONSE"),
        (AppBehavior::Text(200, "application/json", "null".into()), 502, "INVALID_RESPONSE"),
        (AppBehavior::Text(200, "application/json", "{}".into()), 502, "INVALID_RESPONSE"),
        (AppBehavior::Text(200, "application/json", String::new()), 502, "INVALID_RESPONSE"),
        (
            AppBehavior::Text(
                200,
                "application/json",
                format!("{{\"content\":\"{}\"}}", "x".repeat(2 * 1024 * 1024)),
            ),
            502,
            "INVALID_RESPONSE",
        ),
        (AppBehavior::Cut, 502, "INVALID_RESPONSE"),
    ] {
        app.set_behavior(act.clone());
        let answer = p.call_echo().await.expect(status);
        assert_eq!(
            (answer.code().as_str(), &answer.json()["error"]["retryable"]),
            (code, &json!(false)),
            "{act:?}"
        );
    }
}

#[tokio::test]
async fn an_error_status_is_retryable_if_the_tool_is_read_only() {
    let p = Platform::start().await;
    let mut tool = echo_tool();
    tool["annotations"] = json!({ "readOnlyHint": true });
    let (app, _device) = p.echo_like(json!({ "tools": [tool] })).await;
    for (status, retryable) in [(500, true), (413, false)] {
        app.set_behavior(AppBehavior::Text(status, "text/html", "<p>".into()));
        assert_eq!(p.call_echo().await.expect(502).json()["error"]["retryable"], json!(retryable));
    }
}

#[tokio::test]
async fn an_app_that_is_down_was_never_reached() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    drop(app);
    let answer = p.call_echo().await.expect(502);
    assert_eq!(answer.json()["error"]["code"], "NETWORK_ERROR");
    assert_eq!(answer.json()["error"]["retryable"], true);
}

#[tokio::test]
async fn a_slow_app_times_out() {
    let p = Platform::start().await;
    let mut idempotent = echo_tool();
    idempotent["name"] = "again".into();
    idempotent["annotations"] = json!({ "idempotentHint": true });
    let (app, _device) =
        p.echo_like(json!({ "callTimeoutMs": 50, "tools": [echo_tool(), idempotent] })).await;
    app.set_behavior(AppBehavior::Hang);
    for (tool, retryable) in [("echo", false), ("again", true)] {
        let answer = p.user("ada").call(&format!("{ECHO}:{tool}"), json!({ "text": "x" })).await.expect(504);
        assert_eq!(
            (answer.code().as_str(), answer.json()["error"]["retryable"].as_bool()),
            ("TIMEOUT", Some(retryable))
        );
    }
    app.wait_cancelled(2).await;
}

#[tokio::test]
async fn a_disconnect_cancels_the_call_and_is_recorded() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let mut calls = p.state.executor.subscribe();
    tokio::select! {
        _ = p.call_echo() => panic!("the app hangs"),
        _ = app.wait_requests("/tool", 1) => {}
    }
    app.wait_cancelled(1).await;
    assert_eq!(calls.recv().await.unwrap().error, Some(toolyard_protocol::ErrorCode::Cancelled));
    let page = p.user("ada").get("/api/calls").await.expect(200).json();
    assert_eq!(page["calls"][0]["outcome"], "CANCELLED");
}

#[tokio::test]
async fn a_failed_start_of_an_app_is_explained() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(json!({ "kind": "session" })).await;
    let waits = async |ms: u64| {
        p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "wakeTimeoutMs": ms })).await.expect(200);
    };

    app.on_webhook(OnWebhook::Refuse);
    let answer = p.call_echo().await.expect(503);
    assert_eq!(
        (answer.code().as_str(), answer.json()["error"]["retryable"].as_bool()),
        ("APP_NOT_AVAILABLE", Some(true))
    );

    app.on_webhook(OnWebhook::Ignore);
    waits(200).await;
    let answer = p.call_echo().await.expect(503);
    assert_eq!(
        (answer.code().as_str(), answer.json()["error"]["retryable"].as_bool()),
        ("APP_NOT_AVAILABLE", Some(true))
    );

    waits(10_000).await;
    app.on_webhook(OnWebhook::Connect);
    app.set_api_key("wrong");
    let answer = p.call_echo().await.expect(503);
    assert_eq!(
        (answer.code().as_str(), answer.json()["error"]["retryable"].as_bool()),
        ("APP_NOT_AVAILABLE", Some(false))
    );
    assert!(answer.text.contains("wrong API key"), "{}", answer.text);
    assert_eq!(app.next_session().await.wait_closed().await, Some(1008));

    drop(app);
    let answer = p.call_echo().await.expect(503);
    assert_eq!(
        (answer.code().as_str(), answer.json()["error"]["retryable"].as_bool()),
        ("APP_NOT_AVAILABLE", Some(true))
    );
    assert_eq!(p.user("ada").get("/api/session").await.json()["apps"], json!([]), "nothing is left behind");
    device.say(json!({ "type": "ping" })).await;
}

#[tokio::test]
async fn an_app_without_an_address_is_not_available() {
    let p = Platform::start().await;
    let body = json!({ "packageName": ECHO, "tools": [echo_tool()] });
    p.nobody().post("/api/apps", &body).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let _device = p.device("ada").await;
    let answer = p.call_echo().await.expect(503);
    assert_eq!(
        (answer.code().as_str(), answer.json()["error"]["retryable"].as_bool()),
        ("APP_NOT_AVAILABLE", Some(false))
    );
}

#[tokio::test]
async fn private_addresses_are_refused_when_registered_and_when_resolved() {
    let p = Platform::with(|config| {
        config.auth.mode = Some(toolyard_server::config::AuthMode::Token);
    })
    .await;
    let token = p.token("dev", toolyard_server::auth::Role::Developer);
    for url in [
        "http://127.0.0.1:1/",
        "http://10.0.0.1",
        "http://169.254.169.254/",
        "ftp://example.com",
        "http://u:p@example.com",
    ] {
        let body = json!({ "packageName": "com.x", "publicUrl": url });
        let answer = p.bearer(&token).post("/api/apps", &body).await.expect(400).json();
        assert_eq!(answer["error"]["problems"][0]["path"], "publicUrl", "{url}");
    }
    let app = FakeApp::start(ECHO).await;
    let url = app.url().replace("127.0.0.1", "localhost");
    let body = json!({ "packageName": ECHO, "publicUrl": url, "kind": "tools-only", "tools": [echo_tool()] });
    let created = p.bearer(&token).post("/api/apps", &body).await;
    if created.status == 201 {
        p.bearer(&token).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
        let answer = p.bearer(&token).call(&format!("{ECHO}:echo"), json!({ "text": "x" })).await.expect(503);
        assert_eq!(answer.code(), "APP_NOT_AVAILABLE");
    }
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn output_is_validated_if_the_tool_has_an_output_schema() {
    let p = Platform::start().await;
    let mut tool = echo_tool();
    tool["outputSchema"] =
        json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let (app, _device) = p.echo_like(json!({ "tools": [tool] })).await;
    app.set_behavior(AppBehavior::content(json!({ "n": 1 })));
    p.call_echo().await.expect(200);
    for wrong in [json!({ "n": "one" }), json!("text")] {
        app.set_behavior(AppBehavior::content(wrong));
        assert_eq!(p.call_echo().await.expect(502).code(), "INVALID_RESPONSE");
    }
}
