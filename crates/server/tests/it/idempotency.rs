//! Idempotency keys: a call under a key is made once.

use std::collections::HashSet;

use serde_json::json;
use toolyard_server::auth::Role;
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::platform::{Answer, ECHO, Platform, echo_tool};

async fn keyed(p: &Platform, key: &str, text: &str) -> Answer {
    p.user("ada").header("idempotency-key", key).call(&format!("{ECHO}:echo"), json!({ "text": text })).await
}

#[tokio::test]
async fn the_same_key_gets_the_recorded_outcome() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::reply("first"));
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "first");
    app.set_behavior(AppBehavior::reply("second"));
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "first");
    let alias = p
        .user("ada")
        .header("idempotency-key", "k")
        .call("com_example_echo__echo", json!({ "text": "a" }))
        .await;
    assert_eq!(alias.expect(200).json()["content"], "first", "either name is the same call");
    assert_eq!(keyed(&p, "other", "a").await.expect(200).json()["content"], "second");
    assert_eq!(app.requests("/tool").len(), 2);

    let p = p.restart().await;
    let _device = p.device("ada").await;
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "first");
    assert_eq!(app.requests("/tool").len(), 2);
    let calls = p.user("ada").get("/api/calls").await.json();
    assert_eq!(calls["calls"].as_array().unwrap().iter().filter(|call| call["replayed"] == true).count(), 3);
}

#[tokio::test]
async fn another_call_under_the_key_is_a_conflict() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    keyed(&p, "k", "a").await.expect(200);
    assert_eq!(keyed(&p, "k", "b").await.expect(409).code(), "CONFLICT");
}

#[tokio::test]
async fn keys_belong_to_users() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let _bob = p.device("bob").await;
    p.user("bob").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    keyed(&p, "k", "a").await.expect(200);
    let bob = p
        .user("bob")
        .header("idempotency-key", "k")
        .call(&format!("{ECHO}:echo"), json!({ "text": "b" }))
        .await;
    bob.expect(200);
    assert_eq!(app.requests("/tool").len(), 2);
}

#[tokio::test]
async fn concurrent_callers_of_a_key_wait_and_a_disconnect_does_not_cancel_it() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "once" }),
    ]));
    {
        let mut first = Box::pin(keyed(&p, "k", "a"));
        tokio::select! {
            _ = &mut first => panic!("the app waits"),
            _ = app.wait_requests("/tool", 1) => {}
        }
        let (second, third) = tokio::join!(keyed(&p, "k", "a"), async {
            assert_eq!(keyed(&p, "k", "b").await.expect(409).code(), "CONFLICT");
            // The caller who started it disconnects.
            drop(first);
            app.let_line_through();
            keyed(&p, "k", "a").await
        });
        assert_eq!(second.expect(200).json()["content"], "once");
        assert_eq!(third.expect(200).json()["content"], "once");
    }
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn a_call_whose_caller_disconnects_completes_and_is_found_under_its_key() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "once" }),
    ]));
    tokio::select! {
        _ = keyed(&p, "k", "a") => panic!("the app waits"),
        _ = app.wait_requests("/tool", 1) => {}
    }
    // It still runs, and a repeated request waits for it.
    let (again, ()) = tokio::join!(keyed(&p, "k", "a"), async { app.let_line_through() });
    assert_eq!(again.expect(200).json()["content"], "once");
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "once");
    assert_eq!(app.requests("/tool").len(), 1);
    let calls = p.user("ada").get("/api/calls?outcome=CANCELLED").await.expect(200).json();
    assert_eq!(calls["calls"], json!([]), "nothing was cancelled");
}

#[tokio::test]
async fn a_call_without_a_waiting_caller_still_has_its_deadline() {
    let p = Platform::with(|config| config.calls.timeout_ms = 50).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    tokio::select! {
        _ = keyed(&p, "k", "a") => {}
        _ = app.wait_requests("/tool", 1) => {}
    }
    app.wait_cancelled(1).await;
    assert_eq!(keyed(&p, "k", "a").await.expect(504).code(), "TIMEOUT");
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn a_stop_waits_for_a_call_without_a_waiting_caller() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "once" }),
    ]));
    tokio::select! {
        _ = keyed(&p, "k", "a") => panic!("the app waits"),
        _ = app.wait_requests("/tool", 1) => {}
    }
    let (p, ()) = tokio::join!(p.restart(), async { app.let_line_through() });
    let _device = p.device("ada").await;
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "once");
    assert_eq!(app.requests("/tool").len(), 1);
}

/// An app that may call everything for ada.
async fn helper(p: &Platform) -> String {
    let app = FakeApp::start("com.example.helper").await;
    let body = json!({ "packageName": "com.example.helper", "kind": "tools-only", "tools": [echo_tool()] });
    let created = p.register(&app, body).await;
    p.user("ada").put("/api/installs/com.example.helper", &json!({})).await.expect(204);
    p.user("ada").put("/api/installs/com.example.helper/assistant", &json!({})).await.expect(204);
    format!("com.example.helper:{}", created["apiKey"].as_str().unwrap())
}

#[tokio::test]
async fn keys_belong_to_callers_and_reveal_nothing_to_others() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let key = helper(&p).await;
    let operator = p.token("root", Role::Operator);
    app.set_behavior(AppBehavior::reply("ada's secret"));
    keyed(&p, "k", "a").await.expect(200);
    app.set_behavior(AppBehavior::reply("their own"));
    for token in [&key, &operator] {
        let other = p.bearer(token).header("x-user-id", "ada").header("idempotency-key", "k");
        for text in ["b", "b"] {
            let answer = other.call(&format!("{ECHO}:echo"), json!({ "text": text })).await.expect(200);
            assert_eq!(answer.json()["content"], "their own");
        }
    }
    let seen = app.requests("/tool");
    let keys: HashSet<_> = seen.iter().map(|call| call.headers["idempotency-key"].clone()).collect();
    assert_eq!((seen.len(), keys.len()), (3, 3), "one for each caller, and the app can tell them apart");
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "ada's secret");
}

#[tokio::test]
async fn a_key_returns_nothing_if_the_tool_may_no_longer_be_called() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let key = helper(&p).await;
    let call = async || {
        let who = p.bearer(&key).header("x-user-id", "ada").header("idempotency-key", "k");
        who.call(&format!("{ECHO}:echo"), json!({ "text": "a" })).await
    };
    call().await.expect(200);
    p.user("ada").delete("/api/installs/com.example.helper/assistant").await.expect(204);
    assert_eq!(call().await.expect(404).code(), "TOOL_NOT_FOUND");
    keyed(&p, "k", "a").await.expect(200);
    p.user("ada").delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    assert_eq!(keyed(&p, "k", "a").await.expect(404).code(), "TOOL_NOT_FOUND");
    assert_eq!(keyed(&p, "k", "b").await.expect(404).code(), "TOOL_NOT_FOUND", "nor is there a conflict");
}

#[tokio::test]
async fn keys_per_user_are_limited_and_no_call_is_repeated() {
    let p = Platform::with(|config| {
        (config.calls.keys_per_user, config.calls.key_bytes_per_user) = (3, 1_000);
    })
    .await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::reply(&"x".repeat(600)));
    for key in ["a", "b", "c"] {
        keyed(&p, key, "a").await.expect(200);
    }
    let full = keyed(&p, "d", "a").await.expect(429);
    assert!(full.code() == "RATE_LIMITED" && full.text.contains("3 idempotency keys"), "{}", full.text);
    assert_eq!(keyed(&p, "a", "a").await.expect(409).code(), "OUTCOME_UNKNOWN", "its outcome made room");
    keyed(&p, "c", "a").await.expect(200);
    assert_eq!(app.requests("/tool").len(), 3);
    p.clock.advance(24 * 60 * 60 + 1);
    keyed(&p, "d", "a").await.expect(200);
}

#[tokio::test]
async fn a_tool_that_the_app_does_not_know_uses_up_no_key() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Json(
        404,
        json!({ "success": false, "error": { "code": "TOOL_NOT_FOUND", "message": "what?" } }),
    ));
    assert_eq!(keyed(&p, "k", "a").await.expect(502).code(), "TOOL_NOT_HANDLED");
    app.set_behavior(AppBehavior::reply("now it does"));
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "now it does");
}

#[tokio::test]
async fn a_key_is_released_if_the_tool_did_not_run() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let url = app.url();
    p.nobody()
        .patch(&format!("/api/apps/{ECHO}"), &json!({ "publicUrl": "http://127.0.0.1:1" }))
        .await
        .expect(200);
    assert_eq!(keyed(&p, "k", "a").await.expect(502).code(), "NETWORK_ERROR");
    p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "publicUrl": url })).await.expect(200);
    keyed(&p, "k", "a").await.expect(200);
}

#[tokio::test]
async fn a_failure_of_the_tool_is_an_outcome_too() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })));
    let first = keyed(&p, "k", "a").await.expect(500);
    app.set_behavior(AppBehavior::reply("ok"));
    assert_eq!(keyed(&p, "k", "a").await.expect(500).text, first.text);
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn a_large_outcome_is_not_kept_and_not_run_again() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::reply(&"x".repeat(65 * 1024)));
    keyed(&p, "k", "a").await.expect(200);
    assert_eq!(keyed(&p, "k", "a").await.expect(409).code(), "OUTCOME_UNKNOWN");
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn a_key_expires_after_a_day() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    keyed(&p, "k", "a").await.expect(200);
    p.clock.advance(24 * 60 * 60 + 1);
    keyed(&p, "k", "b").await.expect(200);
    assert_eq!(app.requests("/tool").len(), 2);
}

#[tokio::test]
async fn a_key_has_a_length_limit() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    assert_eq!(keyed(&p, &"k".repeat(256), "a").await.expect(400).code(), "INVALID_REQUEST");
    keyed(&p, &"k".repeat(255), "a").await.expect(200);
}
