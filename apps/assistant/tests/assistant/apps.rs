//! What apps can request of the assistant: no voice response, no question, hardware; and what users allow it.

use http::Method;
use serde_json::json;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::stage::{ASSISTANT, ECHO_ALIAS, Stage, echo_tool};

const ADD: &str = "com_example_todo__add_todo";

#[tokio::test]
async fn an_app_that_shows_its_answer_is_not_talked_over() {
    let stage = Stage::start().await;
    stage.todo("ada").await;
    let mut ada = stage.user("ada", "Simulated Glasses").await;
    stage.model.queue_replies([
        ScriptedReply::call(ADD, json!({ "todo_item": "buy milk" })),
        ScriptedReply::text("The next question."),
    ]);
    ada.say("hey toolyard remind me to buy milk").await;
    ada.sees("1. buy milk").await;
    // A follow-up is accepted only after the first answer, so everything of that answer comes before.
    let (first, mut number) = (ada.happened.len(), 0);
    while stage.model.requests().len() < 2 {
        number += 1;
        assert!(number < 1_000, "the first answer does not end");
        ada.say(&format!("and number {number}")).await;
        ada.ping().await;
    }
    let after = ada.since(first, "The next question.").await;
    let of_assistant: Vec<_> =
        after.iter().filter(|(_, text)| !text.contains("buy milk") && !text.is_empty()).collect();
    assert!(of_assistant.iter().all(|(_, text)| text.contains("The next question.")), "{after:?}");
    let conversation = stage.conversation();
    assert_eq!(conversation[conversation.len() - 2], "assistant: Done.", "{conversation:?}");
    assert!(
        conversation.last().unwrap().starts_with("user: and number"),
        "the model was not asked for words about the first"
    );
}

#[tokio::test]
async fn a_tool_without_hints_needs_no_approval() {
    let stage = Stage::start().await;
    let echo = stage.echo("ada").await;
    echo.set_behavior(AppBehavior::content(json!("ok")));
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text("It ran.")]);
    ada.say("hey toolyard echo").await;
    let seen = ada.until("It ran.").await;
    assert!(seen.iter().all(|(_, text)| !text.contains("yes or no")), "{seen:?}");
}

#[tokio::test]
async fn a_tool_that_needs_a_camera_is_answered_with_the_reason() {
    let stage = Stage::start().await;
    let camera = json!({ "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }],
        "tools": [{ "name": "take_photo", "description": "Takes one", "inputSchema": { "type": "object" } }] });
    let app = stage.app("ada", "com.example.camera", camera).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([ScriptedReply::call("com_example_camera__take_photo", json!({}))]);
    ada.say("hey toolyard take a photo").await;
    assert_eq!(ada.sees("camera").await, "Take photo needs a camera; your glasses have none.");
    assert!(app.requests("/tool").is_empty());
    assert_eq!(stage.model.requests().len(), 1, "the reason is the whole answer");
    assert!(stage.system().contains("Take photo (needs a camera; Even Realities G1 has none)"));
    stage.model.queue_replies([ScriptedReply::call("com_example_camera__take_photo", json!({}))]);
    ada.say_in("de-DE", "Hallo Toolyard, mach ein Foto").await;
    ada.sees("braucht eine Kamera").await;
    // On other glasses it is a tool like any other.
    ada.wears("Mentra Live").await;
    app.set_behavior(AppBehavior::content(json!("smile")));
    stage.model.queue_replies([
        ScriptedReply::call("com_example_camera__take_photo", json!({})),
        ScriptedReply::text("Taken."),
    ]);
    ada.say("hey toolyard take a photo now").await;
    assert_eq!(ada.spoken().await, "Taken.");
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn without_the_grant_it_says_what_to_do() {
    let stage = Stage::start().await;
    let _echo = stage.echo("ada").await;
    let device = stage.device("ada", "Even Realities G1").await;
    let mut ada = stage.open(device, "ada").await;
    stage.model.set_default_reply(ScriptedReply::text("I cannot do that yet."));
    ada.say("hey toolyard echo").await;
    ada.sees("I cannot do that yet.").await;
    ada.sees("I see no tools of your apps.").await;
    assert!(stage.system().contains("you may not use their apps yet"));
    stage.ask(Some("ada"), Method::PUT, &format!("/api/installs/{ASSISTANT}/assistant"), json!({})).await;
    ada.say("hey toolyard and now").await;
    ada.sees("I cannot do that yet.").await;
    let tools = stage.model.requests().last().unwrap().body["tools"].to_string();
    assert!(tools.contains(ECHO_ALIAS), "{tools}");
}

#[tokio::test]
async fn a_refused_assistant_is_explained_in_plain_words() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    // The assistant's key is no longer valid; its session stays.
    stage.ask(None, Method::POST, &format!("/api/apps/{ASSISTANT}/key"), json!({})).await;
    ada.say("hey toolyard what is on my list").await;
    ada.sees("I may not use your apps.").await;
    assert!(stage.model.requests().is_empty());
}

#[tokio::test]
async fn a_tool_with_an_explicit_false_needs_no_approval() {
    let stage = Stage::start().await;
    let harmless = json!({ "annotations": { "destructiveHint": false } });
    let echo = stage.app("ada", "com.example.echo", json!({ "tools": [echo_tool(harmless)] })).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text("It ran.")]);
    ada.say("hey toolyard echo").await;
    ada.sees("It ran.").await;
    assert_eq!(echo.requests("/tool").len(), 1);
}
