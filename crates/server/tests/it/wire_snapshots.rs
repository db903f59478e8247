//! The wire formats as files in `snapshots/`: REST responses and errors, requests to apps, MCP lists and results, chat streams.
//! A changed format is a changed file. To accept one: `INSTA_UPDATE=always cargo test -p toolyard-server --test it wire_snapshots`.

use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::{
    chat::{ECHO_ALIAS, asks, script, weather, with, with_model},
    mcp::client::{Ask, LEGACY},
    platform::{Answer, ECHO, Platform},
};

/// Values that differ from run to run: addresses, ids, times.
const FILTERS: [(&str, &str); 5] = [
    (r"127\.0\.0\.1:\d+", "[host]"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "[uuid]"),
    (r"\b(msg|call|resp|chatcmpl|fc|id)[-_][A-Za-z0-9_-]{8,}", "[$1]"),
    (r"\b[0-9a-f]{16,}\b", "[hex]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
];

/// Compares with the files, without what differs from run to run.
macro_rules! with_filters {
    ($($check:tt)*) => {
        insta::with_settings!({ filters => FILTERS, omit_expression => true, prepend_module_to_snapshot => false }, { $($check)* })
    };
}

/// Status and body of a response.
fn seen(answer: &Answer) -> Value {
    json!({ "status": answer.status.as_u16(), "body": answer.json() })
}

#[tokio::test]
async fn rest_responses() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo().await;
    device.wears("Even Realities G1").await;
    app.set_behavior(AppBehavior::Json(200, json!({ "success": true, "content": "hi" })));
    let ada = p.user("ada");
    let called = p.call_echo().await.expect(200);
    let tools = ada.get("/api/tools?hidden=true").await.expect(200);
    let session = ada.get("/api/session").await.expect(200);
    let details = p.nobody().get(&format!("/api/apps/{ECHO}")).await.expect(200);
    with_filters! {
        assert_json_snapshot!("rest_call", seen(&called));
        assert_json_snapshot!("rest_tools", seen(&tools));
        assert_json_snapshot!("rest_session", seen(&session));
        assert_json_snapshot!("rest_app", seen(&details));
    }
}

#[tokio::test]
async fn rest_errors() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let ada = p.user("ada");
    let echo = format!("{ECHO}:echo");
    let mut errors = Vec::new();
    for (case, name, arguments) in [
        ("not a name", "echo", json!({})),
        ("not in the view", "com.example.other:x", json!({})),
        ("wrong type", echo.as_str(), json!({ "text": 5 })),
        ("missing argument", echo.as_str(), json!({})),
    ] {
        errors.push(json!([case, seen(&ada.call(name, arguments).await)]));
    }
    for (case, behavior) in [
        (
            "the app fails",
            AppBehavior::Json(
                200,
                json!({ "success": false, "error": { "code": "E", "message": "No milk." } }),
            ),
        ),
        ("the app answers with a status", AppBehavior::Json(503, json!({}))),
        ("the app answers with something else", AppBehavior::Json(200, json!([1]))),
    ] {
        app.set_behavior(behavior);
        errors.push(json!([case, seen(&p.call_echo().await)]));
    }
    for (case, answer) in [
        ("no user", p.nobody().get("/api/tools").await),
        ("no such app", p.nobody().get("/api/apps/com.example.none").await),
        ("not a body", p.nobody().post("/api/apps", &json!({ "packageName": "No Name" })).await),
        (
            "a bad tool",
            p.nobody()
                .post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [{ "name": "a b" }] }))
                .await,
        ),
    ] {
        errors.push(json!([case, seen(&answer)]));
    }
    with_filters! {
        assert_json_snapshot!("rest_errors", errors);
    }
}

#[tokio::test]
async fn requests_to_apps() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(json!({ "kind": "session" })).await;
    p.call_echo().await.expect(200);
    let webhook = &app.requests("/webhook")[0];
    let call = &app.requests("/tool")[0];
    let names = |headers: &http::HeaderMap| {
        let mut names: Vec<_> = headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        names
    };
    with_filters! {
        assert_json_snapshot!("app_webhook", json!({ "headers": names(&webhook.headers), "body": webhook.body }));
        assert_json_snapshot!("app_call", json!({ "headers": names(&call.headers), "body": call.body }));
    }
}

#[tokio::test]
async fn mcp_messages() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Json(200, json!({ "success": true, "content": "hi" })));
    let ada = p.user("ada");
    let discovered = ada.modern("server/discover", json!({})).await;
    let listed = ada.modern("tools/list", json!({})).await;
    let called = ada.ask(Ask::call(ECHO_ALIAS, json!({ "text": "hi" }))).await;
    let invalid = ada.ask(Ask::call(ECHO_ALIAS, json!({}))).await;
    let unknown = ada.ask(Ask::call("none", json!({}))).await;
    let session = ada.handshake(LEGACY).await;
    let listed_in_session = session.ask("tools/list", json!({})).await;
    with_filters! {
        assert_json_snapshot!("mcp_discover", seen(&discovered));
        assert_json_snapshot!("mcp_tools_list", seen(&listed));
        assert_json_snapshot!("mcp_call", seen(&called));
        assert_json_snapshot!("mcp_invalid_arguments", seen(&invalid));
        assert_json_snapshot!("mcp_unknown_tool", seen(&unknown));
        assert_json_snapshot!("mcp_initialize", session.result);
        assert_json_snapshot!("mcp_tools_list_in_a_session", seen(&listed_in_session));
    }
}

#[tokio::test]
async fn chat_streams() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Json(200, json!({ "success": true, "content": "hello" })));
    let ada = p.user("ada");
    let replies =
        || [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "hi" })), ScriptedReply::text("It said hello.")];
    let mut streams = Vec::new();
    for path in ["/api/chat?protocol=ui", "/api/chat?protocol=v1"] {
        script(&model, replies());
        streams.push(ada.post(path, &asks("echo hi")).await.expect(200).text);
    }
    script(&model, [ScriptedReply::call("weather", json!({ "city": "Ulm" }))]);
    let body = with(asks("weather?"), json!({ "clientTools": [weather()] }));
    streams.push(ada.post("/api/chat?protocol=ui", &body).await.expect(200).text);
    script(&model, [ScriptedReply::text("Hello.")]);
    let body = json!({ "model": "", "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
    streams.push(ada.post("/v1/chat/completions", &body).await.expect(200).text);
    script(&model, [ScriptedReply::text("Hello.")]);
    let body = json!({ "model": "", "stream": true, "input": "hi" });
    streams.push(ada.post("/v1/responses", &body).await.expect(200).text);
    let [ui, v1, client_tool, completions, responses] = &streams[..] else { panic!("{streams:?}") };
    with_filters! {
        assert_snapshot!("chat_ui", ui);
        assert_snapshot!("chat_v1", v1);
        assert_snapshot!("chat_client_tool", client_tool);
        assert_snapshot!("chat_completions", completions);
        assert_snapshot!("responses", responses);
    }
}
