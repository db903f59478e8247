//! How often tools run for one question.

use std::sync::atomic::Ordering;

use serde_json::json;
use toolyard_client_sdk::{ChatEvent, ChatFinish, Message, chat::NOTICE_TOOL_ROUNDS};
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{Stage, counted, events, kinds, soon};

#[tokio::test]
async fn at_the_limit_of_rounds_tools_do_not_run_and_a_notice_is_sent() {
    let stage = Stage::start().await;
    stage.model.set_default_reply(ScriptedReply::call("again", json!({})));
    let (client, (again, ran)) = (stage.builder().max_tool_rounds(2).build().unwrap(), counted("again"));
    client.register_tool(again).unwrap();
    let told = events(client.chat("go")).await;
    assert_eq!((stage.asked(), ran.load(Ordering::SeqCst)), (2, 1), "the limit comes before the tools");
    assert!(
        told.iter()
            .any(|event| matches!(event, ChatEvent::Notice(notice) if notice.code == NOTICE_TOOL_ROUNDS))
    );
    assert_eq!(kinds(&told)[told.len() - 3..], ["round-finish", "notice", "finish"]);
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    assert_eq!(
        (&answer.finish, answer.rounds, answer.calls.len(), answer.results.len()),
        (&ChatFinish::ToolRounds, 2, 2, 1)
    );
    assert_eq!(answer.open_calls().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["again"]);
}

#[tokio::test]
async fn the_history_of_a_chat_at_its_limit_can_be_sent() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("again", json!({})), ScriptedReply::text("Never mind.")]);
    let (client, (again, ran)) = (stage.builder().max_tool_rounds(1).build().unwrap(), counted("again"));
    client.register_tool(again).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    let next = soon(client.ask(answer.and_then("leave it"))).await.unwrap();
    assert_eq!((next.text.as_str(), ran.load(Ordering::SeqCst)), ("Never mind.", 0));
    assert_eq!(stage.results(1), ["The client did not answer this call."]);
}

#[tokio::test]
async fn a_chat_has_five_rounds_by_default() {
    let stage = Stage::start().await;
    stage.model.set_default_reply(ScriptedReply::call("again", json!({})));
    let (client, (again, ran)) = (stage.client(), counted("again"));
    client.register_tool(again).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    assert_eq!((answer.rounds, ran.load(Ordering::SeqCst), stage.asked()), (5, 4, 5));
}

#[tokio::test]
async fn zero_means_no_limit() {
    let stage = Stage::start().await;
    stage.script(
        (0..8).map(|_| ScriptedReply::call("again", json!({}))).chain([ScriptedReply::text("Enough.")]),
    );
    let (client, (again, ran)) = (stage.builder().max_tool_rounds(0).build().unwrap(), counted("again"));
    client.register_tool(again).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    assert_eq!((answer.rounds, ran.load(Ordering::SeqCst), answer.text.as_str()), (9, 8, "Enough."));
}

#[tokio::test]
async fn open_calls_of_an_older_message_do_not_run() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("again", json!({})),
        ScriptedReply::call("again", json!({})),
        ScriptedReply::text("Done."),
    ]);
    let (client, (again, ran)) = (stage.builder().max_tool_rounds(1).build().unwrap(), counted("again"));
    client.register_tool(again).unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    let (other, (again, _)) = (stage.client(), counted("unused"));
    other.register_tool(again).unwrap().register_tool(counted("again").0).unwrap();
    // The message continues under its own id.
    let next = soon(other.ask(answer.history.clone())).await.unwrap();
    assert_eq!((next.history.len(), &next.history[1].id), (2, &answer.history[1].id));
    assert_eq!((next.calls.len(), next.results.len(), ran.load(Ordering::SeqCst)), (1, 1, 0));
    let _: Vec<Message> = next.history;
}
