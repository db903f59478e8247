//! From a question to an answer on the glasses.

use serde_json::json;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::stage::{ECHO_ALIAS, Stage, echo_tool};

#[tokio::test]
async fn a_question_is_answered_with_a_tool_and_the_rest_is_ignored() {
    let stage = Stage::start().await;
    let echo = stage.echo("ada").await;
    echo.set_behavior(AppBehavior::content(json!("milk and bread")));
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([
        ScriptedReply::call(ECHO_ALIAS, json!({ "text": "list" })),
        ScriptedReply::text("You need **milk** and bread."),
    ]);
    ada.say("did you see the game yesterday").await;
    ada.say("Hey Toolyard, what do I need?").await;
    assert_eq!(ada.sees("milk").await, "You need milk and bread.");
    assert_eq!(stage.model.requests().len(), 2, "only one thing was said to it");
    let conversation = stage.conversation();
    assert_eq!(conversation[0], "user: what do I need?");
    assert_eq!(conversation.last().unwrap(), "tool: milk and bread");
    assert_eq!(echo.requests("/tool")[0].body["arguments"], json!({ "text": "list" }));
}

#[tokio::test]
async fn the_model_knows_the_glasses_and_gets_the_phrases_of_the_users_language() {
    let stage = Stage::start().await;
    let phrases = json!({ "mentraExtensions": { "activationPhrases": { "en": ["say it again"], "de": ["sag es noch mal"] } } });
    let _echo = stage.app("ada", "com.example.echo", json!({ "tools": [echo_tool(phrases)] })).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.set_default_reply(ScriptedReply::text("Gut, danke."));
    ada.say_in("de-DE", "Hallo Toolyard, wie geht es dir?").await;
    ada.sees("Gut, danke.").await;
    let system = stage.system();
    assert!(
        system.contains("Even Realities G1")
            && system.contains("5 lines of 32 letters")
            && system.contains("(de)"),
        "{system}"
    );
    let tools = stage.model.requests().last().unwrap().body["tools"].to_string();
    assert!(tools.contains("sag es noch mal") && !tools.contains("say it again"), "{tools}");
}

#[tokio::test]
async fn a_follow_up_needs_no_wake_word_and_knows_what_was_said() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([ScriptedReply::text("It is sunny."), ScriptedReply::text("It rains.")]);
    ada.say("hey toolyard how is the weather").await;
    ada.sees("It is sunny.").await;
    ada.sees("I see no tools of your apps").await;
    ada.say("and tomorrow").await;
    ada.sees("It rains.").await;
    assert_eq!(
        stage.conversation(),
        ["user: how is the weather", "assistant: It is sunny.", "user: and tomorrow"]
    );
}

#[tokio::test]
async fn a_press_is_as_good_as_a_wake_word() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G2").await;
    stage.model.set_default_reply(ScriptedReply::text("Half past three."));
    ada.press().await;
    ada.sees("Listening ...").await;
    ada.say("what time is it").await;
    ada.sees("Half past three.").await;
}

#[tokio::test]
async fn words_that_never_become_final_are_a_question_after_a_silence() {
    let stage = Stage::with(|config| config.listening.silence_ms = 50).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.set_default_reply(ScriptedReply::text("Half past three."));
    for text in ["hey toolyard", "hey toolyard what", "hey toolyard what time is it"] {
        ada.send(json!({ "type": "local_transcription", "text": text, "isFinal": false })).await;
    }
    ada.sees("Half past three.").await;
    assert_eq!(stage.conversation(), ["user: what time is it"]);
}

#[tokio::test]
async fn pages_fit_the_glasses_and_follow_ups_come_last() {
    let stage = Stage::start().await;
    let echo = stage.echo("ada").await;
    let extensions = json!({ "suggestedFollowUps": ["what else", "thank you"] });
    echo.set_behavior(AppBehavior::Json(
        200,
        json!({ "success": true, "content": "x", "mentraExtensions": extensions }),
    ));
    let mut ada = stage.user("ada", "Even Realities G1").await;
    let long = "one two three four five six seven ".repeat(10);
    stage.model.queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text(&long)]);
    ada.say("hey toolyard count").await;
    let pages = ada.until("You can say").await;
    assert!(pages.len() >= 3, "{pages:?}");
    assert!(pages.iter().all(|(kind, text)| kind == "shown" && text.len() <= 5 * 33), "{pages:?}");
    assert_eq!(pages.last().unwrap().1, "You can say: \"what else\", \"thank you\"");
}

#[tokio::test]
async fn an_exact_phrase_runs_without_a_model_if_configured() {
    let stage = Stage::with(|config| config.phrases_without_model = true).await;
    let phrases = json!({ "mentraExtensions": { "activationPhrases": ["show my list"] } });
    let echo = stage.app("ada", "com.example.echo", json!({ "tools": [echo_tool(phrases)] })).await;
    echo.set_behavior(AppBehavior::content(json!("Milk and bread.")));
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.set_default_reply(ScriptedReply::text("The model was asked."));
    ada.say("Hey Toolyard, show my list!").await;
    ada.sees("Milk and bread.").await;
    assert!(stage.model.requests().is_empty());
    ada.say("hey toolyard show my list in French").await;
    ada.sees("The model was asked.").await;
    assert!(stage.conversation().contains(&"assistant: Milk and bread.".to_owned()), "it is remembered");
}

#[tokio::test]
async fn by_default_a_model_is_asked_even_for_an_exact_phrase() {
    let stage = Stage::start().await;
    let phrases = json!({ "mentraExtensions": { "activationPhrases": ["show my list"] } });
    let _echo = stage.app("ada", "com.example.echo", json!({ "tools": [echo_tool(phrases)] })).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.set_default_reply(ScriptedReply::text("The model was asked."));
    ada.say("hey toolyard show my list").await;
    ada.sees("The model was asked.").await;
}

#[tokio::test]
async fn a_stop_or_another_question_cancels_the_running_one() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([
        ScriptedReply::text("Never.").hold_first(),
        ScriptedReply::text("Never.").hold_first(),
        ScriptedReply::text("Shorter."),
    ]);
    ada.say("hey toolyard tell me a story").await;
    stage.model.wait_requests(1).await;
    ada.say("stop").await;
    stage.model.wait_abandoned(1).await;
    ada.say("hey toolyard tell me another story").await;
    stage.model.wait_requests(2).await;
    ada.say("hey toolyard a shorter one").await;
    ada.sees("Shorter.").await;
    stage.model.wait_abandoned(2).await;
    assert_eq!(stage.conversation(), ["user: a shorter one"], "what was not answered is not remembered");
}

#[tokio::test]
async fn two_users_at_once_have_each_their_own_answer() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    let mut bob = stage.user("bob", "Vuzix Z100").await;
    stage.model.set_default_reply(ScriptedReply::text("Hello.").hold_first());
    ada.say("hey toolyard I am Ada").await;
    bob.say("hey toolyard I am Bob").await;
    let asked = stage.model.wait_requests(2).await;
    let said =
        |n: usize| asked[n].body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert_eq!([said(0).contains("Ada"), said(1).contains("Ada")].iter().filter(|is| **is).count(), 1);
    stage.model.release(2);
    ada.sees("Hello.").await;
    bob.sees("Hello.").await;
    stage.model.release(1);
    ada.say("hey toolyard who am I").await;
    stage.model.wait_requests(3).await;
    let conversation = stage.conversation().join("\n");
    assert!(conversation.contains("I am Ada") && !conversation.contains("Bob"), "{conversation}");
}
