//! The legacy endpoints: the legacy format, the same executor, and a deprecation header.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::AppBehavior;

use crate::{
    identity::app_of,
    platform::{Answer, ECHO, Platform, echo_tool, tokens_only},
};

const APP_TOOLS: &str = "/api/tools/apps/com.example.echo/tools";
const USER_TOOLS: &str = "/api/tools/users/ada/tools";
const CALL: &str = "/api/tools/apps/com.example.echo/tool";

fn call_body() -> Value {
    json!({ "toolId": "echo", "userId": "ada", "toolParameters": { "text": "hi" }, "timestamp": "2026-01-02T03:04:05Z" })
}

/// The response, which must have the deprecation header and name the successor.
fn marked(answer: Answer, successor: &str) -> Answer {
    assert_eq!(answer.header("deprecation"), "@1794700800", "{answer:?}");
    assert_eq!(answer.header("sunset"), "Sat, 01 Jan 2028 00:00:00 GMT");
    assert_eq!(answer.header("link"), format!("<{successor}>; rel=\"successor-version\""));
    answer
}

#[test]
fn the_documentation_lists_every_deprecated_endpoint_with_its_end() {
    let page = include_str!("../../../../docs/legacy-formats.md");
    let contract: Value = serde_json::from_str(include_str!("../../../../contract/openapi.json")).unwrap();
    let mut deprecated = 0;
    for (path, methods) in contract["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["deprecated"] == true {
                let endpoint = format!("`{} {path}`", method.to_uppercase());
                let row = page.lines().find(|line| line.contains(&endpoint));
                assert!(row.is_some_and(|row| row.contains("2028-01-01")), "{endpoint}");
                deprecated += 1;
            }
        }
    }
    assert_eq!(deprecated, 3);
}

async fn old_call(p: &Platform, body: &Value) -> Answer {
    marked(p.user("ada").post(CALL, body).await, "/api/tools/execute")
}

#[tokio::test]
async fn tools_are_listed_in_the_legacy_format() {
    let p = Platform::start().await;
    let mut tool = echo_tool();
    tool["mentraExtensions"] = json!({ "activationPhrases": ["say again"] });
    tool["inputSchema"]["properties"]["times"] =
        json!({ "type": "integer", "enum": [1, 2], "description": "how often" });
    let (_app, mut device) = p
        .echo_like(json!({ "tools": [tool],
        "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }] }))
        .await;
    let mut expected = json!({ "id": "echo", "description": "Says it again", "activationPhrases": ["say again"],
        "parameters": { "text": { "type": "string", "description": "", "required": true },
            "times": { "type": "number", "description": "how often", "enum": ["1", "2"], "required": false } } });
    let tools = marked(p.user("ada").get(APP_TOOLS).await, "/api/tools").expect(200).json();
    assert_eq!(tools, json!([expected]));
    let tools = marked(p.user("ada").get(USER_TOOLS).await, "/api/tools").expect(200).json();
    expected["appPackageName"] = ECHO.into();
    assert_eq!(tools, json!([expected]));
    // A tool that cannot be called is not listed either: one view for every door.
    device.wears("Even Realities G1").await;
    assert_eq!(p.user("ada").get(USER_TOOLS).await.expect(200).json(), json!([]));
}

#[tokio::test]
async fn a_missing_user_is_reported_in_the_legacy_format() {
    let p = Platform::start().await;
    let none =
        marked(p.user("ada").get("/api/tools/apps/com.example.none/tools").await, "/api/tools").expect(500);
    assert_eq!(none.json()["error"], true);
    assert!(none.json()["message"].as_str().unwrap().contains("com.example.none"), "{}", none.text);
    let missed = |answer: Answer| {
        let none = marked(answer, "/api/tools").expect(404);
        assert_eq!(none.json(), json!({ "error": true, "message": "User not found" }));
    };
    missed(p.user("ada").get("/api/tools/users/a%20b/tools").await);
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    missed(p.bearer(&key).get(USER_TOOLS).await);
}

#[tokio::test]
async fn a_legacy_call_uses_the_same_executor_and_returns_the_apps_response() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    for (act, reply) in [
        (AppBehavior::reply("hello"), json!("hello")),
        (AppBehavior::content(json!("hello")), json!("hello")),
        (AppBehavior::content(json!({ "n": 1 })), json!({ "n": 1 })),
    ] {
        app.set_behavior(act);
        let answer = old_call(&p, &call_body()).await.expect(200);
        assert_eq!(answer.json(), json!({ "status": "success", "reply": reply }));
    }
    let seen = &app.requests("/tool")[0].body;
    assert_eq!(
        (&seen["toolId"], &seen["toolParameters"], &seen["name"]),
        (&json!("echo"), &json!({ "text": "hi" }), &json!("echo"))
    );
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    assert_eq!(calls["calls"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&calls["calls"][0]["door"], &calls["calls"][0]["tool"]),
        (&json!("legacy"), &json!("com.example.echo:echo"))
    );
}

#[tokio::test]
async fn the_control_string_is_passed_through() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(json!({ "kind": "session" })).await;
    app.set_behavior(AppBehavior::reply("GIVE_APP_CONTROL_OF_TOOL_RESPONSE"));
    let answer = old_call(&p, &call_body()).await.expect(200);
    assert_eq!(answer.json(), json!({ "status": "success", "reply": "GIVE_APP_CONTROL_OF_TOOL_RESPONSE" }));
}

#[tokio::test]
async fn failures_are_reported_in_the_legacy_format() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let failure = async |body: &Value, status: u16| {
        let answer = old_call(&p, body).await.expect(status).json();
        assert_eq!((&answer["error"], answer["message"].is_string()), (&json!(true), true), "{answer}");
        answer["details"]["code"].as_str().unwrap_or_default().to_owned()
    };
    let with = |member: &str, value: Value| {
        let mut body = call_body();
        body[member] = value;
        body
    };
    for body in [
        with("toolId", Value::Null),
        with("userId", Value::Null),
        with("toolId", json!("a b")),
        with("userId", json!("a b")),
        with("toolParameters", json!("text")),
        json!([]),
    ] {
        assert_eq!(failure(&body, 400).await, "", "{body}");
    }
    assert_eq!(failure(&with("toolParameters", json!({})), 400).await, "INVALID_ARGUMENTS");
    assert_eq!(failure(&with("toolId", json!("nothing")), 404).await, "TOOL_NOT_FOUND");
    app.set_behavior(AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })));
    let answer = old_call(&p, &call_body()).await.expect(500).json();
    assert_eq!(
        answer,
        json!({ "error": true, "message": "no milk", "details": { "code": "EXECUTION_ERROR" } })
    );
    app.set_behavior(AppBehavior::Json(200, json!({ "status": "success", "reply": null })));
    assert_eq!(failure(&call_body(), 502).await, "TOOL_NOT_HANDLED");
    drop(app);
    assert_eq!(failure(&call_body(), 502).await, "NETWORK_ERROR");
    let bad = marked(p.user("ada").post("/api/tools/apps/A/tool", &call_body()).await, "/api/tools/execute")
        .expect(400);
    assert_eq!(bad.json()["error"], true);
}

#[tokio::test]
async fn refusals_have_the_deprecation_header_too() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    marked(p.nobody().get(APP_TOOLS).await, "/api/tools").expect(401);
    marked(p.nobody().get(USER_TOOLS).await, "/api/tools").expect(401);
    marked(p.nobody().post(CALL, &call_body()).await, "/api/tools/execute").expect(401);
    let bob = p.bearer(&p.token("bob", Role::User));
    marked(bob.get(USER_TOOLS).await, "/api/tools").expect(403);
    marked(bob.post(CALL, &call_body()).await, "/api/tools/execute").expect(403);
    let ada = p.bearer(&p.token("ada", Role::User));
    let plain = ada.header("content-type", "text/plain").send(Method::POST, CALL, Some("{}".into())).await;
    marked(plain, "/api/tools/execute").expect(400);
    // An app may act for users who installed it, as everywhere.
    let ada = p.bearer(&p.token("ada", Role::User));
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    marked(p.bearer(&key).post(CALL, &call_body()).await, "/api/tools/execute").expect(401);
    ada.get("/api/session").await.expect(200);
    marked(p.bearer(&key).post(CALL, &call_body()).await, "/api/tools/execute").expect(200);
}
