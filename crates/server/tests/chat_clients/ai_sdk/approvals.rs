//! Approvals: what an app with the AI SDK shows before a call runs, and what it sends when the user has answered.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::{
    program::Program,
    stage::{ALIAS, ASKED_ABOUT, Access, ECHO, Stage},
};

#[tokio::test]
async fn versions_6_and_7_approve_and_deny() {
    for client in ["ai-6-strict", "ai-6", "ai-7-strict", "ai-7"] {
        let stage = Stage::start(Access::Token).await;
        stage.app.set_behavior(AppBehavior::reply("said"));
        let mut program = stage.program("ai-5.mjs", client).await;
        let approved = answer(&stage, &mut program, json!({ "approved": true })).await;
        let call = call_part(&approved);
        assert_eq!(
            (&call["state"], &call["output"]),
            (&json!("output-available"), &json!("said")),
            "{client}"
        );
        assert_eq!((stage.app.requests("/tool").len(), &approved["posts"]), (1, &json!(2)), "{client}");

        let no = json!({ "approved": false, "reason": "keep it to yourself" });
        let denied = answer(&stage, &mut program, no).await;
        assert_eq!(call_part(&denied)["state"], "output-denied", "{client}");
        assert_eq!((stage.app.requests("/tool").len(), &denied["posts"]), (1, &json!(2)), "{client}");
        let read = stage.model.requests().last().unwrap().body["messages"].to_string();
        assert!(read.contains("keep it to yourself"), "{client}: {read}");
        program.ends().await;
        stage.end().await;
    }
}

#[tokio::test]
async fn version_5_gets_text_with_the_page_to_answer() {
    for client in ["ai-5-strict", "ai-5"] {
        let stage = Stage::start(Access::Token).await;
        let mut program = stage.program("ai-5.mjs", client).await;
        script(&stage);
        let shown = program.does("ask", json!({ "messages": [{ "text": "say it" }] })).await;
        assert_eq!((&shown["status"], &shown["posts"]), (&json!("ready"), &json!(1)), "{client}: {shown}");
        let call = call_part(&shown);
        assert!(call["errorText"].as_str().unwrap().contains("/console/approvals/"), "{client}: {call}");
        assert_eq!(stage.app.requests("/tool").len(), 0, "{client}");
        program.ends().await;
        stage.end().await;
    }
}

/// A chat in which the user is asked and gives this answer, and what is on the screen then.
async fn answer(stage: &Stage, program: &mut Program, answer: Value) -> Value {
    let before = stage.app.requests("/tool").len();
    script(stage);
    let order = json!({ "text": "say it", "body": { "approvals": true }, "answer": answer });
    program.begins("approve", order).await;
    let asked = program.says("asked").await;
    assert_eq!((&asked["status"], &asked["error"]), (&json!("ready"), &Value::Null), "{asked}");
    assert_eq!(call_part(&asked)["state"], "approval-requested", "{asked}");
    let parts = asked["messages"][1]["parts"].as_array().unwrap();
    let data = &parts.iter().find(|part| part["type"] == "data-approval").unwrap()["data"];
    assert_eq!((&data["name"], &data["summary"]["lines"][0]["value"]), (&json!(ECHO), &json!(ASKED_ABOUT)));
    assert_eq!(stage.app.requests("/tool").len(), before, "nothing ran yet");
    program.go_on().await;
    let shown = program.says("approve").await;
    assert_eq!((&shown["status"], &shown["error"]), (&json!("ready"), &Value::Null), "{shown}");
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2, "the answer continues: {shown}");
    assert!(shown["messages"][1]["parts"].to_string().contains("That is all."), "{shown}");
    shown
}

fn script(stage: &Stage) {
    let call = ScriptedReply::call(ALIAS, json!({ "text": ASKED_ABOUT }));
    stage.model.queue_replies([call, ScriptedReply::text("That is all.")]);
}

/// The call on the screen.
fn call_part(shown: &Value) -> &Value {
    let parts = shown["messages"][1]["parts"].as_array().unwrap();
    parts.iter().find(|part| part["type"] == format!("tool-{ALIAS}")).unwrap_or_else(|| panic!("{shown}"))
}
