//! Slow and dead models and apps: reported in words that a user understands.

use serde_json::json;
use toolyard_assistant::config::ModelEndpointConfig;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::stage::{ECHO_ALIAS, Stage};

#[tokio::test]
async fn a_slow_model_is_acknowledged() {
    let stage = Stage::with(|config| config.answer.acknowledge_ms = 50).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([ScriptedReply::text("At last.").hold_first()]);
    ada.say("hey toolyard think").await;
    ada.sees("One moment ...").await;
    stage.model.release(1);
    ada.sees("At last.").await;
}

#[tokio::test]
async fn a_slow_app_is_acknowledged_by_name_in_the_users_language() {
    let stage = Stage::with(|config| config.answer.acknowledge_ms = 50).await;
    let echo = stage.echo("ada").await;
    echo.set_behavior(AppBehavior::Lines(vec![json!({ "success": true, "content": "fertig" })]));
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text("Fertig.")]);
    ada.say_in("de-DE", "Hallo Toolyard, frag das Echo").await;
    ada.sees("Einen Moment, ich frage Echo ...").await;
    echo.let_line_through();
    ada.sees("Fertig.").await;
}

#[tokio::test]
async fn a_dead_app_is_reported_by_the_model_or_the_assistant() {
    let stage = Stage::start().await;
    let echo = stage.echo("ada").await;
    drop(echo);
    let dead = json!({ "publicUrl": "http://127.0.0.1:1" });
    stage.ask(None, http::Method::PATCH, "/api/apps/com.example.echo", dead).await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage
        .model
        .queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text("Echo is asleep.")]);
    ada.say("hey toolyard echo").await;
    ada.sees("Echo is asleep.").await;
    let told = stage.conversation().last().unwrap().clone();
    assert!(told.contains("Echo does not answer right now.") && !told.contains("127.0.0.1"), "{told}");
    stage.model.queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text("")]);
    ada.say("hey toolyard echo again").await;
    ada.sees("Echo does not answer right now.").await;
}

#[tokio::test]
async fn a_tool_that_fails_says_why() {
    let stage = Stage::start().await;
    let echo = stage.echo("ada").await;
    let error = json!({ "code": "NO_MILK", "message": "There is no milk." });
    echo.set_behavior(AppBehavior::Json(200, json!({ "success": false, "error": error })));
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage
        .model
        .queue_replies([ScriptedReply::call(ECHO_ALIAS, json!({})), ScriptedReply::text("No milk, sorry.")]);
    ada.say("hey toolyard milk").await;
    ada.sees("No milk, sorry.").await;
    assert!(stage.conversation().last().unwrap().contains("There is no milk."));
}

#[tokio::test]
async fn a_dead_model_is_reported_without_technical_terms() {
    let stage = Stage::with(|config| {
        let gone =
            ModelEndpointConfig { url: "http://127.0.0.1:1/v1".to_owned(), ..ModelEndpointConfig::default() };
        config.models.insert("gone".to_owned(), gone);
        config.model = Some("gone/model".to_owned());
    })
    .await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    ada.say("hey toolyard hello").await;
    assert!(ada.sees("I cannot think right now").await.contains("my model does not answer"));
}

#[tokio::test]
async fn a_missing_model_is_reported_in_the_users_language() {
    let stage = Stage::with(|config| {
        config.models.clear();
        config.model = None;
    })
    .await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    ada.say_in("fr-FR", "Dis Toolyard, bonjour").await;
    ada.sees("Je n'ai pas de modèle").await;
}

#[tokio::test]
async fn a_failed_model_keeps_its_text_and_adds_a_notice() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Vuzix Z100").await;
    stage.model.queue_replies([ScriptedReply::text("It began well. But then").and_hold().and_cut()]);
    ada.say("hey toolyard tell me").await;
    ada.sees("It began well.").await;
    stage.model.release(1);
    assert!(ada.sees("I cannot think right now").await.contains("But then"));
}
