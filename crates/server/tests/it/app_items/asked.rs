//! Requests to the app for prompts and resources, and what the client gets of its responses.

use serde_json::{Value, json};
use toolyard_core::ports::Clock as _;
use toolyard_net::SigningKey;
use toolyard_testkit::{AppBehavior, RecordedAppRequest};

use super::{both, contents, messages, planner};
use crate::{
    mcp::client::LEGACY,
    platform::{Platform, echo_tool},
};

const LIST: &str = "todo://com.example.planner/list";

/// The body without the call's id, which differs each time.
fn body(seen: &RecordedAppRequest) -> Value {
    let mut body = seen.body.clone();
    let id = body["context"].as_object_mut().unwrap().remove("callId").unwrap();
    assert_eq!(seen.headers["idempotency-key"], id.as_str().unwrap());
    body
}

fn is_signed(p: &Platform, seen: &RecordedAppRequest, secret: &str) -> bool {
    let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap());
    let (time, signature) = (header("x-toolyard-timestamp"), header("x-toolyard-signature"));
    SigningKey::new(secret).verify(time, signature, &seen.raw, p.clock.now().as_millisecond(), 0).is_ok()
}

#[tokio::test]
async fn a_prompt_is_filled_by_its_app() {
    let p = Platform::start().await;
    let (app, created) = planner(&p, json!({})).await;
    app.set_behavior(messages());
    for name in ["com_example_planner__plan_day", "com.example.planner:plan_day"] {
        let params = json!({ "name": name, "arguments": { "day": "monday" } });
        let [modern, legacy] = both(&p, "prompts/get", params).await.map(|answer| answer.result());
        assert_eq!(
            legacy,
            json!({ "description": "A plan", "messages": [{ "role": "user", "content": { "type": "text", "text": "Plan it." } }] })
        );
        assert_eq!((&modern["messages"], &modern["resultType"]), (&legacy["messages"], &json!("complete")));
    }
    let context = json!({ "userId": "ada", "timestamp": "2026-01-02T03:04:05.678Z" });
    let seen = app.requests("/prompt");
    assert_eq!(seen.len(), 4);
    for seen in seen {
        let expected = json!({ "name": "plan_day", "arguments": { "day": "monday" }, "context": context });
        assert_eq!((body(&seen), &seen.headers["accept"]), (expected, &"application/json".parse().unwrap()));
        assert!(is_signed(&p, &seen, created["signingSecret"].as_str().unwrap()));
        assert!(!is_signed(&p, &seen, "another secret"));
        assert!(seen.headers.contains_key("traceparent") && !seen.headers.contains_key("x-app-api-key"));
    }
    p.user("ada").modern("prompts/get", json!({ "name": "com.example.planner:plan_day" })).await.result();
    assert_eq!(app.requests("/prompt")[4].body["arguments"], json!({}), "no arguments are an empty object");
}

#[tokio::test]
async fn a_resource_is_read_under_every_name_it_has() {
    let p = Platform::start().await;
    let (app, created) = planner(&p, json!({})).await;
    for (wanted, remote) in [
        (LIST, "todo://list"),
        ("todo://list", "todo://list"),
        ("todo://com.example.planner/item/7", "todo://item/7"),
        ("todo://com.example.planner/linked", "todo://linked"),
    ] {
        app.set_behavior(contents(remote));
        let [modern, legacy] =
            both(&p, "resources/read", json!({ "uri": wanted })).await.map(|answer| answer.result());
        let contents = json!([{ "uri": wanted, "mimeType": "text/plain", "text": "milk" }]);
        assert_eq!(legacy, json!({ "contents": contents }));
        assert_eq!(
            modern,
            json!({ "contents": contents, "resultType": "complete", "ttlMs": 0, "cacheScope": "private" })
        );
        let seen = app.requests("/resource").pop().unwrap();
        let context = json!({ "userId": "ada", "timestamp": "2026-01-02T03:04:05.678Z" });
        assert_eq!(body(&seen), json!({ "uri": remote, "context": context }));
        assert!(is_signed(&p, &seen, created["signingSecret"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn prompts_and_resources_wake_no_app() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({ "kind": "session" })).await;
    let _device = p.device("ada").await;
    app.set_behavior(messages());
    p.user("ada").modern("prompts/get", json!({ "name": "com.example.planner:plan_day" })).await.result();
    app.set_behavior(contents("todo://list"));
    p.user("ada").modern("resources/read", json!({ "uri": LIST })).await.result();
    assert!(app.requests("/webhook").is_empty());
}

#[tokio::test]
async fn responses_of_the_app_are_passed_unchanged() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    let prompt =
        r#"{"messages":[{"role":"assistant","content":{"type":"new","n":1.50}, "x":{}}],"_meta":{"k" :1}}"#;
    app.set_behavior(AppBehavior::Text(200, "application/json", prompt.to_owned()));
    let [_, legacy] = both(&p, "prompts/get", json!({ "name": "com.example.planner:plan_day" })).await;
    assert!(legacy.text.contains(prompt), "{}", legacy.text);
    let read = r#"{"contents":[{"uri":"todo://list","blob":"AA==","_meta":{"k" :1.50}},{"uri":"todo://more","text":""}]}"#;
    app.set_behavior(AppBehavior::Text(200, "application/json", read.to_owned()));
    let [_, legacy] = both(&p, "resources/read", json!({ "uri": LIST })).await;
    let mapped = read.replace("todo://", "todo://com.example.planner/");
    assert!(legacy.text.contains(&mapped), "{}", legacy.text);
}

#[tokio::test]
async fn apps_support_neither_completion_nor_subscriptions() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({})).await;
    for reference in [
        json!({ "type": "ref/prompt", "name": "com.example.planner:plan_day" }),
        json!({ "type": "ref/resource", "uri": "todo://com.example.planner/item/{id}" }),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": "day", "value": "m" } });
        let completed = p.user("ada").modern("completion/complete", params).await.result();
        assert_eq!(completed["completion"]["values"], json!([]));
    }
    let session = p.user("ada").handshake(LEGACY).await;
    assert_eq!(session.ask("resources/subscribe", json!({ "uri": LIST })).await.result(), json!({}));
    assert!(app.requests("/prompt").is_empty() && app.requests("/resource").is_empty());
}

#[tokio::test]
async fn links_in_results_and_prompts_can_be_read_here() {
    let p = Platform::start().await;
    let (app, _) = planner(&p, json!({ "tools": [echo_tool()] })).await;
    let link = |uri: &str| json!({ "type": "resource_link", "uri": uri, "name": "List" });
    app.set_behavior(AppBehavior::Json(
        200,
        json!({ "content": [link("todo://list"), link("https://example.com/list")] }),
    ));
    let call = json!({ "name": "com.example.planner:echo", "arguments": { "text": "hi" } });
    for answer in both(&p, "tools/call", call).await {
        assert_eq!(answer.result()["content"], json!([link(LIST), link("https://example.com/list")]));
    }
    app.set_behavior(AppBehavior::Json(
        200,
        json!({ "messages": [{ "role": "user", "content": link("todo://list") }] }),
    ));
    let prompt = json!({ "name": "com.example.planner:plan_day", "arguments": { "day": "monday" } });
    for answer in both(&p, "prompts/get", prompt).await {
        assert_eq!(answer.result()["messages"][0]["content"], link(LIST));
    }
}
