//! Isolation of users in chats: tools and records, and that conversations are not stored.

use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::{AppBehavior, FakeApp, model::ScriptedReply};

use super::{ECHO_ALIAS, asks, chunks, offered, one, script, weather, with, with_model, words};
use crate::platform::{ECHO, tokens_only};

const MARKER: &str = "zwetschgenknoedel";

fn holds(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|found| found == part.as_bytes())
}

#[tokio::test]
async fn nothing_of_a_chat_is_stored() {
    let (p, model) = with_model(|config| {
        config.chat.result_chars = 20;
        config.builtin.enabled = true;
    })
    .await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!(format!("{MARKER}-result {}", "x".repeat(100)))));
    let says = |what: &str| format!("{MARKER}-{what}");
    script(
        &model,
        [
            ScriptedReply::new()
                .and_reasoning(&says("thought"))
                .and_text(&says("words"))
                .and_call(ECHO_ALIAS, json!({ "text": says("argument") })),
            ScriptedReply::call(ECHO_ALIAS, json!({ "text": 5, "why": says("wrong") })),
            ScriptedReply::call("toolyard__calculate", json!({ "expression": says("sum") })),
            ScriptedReply::call("weather", json!({ "city": says("city") })),
        ],
    );
    let body = json!({ "id": says("id"), "resumable": true, "messages": [super::says(&says("question"))], "system": says("system"),
        "clientTools": [weather()] });
    let told = chunks(&p.user("ada"), body).await;
    assert_eq!(super::reason(&told), "tool-calls", "{told:?}");
    assert_eq!(app.requests("/tool").len(), 1);
    // The ledger has the calls.
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    assert_eq!(calls["calls"].as_array().unwrap().len(), 3, "{calls}");
    assert!(!calls.to_string().contains(MARKER), "{calls}");
    let folder = p.data().parent().unwrap().to_owned();
    let (_, kept, _) = p.stop().await;
    let mut files = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            files += 1;
            assert!(!holds(&std::fs::read(&path).unwrap(), MARKER), "{}", path.display());
        }
    }
    assert!(files > 0 && kept.is_some());
}

#[tokio::test]
async fn nothing_is_stored_while_it_runs_either() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": MARKER }))]);
    let reading = super::Reading::begin(&p.user("ada"), asks(MARKER)).await;
    app.wait_requests("/tool", 1).await;
    // The write-ahead log exists while the server runs.
    let mut names = Vec::new();
    for file in std::fs::read_dir(p.data().parent().unwrap()).unwrap() {
        let path = file.unwrap().path();
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        assert!(!path.is_file() || !holds(&std::fs::read(&path).unwrap(), MARKER), "{}", path.display());
    }
    assert!(names.iter().any(|name| name.ends_with("-wal")), "{names:?}");
    drop(reading);
}

#[tokio::test]
async fn two_users_at_once_get_their_own_tools_and_answers() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    script(
        &model,
        [
            ScriptedReply::text("for ").and_text("one").hold_first(),
            ScriptedReply::text("for ").and_text("one").hold_first(),
        ],
    );
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    let both = async { tokio::join!(chunks(&ada, asks("from ada")), chunks(&bob, asks("from bob"))) };
    let ((of_ada, of_bob), ()) = tokio::join!(both, async {
        model.wait_requests(2).await;
        model.release(2);
    });
    assert_eq!((words(&of_ada), words(&of_bob)), ("for one".to_owned(), "for one".to_owned()));
    for seen in model.requests() {
        let is_ada = seen.body["messages"].to_string().contains("from ada");
        let tools: Vec<String> = if is_ada { vec![ECHO_ALIAS.to_owned()] } else { Vec::new() };
        assert_eq!(offered(&seen), tools);
        assert!(!seen.body.to_string().contains(if is_ada { "bob" } else { "ada" }), "{}", seen.body);
    }
}

#[tokio::test]
async fn a_user_cannot_call_tools_of_another_user() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    script(
        &model,
        [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("There is none.")],
    );
    let told = chunks(&p.user("bob"), asks("go")).await;
    assert!(one(&told, "tool-output-error")["errorText"].as_str().unwrap().contains("no tool"));
    assert_eq!(app.requests("/tool").len(), 0);
}

#[tokio::test]
async fn an_app_sees_its_own_tools_unless_it_is_an_assistant() {
    let (p, model) = with_model(tokens_only).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let root = p.bearer(&p.token("root", Role::Operator));
    let token = p.token("ada", Role::User);
    let ada = || p.bearer(&token);
    let app = FakeApp::start("unused").await;
    let mut keys = Vec::new();
    for package in [ECHO, "com.example.helper"] {
        let body: Value = json!({ "packageName": package, "name": package, "kind": "tools-only", "publicUrl": app.url(),
            "tools": [crate::platform::echo_tool()] });
        let created = root.post("/api/apps", &body).await.expect(201).json();
        keys.push(created["apiKey"].as_str().unwrap().to_owned());
        ada().put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    let url = format!("{}/glasses-ws", p.url.replace("http", "ws"));
    let _device = crate::platform::Device::connect(&url, Some(&token)).await;
    let credential = format!("com.example.helper:{}", keys[1]);
    let helper = p.bearer(&credential).header("x-user-id", "ada");
    chunks(&helper, asks("x")).await;
    assert_eq!(offered(&model.requests()[0]), ["com_example_helper__echo"]);
    ada().put("/api/installs/com.example.helper/assistant", &json!({})).await.expect(204);
    chunks(&helper, asks("x")).await;
    assert_eq!(offered(&model.requests()[1]).len(), 2);
    // The key in the body counts the same.
    let by_body = p.nobody().header("x-user-id", "ada");
    chunks(&by_body, with(asks("x"), json!({ "apiKey": credential }))).await;
    assert_eq!(offered(&model.requests()[2]).len(), 2);
}

#[tokio::test]
async fn calls_of_a_chat_are_recorded_with_the_chat_door_and_the_callers_trace() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("ok")]);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    chunks(&p.user("ada").header("traceparent", trace), asks("x")).await;
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    let call = &calls["calls"][0];
    assert_eq!(
        (&call["door"], &call["source"], &call["tool"]),
        (&json!("chat"), &json!("app"), &json!(format!("{ECHO}:echo")))
    );
    assert_eq!(call["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
}
