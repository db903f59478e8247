//! The to-do list end to end, with and without glasses.
#![cfg(test)]

mod fixture;

use std::process::Stdio;

use axum::http::StatusCode;
use fixture::TodoApp;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};
use toolyard_app_sdk::AppServer;

#[tokio::test]
async fn without_a_session_the_assistant_gets_texts() {
    let app = TodoApp::start().await;
    for (tool, arguments, said) in [
        ("get_todos", json!({}), "There are no todos on your list."),
        (
            "add_todo",
            json!({ "todo_item": "buy milk", "due_date": "2026-01-02" }),
            "Added to your list: 1. buy milk (due 2026-01-02)",
        ),
        ("add_todo", json!({ "todo_item": "call Bob" }), "Added to your list: 2. call Bob"),
        ("mark_todo_complete", json!({ "todo_id": "1" }), "Marked as complete: buy milk"),
        ("get_todos", json!({}), "Your todos:\n2. call Bob"),
        (
            "get_todos",
            json!({ "include_completed": true }),
            "Your todos:\n1. buy milk (due 2026-01-02) (done)\n2. call Bob",
        ),
        ("mark_todo_incomplete", json!({ "todo_id": "1" }), "Marked as not complete: buy milk"),
        ("delete_todo", json!({ "todo_id": "2" }), "Deleted from your list: call Bob"),
        ("get_todos", json!({}), "Your todos:\n1. buy milk (due 2026-01-02)"),
    ] {
        let answer = app.call("ada@example.com", tool, arguments).await;
        assert_eq!(answer, (StatusCode::OK, json!({ "success": true, "content": said })), "{tool}");
    }
    let (_, other) = app.call("bob@example.com", "get_todos", json!({})).await;
    assert_eq!(other["content"], "There are no todos on your list.");
}

#[tokio::test]
async fn the_list_can_be_read_and_planned_with() {
    let app = TodoApp::start().await;
    app.call("ada@example.com", "add_todo", json!({ "todo_item": "buy milk" })).await;
    for (user, list) in [("ada@example.com", "1. buy milk"), ("bob@example.com", "Nothing to do")] {
        let (status, read) = app.ask(user, "/resource", json!({ "uri": "todo://list" })).await;
        let content = json!({ "uri": "todo://list", "mimeType": "text/plain", "text": list });
        assert_eq!((status, read), (StatusCode::OK, json!({ "contents": [content] })));
        let plan = json!({ "name": "plan_day", "arguments": { "day": "monday" } });
        let (status, plan) = app.ask(user, "/prompt", plan).await;
        let text = format!("Make a plan for monday. This is on my to-do list:\n{list}");
        assert_eq!((status, &plan["messages"][0]["content"]["text"]), (StatusCode::OK, &json!(text)));
    }
}

#[tokio::test]
async fn refusals_of_the_list_are_results_for_the_user() {
    let app = TodoApp::start().await;
    let (status, answer) = app.call("ada@example.com", "delete_todo", json!({ "todo_id": "7" })).await;
    let message = "There is no todo 7 on the list. Get the todos to see their IDs.";
    let error = json!({ "code": "EXECUTION_ERROR", "message": message });
    assert_eq!((status, answer), (StatusCode::OK, json!({ "success": false, "error": error })));
    let date = json!({ "todo_item": "x", "due_date": "tomorrow" });
    let (status, answer) = app.call("ada@example.com", "add_todo", date).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("INVALID_ARGUMENTS")));
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("due_date: "), "{answer}");
}

#[tokio::test]
async fn with_a_session_the_list_is_on_the_glasses() {
    let mut app = TodoApp::start().await;
    app.call("ada@example.com", "add_todo", json!({ "todo_item": "buy milk" })).await;
    let mut glasses = app.open("ada@example.com", json!({ "hasDisplay": true })).await;
    assert_eq!(glasses.shown().await, "1. buy milk");

    let (_, answer) = app.call("ada@example.com", "add_todo", json!({ "todo_item": "call Bob" })).await;
    let silent = json!({ "suppressVoiceResponse": true });
    assert_eq!(
        answer,
        json!({ "success": true, "content": "Added to your list: 2. call Bob", "mentraExtensions": silent })
    );
    assert_eq!(glasses.shown().await, "1. buy milk\n2. call Bob");
    for id in ["1", "2"] {
        app.call("ada@example.com", "mark_todo_complete", json!({ "todo_id": id })).await;
    }
    assert_eq!(
        (glasses.shown().await.as_str(), glasses.shown().await.as_str()),
        ("2. call Bob", "Nothing to do")
    );

    // Another user without a session still gets a text.
    let (_, answer) = app.call("bob@example.com", "get_todos", json!({})).await;
    assert_eq!(answer["mentraExtensions"], Value::Null);
}

#[tokio::test]
async fn glasses_without_a_display_leave_it_to_the_assistant() {
    let mut app = TodoApp::start().await;
    let _glasses = app.open("ada@example.com", json!({ "hasDisplay": false, "hasSpeaker": true })).await;
    let (_, answer) = app.call("ada@example.com", "get_todos", json!({})).await;
    assert_eq!(answer, json!({ "success": true, "content": "There are no todos on your list." }));
}

#[test]
fn the_definitions_are_those_of_the_guide() {
    let app = toolyard_todo::add_to(AppServer::builder("com.example.todo")).unwrap().build().unwrap();
    let names: Vec<_> = app.definitions().map(|tool| tool.name.as_str().to_owned()).collect();
    assert_eq!(names, ["add_todo", "get_todos", "mark_todo_complete", "mark_todo_incomplete", "delete_todo"]);
    let add = app.definitions().next().unwrap();
    assert_eq!(
        add.input_schema(),
        json!({
            "type": "object",
            "properties": {
                "todo_item": {
                    "type": "string", "minLength": 1, "maxLength": 500, "description": "The to-do item text",
                },
                "due_date": {
                    "type": ["string", "null"], "format": "date",
                    "description": "Due date in ISO format (YYYY-MM-DD)",
                },
            },
            "required": ["todo_item"],
            "description": "What to add.",
        })
    );
    assert!(app.definitions().nth(1).unwrap().is_harmless());
}

#[tokio::test]
async fn a_signal_stops_it_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_toolyard-todo"));
        program.args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).kill_on_drop(true);
        let mut running = program.spawn().unwrap();
        let mut log = BufReader::new(running.stderr.take().unwrap()).lines();
        while !log.next_line().await.unwrap().expect("it listens").contains("listening") {}
        let id = running.id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
        assert!(running.wait().await.unwrap().success(), "{signal}");
    }
}
