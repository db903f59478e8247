//! The `on_tool_call` handler.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use toolyard_client_sdk::{ChatQuestion, Plugin, ToolError};
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{Stage, counted, soon, time};

#[tokio::test]
async fn a_function_of_the_program_takes_the_place_of_the_executor() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("mine", json!({ "a": 1 })), ScriptedReply::text("ok")]);
    let (mine, ran) = counted("mine");
    let client = stage
        .builder()
        .on_tool_call(|run| async move {
            Ok(json!({ "instead": run.call().input.clone(), "known": run.is_known() }))
        })
        .build()
        .unwrap();
    client.use_plugin(Plugin::new("p", "1").tool(mine)).await.unwrap();
    soon(client.ask("go")).await.unwrap();
    assert_eq!(stage.results(1), [json!({ "instead": { "a": 1 }, "known": true }).to_string()]);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn it_may_run_the_tool_as_usual_and_watch_it() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("get_current_time", json!({})), ScriptedReply::text("ok")]);
    let watched = Arc::new(Mutex::new(Vec::new()));
    let log = watched.clone();
    let client = stage
        .builder()
        .on_tool_call(move |run| {
            let log = log.clone();
            async move {
                let outcome = run.run().await;
                log.lock().unwrap().push(format!("{} {}", run.call().tool, outcome.is_ok()));
                outcome
            }
        })
        .build()
        .unwrap();
    client.register_tool(time()).unwrap();
    soon(client.ask("go")).await.unwrap();
    assert!(stage.results(1)[0].contains("2026-01-02"));
    assert_eq!(*watched.lock().unwrap(), ["get_current_time true"]);
}

#[tokio::test]
async fn a_question_has_its_own_handler_and_may_deny_a_call() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("mine", json!({})), ScriptedReply::text("ok")]);
    let (mine, ran) = counted("mine");
    let asked = Arc::new(AtomicBool::new(false));
    let flag = asked.clone();
    let client = stage
        .builder()
        .on_tool_call(move |run| {
            flag.store(true, Ordering::SeqCst);
            async move { run.run().await }
        })
        .build()
        .unwrap();
    client.register_tool(mine).unwrap();
    let question =
        ChatQuestion::from("go").on_tool_call(|_| async { Err(ToolError::new("the user said no")) });
    soon(client.ask(question)).await.unwrap();
    assert_eq!(stage.results(1), [json!({ "error": "the user said no" }).to_string()]);
    assert!(!asked.load(Ordering::SeqCst) && ran.load(Ordering::SeqCst) == 0);
}
