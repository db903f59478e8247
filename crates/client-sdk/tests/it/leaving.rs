//! Cancelling and resuming a chat.

use std::sync::atomic::Ordering;

use serde_json::json;
use toolyard_client_sdk::{ChatError, ChatEvent, ChatFinish, ChatQuestion};
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{Stage, counted, soon, tool, until};

#[tokio::test]
async fn dropping_the_stream_cancels_the_answer() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::text("Once upon ").and_hold().and_text("a time")]);
    let mut stream = stage.client().chat("a story");
    until(&mut stream, |event| matches!(event, ChatEvent::Text { .. })).await;
    let heard = stream.so_far();
    drop(stream);
    stage.model.wait_abandoned(1).await;
    assert_eq!((heard.text.as_str(), heard.finish), ("Once upon ", ChatFinish::Unfinished));
    assert_eq!(heard.history.len(), 2, "what was said can be sent again");
}

#[tokio::test]
async fn dropping_the_stream_cancels_running_tools() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("endless", json!({}))]);
    let client = stage.client();
    let (ended, mut ends) = tokio::sync::mpsc::channel::<()>(1);
    let endless = tool("endless", move |_, cx| {
        let held = ended.clone();
        async move {
            cx.progress(0.0, None, None);
            std::future::pending::<()>().await;
            drop(held);
            Ok(json!(1))
        }
    });
    client.register_tool(endless).unwrap();
    let mut stream = client.chat("go");
    until(&mut stream, |event| matches!(event, ChatEvent::Progress { .. })).await;
    drop(stream);
    drop(client);
    // The last sender goes with the tool.
    assert_eq!(soon(ends.recv()).await, None);
}

#[tokio::test]
async fn a_resumed_answer_is_replayed_from_its_beginning() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::text("One ").and_hold().and_text("two")]);
    let client = stage.client();
    let mut first = client.chat(ChatQuestion::from("count").resumable("c1"));
    until(&mut first, |event| matches!(event, ChatEvent::Text { .. })).await;
    let sent = first.sent_messages();
    drop(first);
    let mut second = client.resume("c1", sent);
    until(&mut second, |event| matches!(event, ChatEvent::Text { delta } if delta == "One ")).await;
    stage.model.release(1);
    let answer = soon(second.collect()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.finish, stage.asked()), ("One two", ChatFinish::Stop, 1));
    assert_eq!((answer.history.len(), stage.model.abandoned()), (2, 0));
}

#[tokio::test]
async fn a_resumed_answer_that_waits_for_a_tool_gets_it() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::text("Wait. ").and_hold().and_call("mine", json!({})),
        ScriptedReply::text("Done."),
    ]);
    let (client, (mine, ran)) = (stage.client(), counted("mine"));
    client.register_tool(mine).unwrap();
    let mut first = client.chat(ChatQuestion::from("go").resumable("c/1 ?"));
    until(&mut first, |event| matches!(event, ChatEvent::Text { .. })).await;
    let sent = first.sent_messages();
    drop(first);
    stage.model.release(1);
    let answer = soon(client.resume("c/1 ?", sent).collect()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.rounds, ran.load(Ordering::SeqCst)), ("Wait. \nDone.", 2, 1));
    assert_eq!(answer.history.len(), 2);
}

#[tokio::test]
async fn resuming_without_a_response_is_an_error() {
    let stage = Stage::start().await;
    let told = soon(stage.client().resume("never", "hi").collect()).await.unwrap_err();
    assert_eq!(told, ChatError::NothingToResume { chat_id: "never".to_owned() });
}

#[tokio::test]
async fn a_resumed_answer_continues_from_the_last_request() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("mine", json!({})),
        ScriptedReply::text("Half ").and_hold().and_text("and half"),
    ]);
    let (client, (mine, ran)) = (stage.client(), counted("mine"));
    client.register_tool(mine).unwrap();
    let mut first = client.chat(ChatQuestion::from("go").resumable("c1"));
    until(&mut first, |event| matches!(event, ChatEvent::Text { .. })).await;
    let sent = first.sent_messages();
    drop(first);
    let resumed = client.resume("c1", sent);
    stage.model.release(1);
    let answer = soon(resumed.collect()).await.unwrap();
    assert_eq!((answer.text.as_str(), ran.load(Ordering::SeqCst)), ("Half and half", 1));
    let parts = serde_json::to_value(&answer.history[1]).unwrap()["parts"].clone();
    let kinds: Vec<_> = parts.as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(json!(kinds), json!(["step-start", "tool-mine", "step-start", "text"]));
}

#[tokio::test]
async fn another_program_without_the_tool_returns_an_error_to_the_model() {
    let stage = Stage::start().await;
    let call = ScriptedReply::text("Well.").and_hold().and_call("mine", json!({}));
    stage.script([call, ScriptedReply::text("Nobody has it.")]);
    let (client, (mine, ran)) = (stage.client(), counted("mine"));
    client.register_tool(mine).unwrap();
    let mut first = client.chat(ChatQuestion::from("go").resumable("c1"));
    let is_text = |event: &ChatEvent| matches!(event, ChatEvent::Text { .. });
    until(&mut first, is_text).await;
    let sent = first.sent_messages();
    drop(first);
    let mut again = stage.client().resume("c1", sent);
    until(&mut again, is_text).await;
    stage.model.release(1);
    let answer = soon(again.collect()).await.unwrap();
    assert!(answer.text.ends_with("Nobody has it."), "{answer:?}");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(stage.results(1), [json!({ "error": "this client has no tool `mine`" }).to_string()]);
}
