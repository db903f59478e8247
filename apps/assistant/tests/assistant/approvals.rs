//! Calls that the user has to approve: by voice, by the button, or on another surface.

use http::Method;
use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, FakeApp, model::ScriptedReply};

use crate::stage::{ECHO, ECHO_ALIAS, Glasses, Stage, TODO, echo_tool};

const DELETE: &str = "com_example_todo__delete_todo";

/// Ada has a todo, and wants it deleted.
async fn wants_it_deleted(stage: &Stage) -> Glasses {
    wants_it_deleted_by(stage, None).await
}

async fn wants_it_deleted_by(stage: &Stage, speaker: Option<&str>) -> Glasses {
    stage.todo("ada").await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    let call = json!({ "name": format!("{TODO}:add_todo"), "arguments": { "todo_item": "buy milk" } });
    stage.ask(Some("ada"), Method::POST, "/api/tools/execute", call).await;
    ada.sees("1. buy milk").await;
    stage.model.queue_replies([
        ScriptedReply::call(DELETE, json!({ "todo_id": "1" })),
        ScriptedReply::text("That was it."),
    ]);
    ada.say_as(speaker, "hey toolyard delete the first todo").await;
    ada
}

async fn todos(stage: &Stage) -> String {
    let call = json!({ "name": format!("{TODO}:get_todos"), "arguments": {} });
    stage.ask(Some("ada"), Method::POST, "/api/tools/execute", call).await["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// All of Ada's approvals.
async fn approvals(stage: &Stage) -> Vec<Value> {
    let list = stage.ask(Some("ada"), Method::GET, "/api/approvals", json!({})).await;
    list["approvals"].as_array().unwrap().clone()
}

async fn states(stage: &Stage) -> Vec<String> {
    approvals(stage).await.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect()
}

/// Ada answers the newest approval on another surface.
async fn answer(stage: &Stage, answer: &str) -> String {
    let id = approvals(stage).await[0]["id"].as_str().unwrap().to_owned();
    stage.ask(Some("ada"), Method::POST, &format!("/api/approvals/{id}"), json!({ "answer": answer })).await;
    id
}

#[tokio::test]
async fn a_destructive_tool_needs_approval_and_runs_after_a_yes() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted(&stage).await;
    assert_eq!(ada.sees("Delete").await, "Todo: Delete a todo (1)? Say yes or no.");
    assert!(todos(&stage).await.contains("buy milk"), "nothing happens before the answer");
    ada.say("what was that").await;
    assert_eq!(
        ada.sees("Delete").await,
        "I did not understand. Todo: Delete a todo (1)? Say yes or no.",
        "it asks again"
    );
    ada.say("yes please").await;
    ada.sees("Nothing to do").await;
    assert!(todos(&stage).await.contains("no todos"));
}

#[tokio::test]
async fn only_the_asking_speaker_can_approve_but_anyone_can_refuse() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted_by(&stage, Some("1")).await;
    ada.sees("Say yes or no.").await;
    ada.say_as(Some("2"), "yes").await;
    ada.say_as(Some("2"), "no").await;
    ada.sees("That was it.").await;
    assert!(stage.conversation().last().unwrap().contains("The user said no"));
    assert!(todos(&stage).await.contains("buy milk"));
}

#[tokio::test]
async fn a_cancelled_approval_cannot_be_given() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted(&stage).await;
    ada.sees("Say yes or no.").await;
    ada.press().await;
    // Presses and speech arrive by two streams: what is said must not overtake the press.
    ada.sees_nothing().await;
    ada.say("yes").await;
    ada.say("hey toolyard what now").await;
    ada.sees("That was it.").await;
    assert!(todos(&stage).await.contains("buy milk"));
}

#[tokio::test]
async fn a_refusal_changes_nothing() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted(&stage).await;
    ada.sees("Say yes or no.").await;
    ada.say("no thanks").await;
    ada.sees("That was it.").await;
    assert!(stage.conversation().last().unwrap().contains("The user said no"));
    assert!(todos(&stage).await.contains("buy milk"));
}

#[tokio::test]
async fn after_two_unclear_answers_it_says_where_to_answer_and_the_question_stays_open() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted(&stage).await;
    ada.sees("Say yes or no.").await;
    ada.say("yes but only the first one").await;
    ada.sees("I did not understand.").await;
    ada.say("hm whatever").await;
    ada.sees("under Approvals in the console").await;
    assert_eq!(states(&stage).await, ["pending"]);
    // Later, on another surface.
    let id = answer(&stage, "approve").await;
    let path = format!("/api/approvals/{id}");
    while stage.ask(Some("ada"), Method::GET, &path, json!({})).await["state"] != "done" {
        tokio::task::yield_now().await;
    }
    assert!(todos(&stage).await.contains("no todos"));
}

#[tokio::test]
async fn without_an_answer_it_says_where_to_answer_and_the_question_stays_open() {
    let stage = Stage::with(|config| config.answer.approval_s = 0).await;
    let mut ada = wants_it_deleted(&stage).await;
    ada.sees("Delete a todo has not run.").await;
    assert_eq!(states(&stage).await, ["pending"]);
    assert!(todos(&stage).await.contains("buy milk"));
}

#[tokio::test]
async fn an_answer_on_another_surface_ends_the_question_on_the_glasses() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted(&stage).await;
    ada.sees("Say yes or no.").await;
    answer(&stage, "approve").await;
    ada.sees("Nothing to do").await;
    assert!(todos(&stage).await.contains("no todos"));
}

/// An app with a tool of high risk: it cannot be undone and reaches others.
async fn wants_money_sent(stage: &Stage, glasses: &str) -> (FakeApp, Glasses) {
    let risky =
        json!({ "title": "Send money", "annotations": { "destructiveHint": true, "openWorldHint": true } });
    let app = stage.app("ada", ECHO, json!({ "tools": [echo_tool(risky)] })).await;
    app.set_behavior(AppBehavior::content(json!("sent")));
    let mut ada = stage.user("ada", glasses).await;
    stage.model.queue_replies([
        ScriptedReply::call(ECHO_ALIAS, json!({ "text": "40 to Anna" })),
        ScriptedReply::text("The model has the last word."),
    ]);
    ada.say("hey toolyard send 40 to Anna").await;
    (app, ada)
}

#[tokio::test]
async fn high_risk_needs_the_button_and_a_spoken_yes_is_not_enough() {
    let stage = Stage::with(|config| config.answer.press_after_ms = 0).await;
    let (app, mut ada) = wants_money_sent(&stage, "Even Realities G2").await;
    let question = "Echo: Send money (40 to Anna)? Press the button to allow it, or say no.";
    assert_eq!(ada.sees("Send money").await, question);
    ada.say("yes").await;
    assert_eq!(ada.sees("Send money").await, format!("A spoken yes is not enough here. {question}"));
    assert!(app.requests("/tool").is_empty());
    ada.press().await;
    ada.sees("The model has the last word.").await;
    assert_eq!(app.requests("/tool").len(), 1);
    assert_eq!(approvals(&stage).await[0]["answer"]["surface"], "button");
}

#[tokio::test]
async fn speech_alone_never_runs_a_call_of_high_risk() {
    let stage = Stage::start().await;
    let (app, mut ada) = wants_money_sent(&stage, "Even Realities G2").await;
    ada.sees("Press the button").await;
    ada.say("yes").await;
    ada.sees("A spoken yes is not enough").await;
    ada.say("yes yes do it").await;
    ada.sees("Send money has not run. You can still answer under Approvals").await;
    assert_eq!(states(&stage).await, ["pending"]);
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn a_spoken_no_refuses_a_call_of_high_risk() {
    let stage = Stage::start().await;
    let (app, mut ada) = wants_money_sent(&stage, "Even Realities G2").await;
    ada.sees("Press the button").await;
    ada.say("no").await;
    ada.sees("The model has the last word.").await;
    assert_eq!(states(&stage).await, ["denied"]);
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn without_a_button_high_risk_is_answered_on_another_surface() {
    let stage = Stage::start().await;
    let (app, mut ada) = wants_money_sent(&stage, "Even Realities G1").await;
    let seen = ada.until("on your phone or").await;
    let text: Vec<&str> = seen.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        text.join(" ").contains("Echo: Send money (40 to Anna)? A spoken yes is not enough here."),
        "{seen:?}"
    );
    ada.say("yes").await;
    ada.press().await;
    ada.ping().await;
    assert_eq!((states(&stage).await, app.requests("/tool").len()), (vec!["pending".to_owned()], 0));
}

#[tokio::test]
async fn yes_is_understood_in_the_language_of_the_speech_only() {
    for (language, said, runs) in [
        ("nl-NL", "Ja hoor", true),
        ("ja-JP", "はい、お願いします", true),
        ("pt-BR", "sim, pode", true),
        ("en-US", "ja hoor", false),
        ("de-DE", "ja, aber nicht jetzt", false),
    ] {
        let stage = Stage::start().await;
        let mut ada = wants_it_deleted(&stage).await;
        ada.sees("Say yes or no.").await;
        ada.say_in(language, said).await;
        ada.sees(if runs { "Nothing to do" } else { "I did not understand." }).await;
    }
}

#[tokio::test]
async fn words_that_may_still_change_are_no_answer() {
    let stage = Stage::start().await;
    let mut ada = wants_it_deleted(&stage).await;
    ada.sees("Say yes or no.").await;
    let piece = |text: &str, is_final: bool| json!({ "type": "local_transcription", "text": text, "isFinal": is_final, "transcribeLanguage": "en-US" });
    ada.send(piece("yes", false)).await;
    ada.send(piece("yes but not that one", true)).await;
    ada.sees("I did not understand.").await;
    // The wake word in front of the answer does not begin a question.
    ada.send(piece("hey toolyard no", false)).await;
    ada.send(piece("hey toolyard no thanks", true)).await;
    ada.sees("That was it.").await;
    assert_eq!(states(&stage).await, ["denied"]);
    assert!(todos(&stage).await.contains("buy milk"));
}
