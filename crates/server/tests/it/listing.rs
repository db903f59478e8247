//! The list of tools of a user, and why tools are hidden.

use serde_json::{Value, json};
use toolyard_testkit::FakeApp;

use crate::{
    identity::app_of,
    platform::{ECHO, Platform, echo_tool, tokens_only},
};

async fn app_with(p: &Platform, package: &str, body: Value) -> FakeApp {
    let app = FakeApp::start(package).await;
    let mut body = body;
    body["packageName"] = package.into();
    if body["tools"].is_null() {
        body["tools"] = json!([echo_tool()]);
    }
    p.register(&app, body).await;
    p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    p.clock.advance(1);
    app
}

#[tokio::test]
async fn the_list_has_the_definitions_as_they_came_under_their_canonical_names() {
    let p = Platform::start().await;
    let tool = r#"{"name":"echo","title":"Echo","inputSchema":{"type":"object","$comment":"kept"},"icons":[{"src":"data:,"}],"_meta":{"x":[1, 2]}}"#;
    let raw = format!(r#"{{"packageName":"{ECHO}","tools":[{tool}]}}"#);
    p.nobody().send(http::Method::POST, "/api/apps", Some(raw)).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let _device = p.device("ada").await;
    let list = p.user("ada").get("/api/tools").await.expect(200);
    assert_eq!(
        list.text,
        format!(r#"{{"tools":[{}]}}"#, tool.replace(r#""echo""#, r#""com.example.echo:echo""#))
    );
}

#[tokio::test]
async fn a_missing_user_or_session_has_the_legacy_error_format() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    let app = p.bearer(&key);
    let answer = app.get("/api/tools").await.expect(401);
    assert_eq!(
        (answer.text.as_str(), answer.header("x-toolyard-error")),
        (r#"{"error":"Missing X-User-Id header"}"#, "missing-user")
    );
    let app = app.header("x-user-id", "ada");
    let no_session = r#"{"error":"No active session for user"}"#;
    let answer = app.get("/api/tools").await.expect(401);
    assert_eq!((answer.text.as_str(), answer.header("x-toolyard-error")), (no_session, "no-session"));
    assert_eq!(app.call("com.a:b", json!({})).await.expect(401).text, no_session);

    let dev = Platform::start().await;
    let nobody = dev.nobody().get("/api/tools").await.expect(401);
    assert_eq!(nobody.text, r#"{"error":"Missing X-User-Id header"}"#);
}

#[tokio::test]
async fn in_dev_mode_no_device_is_needed() {
    let p = Platform::start().await;
    let app = FakeApp::start(ECHO).await;
    p.register(&app, json!({ "packageName": ECHO, "kind": "session", "tools": [echo_tool()] })).await;
    let ada = p.user("ada");
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    assert!(!p.state.sessions.is_live(&"ada".parse().unwrap()), "what needs no session opens none");
    assert_eq!(ada.tools().await, [format!("{ECHO}:echo")]);
    ada.call(&format!("{ECHO}:echo"), json!({ "text": "hi" })).await.expect(200);
    let session = ada.get("/api/session").await.expect(200).json();
    assert_eq!(
        (&session["deviceConnected"], &session["apps"][0]["state"]),
        (&json!(false), &json!("RUNNING"))
    );
    ada.post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    // The old endpoints go the same way.
    let old = json!({ "toolId": "echo", "userId": "bob", "toolParameters": { "text": "hi" } });
    p.user("bob").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    p.user("bob").post(&format!("/api/tools/apps/{ECHO}/tool"), &old).await.expect(200);
}

#[tokio::test]
async fn another_device_changes_the_list_with_reasons() {
    let p = Platform::start().await;
    let camera = json!([{ "type": "CAMERA", "level": "REQUIRED" }]);
    let _photo = app_with(&p, "com.example.photo", json!({ "hardwareRequirements": camera })).await;
    let _echo = app_with(&p, ECHO, json!({})).await;
    let mut device = p.device("ada").await;
    let both = ["com.example.photo:echo", "com.example.echo:echo"];
    assert_eq!(p.user("ada").tools().await, both, "an unknown device filters nothing");
    device.wears("Even Realities G1").await;
    assert_eq!(p.user("ada").tools().await, [both[1]]);
    let hidden = p.user("ada").get("/api/tools?hidden=true").await.json();
    assert_eq!(
        hidden["hidden"],
        json!([{ "name": both[0], "description": "Says it again", "kind": "hardware", "reason": "needs a camera; Even Realities G1 has none" }])
    );
    let call = p.user("ada").call(both[0], json!({ "text": "x" })).await.expect(404);
    assert_eq!(call.code(), "TOOL_NOT_FOUND");
    device.wears("Mentra Live").await;
    assert_eq!(p.user("ada").tools().await, both);
    device.say(json!({ "type": "glasses_connection_state", "status": "DISCONNECTED" })).await;
    device
        .say(json!({ "type": "device_profile", "modelName": "Mine", "capabilities": { "hasDisplay": true } }))
        .await;
    device.wears("Even Realities G2").await;
    assert_eq!(p.user("ada").tools().await, [both[1]]);
}

#[tokio::test]
async fn every_change_shows_at_once() {
    let p = Platform::start().await;
    let _echo = app_with(&p, ECHO, json!({})).await;
    let _device = p.device("ada").await;
    let ada = p.user("ada");
    assert_eq!(ada.tools().await, ["com.example.echo:echo"]);

    ada.put("/api/settings/tools/com.example.echo:echo", &json!({ "enabled": false })).await.expect(204);
    assert!(ada.tools().await.is_empty());
    let hidden = ada.get("/api/tools?hidden=true").await.json();
    assert_eq!(hidden["hidden"][0]["reason"], "switched off by the user");
    assert_eq!(p.call_echo().await.expect(404).code(), "TOOL_NOT_FOUND");
    assert_eq!(
        ada.get("/api/settings/tools").await.json(),
        json!({ "tools": [{ "name": "com.example.echo:echo", "enabled": false }] })
    );
    ada.put("/api/settings/tools/com.example.echo:echo", &json!({ "enabled": true })).await.expect(204);
    assert_eq!(ada.tools().await.len(), 1);

    let mut second = echo_tool();
    second["name"] = "second".into();
    p.nobody()
        .post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [second, echo_tool()] }))
        .await
        .expect(200);
    assert_eq!(
        ada.tools().await,
        ["com.example.echo:second", "com.example.echo:echo"],
        "the order of the definition"
    );

    ada.delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    assert!(ada.tools().await.is_empty());
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    assert_eq!(ada.tools().await.len(), 2);
    p.nobody().delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    assert!(ada.tools().await.is_empty());
}

#[tokio::test]
async fn categories_and_etags() {
    let p = Platform::start().await;
    let mut media = echo_tool();
    media["name"] = "play".into();
    media["mentraExtensions"] = json!({ "category": "media" });
    let _echo = app_with(&p, ECHO, json!({ "tools": [echo_tool(), media] })).await;
    let _device = p.device("ada").await;
    let names =
        |list: Value| list["tools"].as_array().unwrap().iter().map(|t| t["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(p.user("ada").get("/api/tools?category=media").await.json()), ["com.example.echo:play"]);
    assert_eq!(names(p.user("ada").get("/api/tools?category=other").await.json()), ["com.example.echo:echo"]);
    p.user("ada").get("/api/tools?category=fun").await.expect(400);

    let first = p.user("ada").get("/api/tools").await.expect(200);
    let tag = first.header("etag").to_owned();
    let again = p.user("ada").header("if-none-match", &tag).get("/api/tools").await.expect(304);
    assert_eq!((again.text.as_str(), again.header("etag")), ("", tag.as_str()));
    p.user("ada").delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    let changed = p.user("ada").header("if-none-match", &tag).get("/api/tools").await.expect(200);
    assert_ne!(changed.header("etag"), tag);
}

#[tokio::test]
async fn the_earlier_install_keeps_a_clashing_alias() {
    let p = Platform::start().await;
    // Two packages whose hashed aliases differ, and one tool whose alias is free.
    let _a = app_with(&p, "com.ex-app", json!({})).await;
    let _b = app_with(&p, "com.ex.app", json!({})).await;
    let _device = p.device("ada").await;
    assert_eq!(p.user("ada").tools().await.len(), 2);
    for name in ["com_ex_app__echo", "com.ex.app:echo"] {
        p.user("ada").call(name, json!({ "text": "x" })).await.expect(200);
    }
}

#[tokio::test]
async fn a_thousand_tools_are_listed() {
    let p = Platform::start().await;
    let tools: Vec<_> = (0..1_000)
        .map(|i| {
            let mut tool = echo_tool();
            tool["name"] = format!("tool_{i}").into();
            tool
        })
        .collect();
    let _echo = app_with(&p, ECHO, json!({ "tools": tools })).await;
    let _device = p.device("ada").await;
    assert_eq!(p.user("ada").tools().await.len(), 1_000);
}

#[tokio::test]
async fn concurrent_requests_share_one_view() {
    let p = Platform::start().await;
    let _echo = app_with(&p, ECHO, json!({})).await;
    let ada = "ada".parse().unwrap();
    let views = (0..20).map(|_| p.state.catalog.view(&ada, toolyard_core::catalog::ViewScope::Everything));
    let views = futures_util::future::join_all(views).await;
    let tools: Vec<_> = views.iter().map(|view| view.as_ref().unwrap().tools().next().unwrap()).collect();
    assert!(
        tools.iter().all(|tool| std::sync::Arc::ptr_eq(tool, tools[0])),
        "the app was loaded more than once"
    );
}
