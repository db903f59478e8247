//! The sample app on our own SDK, from registration to the glasses: both halves of the wire, with signatures checked.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_app_sdk::{AppServer, Tool, ToolContext, create_dynamic_tool};
use toolyard_core::ports::Clock as _;
use toolyard_testkit::FixedClock;

use crate::platform::{Device, Platform};

const TODO: &str = "com.example.todo";

/// The platform's clock for the app, because signatures expire.
struct SameClock(Arc<FixedClock>);

impl toolyard_app_sdk::Clock for SameClock {
    fn now(&self) -> jiff::Timestamp {
        self.0.now()
    }
}

/// The app, served until the test ends.
struct Running {
    app: AppServer,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        self.tasks.close();
    }
}

/// Registers the app, starts it, lets it upload its tools, and installs it for ada.
async fn start(p: &Platform, extra: Option<Tool>) -> (Running, Device) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = json!({ "packageName": TODO, "publicUrl": url, "kind": "session", "appType": "standard" });
    let created = p.nobody().post("/api/apps", &body).await.expect(201).json();
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    let builder = AppServer::builder(TODO)
        .api_key(text("apiKey"))
        .signing_secret(text("signingSecret"))
        .server(p.url.clone())
        .clock(SameClock(p.clock.clone()));
    let builder = toolyard_todo::add_to(builder).unwrap();
    let builder = extra.into_iter().fold(builder, toolyard_app_sdk::AppServerBuilder::register_tool);
    let app = builder.build().unwrap();
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let (serving, token) = (app.clone(), stop.clone());
    tasks.spawn(async move { serving.serve(listener, token).await });
    assert_eq!(app.register().await.unwrap(), 1);
    p.user("ada").put(&format!("/api/installs/{TODO}"), &json!({})).await.expect(204);
    let device = p.device("ada").await;
    (Running { app, tasks, stop }, device)
}

async fn call(p: &Platform, tool: &str, arguments: Value) -> Value {
    p.user("ada").call(&format!("{TODO}:{tool}"), arguments).await.expect(200).json()
}

#[tokio::test]
async fn the_list_is_shown_on_the_glasses() {
    // Deleting asks first; this test is about the app.
    let p =
        Platform::with(|config| config.approvals.preset = toolyard_core::approvals::PolicyPreset::Open).await;
    let (todo, mut device) = start(&p, None).await;
    device.wears("Even Realities G1").await;
    let names = ["add_todo", "get_todos", "mark_todo_complete", "mark_todo_incomplete", "delete_todo"];
    assert_eq!(p.user("ada").tools().await, names.map(|name| format!("{TODO}:{name}")));

    let added = call(&p, "add_todo", json!({ "todo_item": "buy milk" })).await;
    assert_eq!(added["mentraExtensions"]["suppressVoiceResponse"], true, "{added}");
    while !device.sees().await.contains("buy milk") {}
    assert!(todo.app.session_for(&"ada".parse().unwrap()).is_some());

    let wrong = p.user("ada").call(&format!("{TODO}:add_todo"), json!({ "item": 5 })).await.expect(400);
    assert!(wrong.text.contains("todo_item: missing"), "{}", wrong.text);
    let missing =
        p.user("ada").call(&format!("{TODO}:delete_todo"), json!({ "todo_id": "none" })).await.expect(500);
    assert_eq!(missing.code(), "EXECUTION_ERROR");

    p.user("ada").post(&format!("/api/session/apps/{TODO}/stop"), &json!({})).await.expect(204);
    assert!(todo.app.session_for(&"ada".parse().unwrap()).is_none());
}

#[tokio::test]
async fn mcp_clients_read_the_list_and_get_the_prompt() {
    let p = Platform::start().await;
    let (_todo, _device) = start(&p, None).await;
    call(&p, "add_todo", json!({ "todo_item": "buy milk" })).await;
    let ada = p.user("ada");
    let listed = ada.modern("resources/list", json!({})).await.result();
    assert_eq!(listed["resources"][0]["uri"], "todo://com.example.todo/list");
    let read = ada.modern("resources/read", json!({ "uri": "todo://com.example.todo/list" })).await.result();
    let content =
        json!({ "uri": "todo://com.example.todo/list", "mimeType": "text/plain", "text": "1. buy milk" });
    assert_eq!(read["contents"], json!([content]));

    let listed = ada.modern("prompts/list", json!({})).await.result();
    assert_eq!(listed["prompts"][0]["name"], "com_example_todo__plan_day");
    assert_eq!(listed["prompts"][0]["arguments"][0]["name"], "day");
    let plan = json!({ "name": "com_example_todo__plan_day", "arguments": { "day": "monday" } });
    let plan = ada.modern("prompts/get", plan).await.result();
    let text = plan["messages"][0]["content"]["text"].as_str().unwrap();
    assert_eq!(text, "Make a plan for monday. This is on my to-do list:\n1. buy milk");
}

#[tokio::test]
async fn a_call_that_is_not_signed_by_the_platform_is_refused() {
    let p = Platform::start().await;
    let (_todo, _device) = start(&p, None).await;
    call(&p, "get_todos", json!({})).await;
    p.nobody().post(&format!("/api/apps/{TODO}/secret"), &json!({})).await.expect(200);
    call(&p, "get_todos", json!({})).await;
    // After a second rotation the app's secret is the third last, and void.
    p.nobody().post(&format!("/api/apps/{TODO}/secret"), &json!({})).await.expect(200);
    let refused = p.user("ada").call(&format!("{TODO}:get_todos"), json!({})).await.expect(500);
    assert_eq!(refused.code(), "EXECUTION_ERROR", "{}", refused.text);
}

#[tokio::test]
async fn progress_and_cancellation_go_all_the_way() {
    let p = Platform::start().await;
    let (sender, mut cancelled) = tokio::sync::mpsc::channel(1);
    let slow = move |_: serde_json::Map<String, Value>, cx: ToolContext| {
        let sender = sender.clone();
        async move {
            cx.progress(0.4, "half way");
            cx.cancelled().await;
            let _ = sender.send(()).await;
            Ok::<_, std::convert::Infallible>("never read")
        }
    };
    let slow =
        create_dynamic_tool("slow", "Takes its time", json!({ "type": "object" }), slow).build().unwrap();
    let (_todo, _device) = start(&p, Some(slow)).await;
    let body = json!({ "name": format!("{TODO}:slow"), "arguments": {} });
    let ada = p.user("ada").header("accept", "text/event-stream");
    let mut lines =
        ada.open(http::Method::POST, "/api/tools/execute", Some(body)).await.into_lines(10_000, 100_000);
    loop {
        let line = lines.next().await.unwrap().unwrap();
        if line.starts_with(b"data: ") {
            let progress: Value = serde_json::from_slice(&line[6..]).unwrap();
            assert_eq!(
                (progress["progress"].as_f64(), &progress["message"]),
                (Some(0.4), &json!("half way"))
            );
            break;
        }
    }
    drop(lines);
    cancelled.recv().await.unwrap();
}
