//! A model that calls by text, end to end.

use serde_json::json;
use toolyard_server::config::CallingMode;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{asks, chunks, one, reason, script, weather, with, with_model, words};

const CALL: &str =
    "<tool>\n{\"name\": \"com_example_echo__echo\", \"arguments\": {\"text\": \"hi\"}}\n</tool>";

async fn prompted() -> (crate::platform::Platform, toolyard_testkit::model::ScriptedModel) {
    with_model(|config| {
        config.models.get_mut("local").unwrap().calling = Some(CallingMode::Prompted);
    })
    .await
}

#[tokio::test]
async fn text_becomes_a_call_and_its_result_a_text() {
    let (p, model) = prompted().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!("hello")));
    script(
        &model,
        [ScriptedReply::pieces(["Let me ", "see.\n<to", &CALL[3..]]), ScriptedReply::text("It said hello.")],
    );
    let told = chunks(&p.user("ada"), asks("echo hi")).await;
    assert_eq!(one(&told, "tool-input-available")["input"], json!({ "text": "hi" }));
    assert_eq!(one(&told, "tool-output-available")["output"], "hello");
    let said = words(&told);
    assert!(
        said.contains("Let me see.") && said.ends_with("It said hello.") && !said.contains("<tool"),
        "{said}"
    );
    let seen = model.requests();
    assert!(seen[0].body.get("tools").is_none(), "no tools in the way of the protocol");
    assert!(seen[0].body["messages"][0]["content"].as_str().unwrap().contains("com_example_echo__echo"));
    assert!(seen[1].body["messages"].to_string().contains("hello"));
    assert!(!seen[1].body["messages"].to_string().contains("\"role\":\"tool\""));
}

#[tokio::test]
async fn the_clients_tools_end_the_answer_here_too() {
    let (p, model) = prompted().await;
    script(
        &model,
        [ScriptedReply::text(
            "<tool>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool>",
        )],
    );
    let told = chunks(&p.user("ada"), with(asks("Oslo?"), json!({ "clientTools": [weather()] }))).await;
    let called = one(&told, "tool-input-available");
    assert_eq!((&called["toolName"], called.get("providerExecuted")), (&json!("weather"), None));
    assert_eq!(reason(&told), "tool-calls");
}

#[tokio::test]
async fn an_invalid_text_call_is_reported_to_the_model() {
    let (p, model) = prompted().await;
    let (app, _device) = p.echo().await;
    script(
        &model,
        [
            ScriptedReply::text(
                "<tool>\n{\"name\": \"com_example_echo__echo\", \"arguments\": {\"text\":\n</tool>",
            ),
            ScriptedReply::text("Sorry."),
        ],
    );
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!((app.requests("/tool").len(), words(&told).trim()), (0, "Sorry."));
    assert_eq!(model.requests().len(), 2);
}
