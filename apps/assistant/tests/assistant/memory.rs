//! What the assistant remembers, for how long, and what it forgets.

use serde_json::json;
use toolyard_protocol::ToolName;
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{Glasses, Stage};

async fn asks(stage: &Stage, user: &mut Glasses, question: &str, answer: &str) {
    stage.model.queue_replies([ScriptedReply::text(answer)]);
    user.say(&format!("hey toolyard {question}")).await;
    user.sees(answer).await;
}

#[tokio::test]
async fn forever_outlives_the_process() {
    let mut stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.choose("ada", json!({ "history": "forever" })).await;
    asks(&stage, &mut ada, "my cat is called Minka", "A fine name.").await;
    stage.close("ada").await;
    stage.end().await;
    stage.run().await;
    let mut ada = stage.open(ada, "ada").await;
    asks(&stage, &mut ada, "what is my cat called", "Minka.").await;
    assert!(
        stage.conversation().contains(&"user: my cat is called Minka".to_owned()),
        "{:?}",
        stage.conversation()
    );
}

#[tokio::test]
async fn a_session_conversation_ends_with_it_and_is_never_in_the_file() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    asks(&stage, &mut ada, "my cat is called Minka", "A fine name.").await;
    asks(&stage, &mut ada, "what is my cat called", "Minka.").await;
    assert_eq!(stage.conversation().len(), 3);
    stage.close("ada").await;
    let mut ada = stage.open(ada, "ada").await;
    asks(&stage, &mut ada, "and now", "I do not know.").await;
    assert_eq!(stage.conversation(), ["user: and now"]);
    let file = std::fs::read(stage.data()).unwrap();
    assert!(!file.windows(5).any(|window| window == b"Minka"));
}

#[tokio::test]
async fn off_is_off_and_takes_effect_at_once() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    asks(&stage, &mut ada, "my cat is called Minka", "A fine name.").await;
    stage.choose("ada", json!({ "history": "off" })).await;
    // Settings use the same socket as speech, and so arrive before it.
    asks(&stage, &mut ada, "what is my cat called", "I do not know.").await;
    assert_eq!(stage.conversation(), ["user: what is my cat called"]);
    asks(&stage, &mut ada, "and now", "Still not.").await;
    assert_eq!(stage.conversation(), ["user: and now"]);
}

#[tokio::test]
async fn forget_is_a_command_and_a_tool() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    asks(&stage, &mut ada, "my cat is called Minka", "A fine name.").await;
    ada.say("hey toolyard forget our conversation").await;
    ada.sees("I have forgotten our conversation.").await;
    asks(&stage, &mut ada, "what is my cat called", "I do not know.").await;
    assert_eq!(stage.conversation(), ["user: what is my cat called"]);
    // In other words, a model must understand it. The tool is destructive, so it needs approval.
    let forget: ToolName = "com.toolyard.assistant:forget_conversation".parse().unwrap();
    stage.model.queue_replies([
        ScriptedReply::call(forget.alias().as_str(), json!({})),
        ScriptedReply::text("All gone."),
    ]);
    ada.say("hey toolyard please drop everything you know of me").await;
    ada.sees("Forget our conversation? Say yes or no.").await;
    ada.say("yes").await;
    ada.sees("All gone.").await;
    asks(&stage, &mut ada, "who am I", "I do not know you.").await;
    assert_eq!(stage.conversation(), ["user: who am I"]);
}

#[tokio::test]
async fn a_long_conversation_is_trimmed_with_a_summary() {
    let stage = Stage::with(|config| config.history.tokens = 120).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    let long = "blah ".repeat(20);
    asks(&stage, &mut ada, &format!("number 0 {long}"), "Answer number 0.").await;
    asks(&stage, &mut ada, &format!("number 1 {long}"), "Answer number 1.").await;
    // Two exchanges of about 45 tokens fit. With the third, a summary is requested in the background.
    stage.model.queue_replies([
        ScriptedReply::text("Answer number 2."),
        ScriptedReply::text("They counted, and their cat is Minka."),
    ]);
    ada.say(&format!("hey toolyard number 2 {long}")).await;
    ada.sees("Answer number 2.").await;
    let asked = stage.model.wait_requests(4).await;
    let summary = asked.iter().find(|asked| {
        asked.body["messages"][0]["content"].to_string().contains("You shorten a conversation")
    });
    assert!(summary.unwrap().body["messages"][1]["content"].to_string().contains("number 0"));
    let mut tries = 0;
    loop {
        asks(&stage, &mut ada, &format!("what is my cat called {tries}"), &format!("Minka {tries}.")).await;
        let system = stage
            .model
            .requests()
            .into_iter()
            .rev()
            .find(|asked| !asked.body["tools"].is_null())
            .map(|asked| asked.body["messages"][0]["content"].to_string())
            .unwrap();
        if system.contains("their cat is Minka") {
            return;
        }
        tries += 1;
        assert!(tries < 20, "the summary was never read: {system}");
    }
}
