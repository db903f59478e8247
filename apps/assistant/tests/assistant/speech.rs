//! Speech: on, off, and by the glasses.

use serde_json::json;
use toolyard_testkit::model::ScriptedReply;

use crate::stage::Stage;

#[tokio::test]
async fn glasses_with_a_speaker_speak_sentence_by_sentence() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Mentra Live").await;
    stage.model.queue_replies([ScriptedReply::pieces(["It is half past three. ", "And it"])
        .and_hold()
        .and_text(" rains.")]);
    ada.say("hey toolyard what time is it").await;
    assert_eq!(ada.spoken().await, "It is half past three.", "the rest is not written yet");
    stage.model.release(1);
    assert_eq!(ada.spoken().await, "And it rains.");
}

#[tokio::test]
async fn glasses_without_a_speaker_stay_silent_unless_the_user_wants_speech() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Even Realities G1").await;
    stage.model.set_default_reply(ScriptedReply::text("Half past three."));
    ada.say("hey toolyard what time is it").await;
    let happened = ada.until("I see no tools").await;
    assert!(happened.iter().all(|(kind, _)| kind == "shown"), "{happened:?}");
    stage.choose("ada", json!({ "speak": "on" })).await;
    ada.say("hey toolyard what time is it now").await;
    assert_eq!(ada.spoken().await, "Half past three.");
}

#[tokio::test]
async fn retention_off_stores_nothing() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Simulated Glasses").await;
    stage.choose("ada", json!({ "speak": "off" })).await;
    stage.model.set_default_reply(ScriptedReply::text("Half past three."));
    ada.say("hey toolyard what time is it").await;
    let happened = ada.until("I see no tools").await;
    assert!(happened.iter().all(|(kind, _)| kind == "shown"), "{happened:?}");
}

#[tokio::test]
async fn a_stop_stops_the_voice() {
    let stage = Stage::start().await;
    let mut ada = stage.user("ada", "Mentra Live").await;
    stage.model.queue_replies([ScriptedReply::pieces(["Once upon a time. ", "There"])
        .and_hold()
        .and_text(" was a king.")]);
    ada.say("hey toolyard tell me a story").await;
    ada.spoken().await;
    ada.say("stop").await;
    ada.hear("audio_stop_request").await;
    stage.model.wait_abandoned(1).await;
}
