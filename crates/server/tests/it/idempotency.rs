//! A call under a key is made once.

use serde_json::json;
use toolyard_testkit::Act;

use crate::platform::{Answer, ECHO, Platform};

async fn keyed(p: &Platform, key: &str, text: &str) -> Answer {
    p.user("ada").header("idempotency-key", key).call(&format!("{ECHO}:echo"), json!({ "text": text })).await
}

#[tokio::test]
async fn the_same_key_gets_the_recorded_outcome() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.acts(Act::reply("first"));
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "first");
    app.acts(Act::reply("second"));
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "first");
    let alias = p
        .user("ada")
        .header("idempotency-key", "k")
        .call("com_example_echo__echo", json!({ "text": "a" }))
        .await;
    assert_eq!(alias.expect(200).json()["content"], "first", "either name is the same call");
    assert_eq!(keyed(&p, "other", "a").await.expect(200).json()["content"], "second");
    assert_eq!(app.seen("/tool").len(), 2);

    let p = p.restart().await;
    let _device = p.device("ada").await;
    assert_eq!(keyed(&p, "k", "a").await.expect(200).json()["content"], "first");
    assert_eq!(app.seen("/tool").len(), 2);
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
    assert_eq!(app.seen("/tool").len(), 2);
}

#[tokio::test]
async fn whoever_comes_while_it_runs_waits_and_one_leaving_does_not_cancel_the_others() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.acts(Act::Lines(vec![json!({ "type": "result", "success": true, "content": "once" })]));
    {
        let mut first = Box::pin(keyed(&p, "k", "a"));
        tokio::select! {
            _ = &mut first => panic!("the app waits"),
            _ = app.wait_seen("/tool", 1) => {}
        }
        let (second, third) = tokio::join!(keyed(&p, "k", "a"), async {
            assert_eq!(keyed(&p, "k", "b").await.expect(409).code(), "CONFLICT");
            // The one who began it leaves.
            drop(first);
            app.let_line_through();
            keyed(&p, "k", "a").await
        });
        assert_eq!(second.expect(200).json()["content"], "once");
        assert_eq!(third.expect(200).json()["content"], "once");
    }
    assert_eq!(app.seen("/tool").len(), 1);
}

#[tokio::test]
async fn when_the_last_one_leaves_the_call_is_cancelled() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.acts(Act::Hang);
    tokio::select! {
        _ = keyed(&p, "k", "a") => panic!("the app hangs"),
        _ = app.wait_seen("/tool", 1) => {}
    }
    app.wait_cancelled(1).await;
}

#[tokio::test]
async fn a_key_is_free_again_where_the_tool_did_not_run() {
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
    app.acts(Act::Json(500, json!({ "status": "error", "message": "no milk" })));
    let first = keyed(&p, "k", "a").await.expect(500);
    app.acts(Act::reply("ok"));
    assert_eq!(keyed(&p, "k", "a").await.expect(500).text, first.text);
    assert_eq!(app.seen("/tool").len(), 1);
}

#[tokio::test]
async fn a_large_outcome_is_not_kept_and_not_run_again() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.acts(Act::reply(&"x".repeat(65 * 1024)));
    keyed(&p, "k", "a").await.expect(200);
    assert_eq!(keyed(&p, "k", "a").await.expect(409).code(), "OUTCOME_UNKNOWN");
    assert_eq!(app.seen("/tool").len(), 1);
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    keyed(&p, "k", "a").await.expect(200);
    p.clock.advance(24 * 60 * 60 + 1);
    keyed(&p, "k", "b").await.expect(200);
    assert_eq!(app.seen("/tool").len(), 2);
}

#[tokio::test]
async fn a_key_has_a_bound() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    assert_eq!(keyed(&p, &"k".repeat(256), "a").await.expect(400).code(), "INVALID_REQUEST");
    keyed(&p, &"k".repeat(255), "a").await.expect(200);
}
