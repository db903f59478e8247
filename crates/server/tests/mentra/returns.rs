//! Stopping for good, and coming back after a restart of the server.

use serde_json::json;

use crate::stage::{ADA, story, story_like};

#[tokio::test]
async fn a_stop_is_clean_and_a_later_call_starts_the_app_anew() {
    story(async |mut stage| {
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        let first = stage.app.hears("session").await;
        stage.stop_app().await;
        assert_eq!(stage.app.hears("stop").await["reason"], "user_disabled");
        assert_eq!(stage.running().await, json!([]));
        assert_eq!(stage.app.sessions().await, 0, "the SDK has let go of it");

        stage.call("add_todo", json!({ "item": "call Bob" })).await.expect(200);
        let second = stage.app.hears("session").await;
        assert_ne!(first["sessionId"], second["sessionId"]);
        assert_eq!((stage.app.count("reconnected"), stage.app.count("stop")), (0, 1));
    })
    .await;
}

#[tokio::test]
async fn an_app_that_forgets_to_stop_is_ended_by_its_socket() {
    story_like(json!({}), async |mut stage| {
        stage.run_app_with(&[("FORGETS_TO_STOP", "1")]).await;
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        stage.app.hears("session").await;
        stage.stop_app().await;
        assert_eq!(stage.app.hears("stop").await["reason"], "user_disabled");
        assert_eq!(stage.app.hears("stop").await["reason"], "Clean disconnect: App stopped");
        assert_eq!(stage.app.hears("disconnected").await["code"], 1000);
        assert_eq!(stage.app.sessions().await, 0);
    })
    .await;
}

#[tokio::test]
async fn after_a_restart_of_the_server_the_app_comes_back_by_itself() {
    story(async |mut stage| {
        stage.open_app().await;
        let session = stage.app.hears("session").await;
        stage.device_shows("ready").await;

        drop(stage.device);
        stage.p = stage.p.restart().await;
        assert_eq!(stage.app.hears("disconnected").await["code"], 1012);
        assert_eq!(stage.app.hears("reconnected").await["sessionId"], session["sessionId"]);
        stage.device = stage.p.device(ADA).await;
        // Its subscriptions came with it, and that the user had opened it was not forgotten.
        stage.device.hear("microphone_state_change").await.unwrap();
        let answer = stage.call("get_todos", json!({})).await.expect(200);
        assert_eq!(answer.json()["mentraExtensions"]["suppressVoiceResponse"], true);
        stage.device_shows("No to-dos.").await;
        stage
            .device
            .say(json!({ "type": "local_transcription", "text": "hello again", "isFinal": true }))
            .await;
        assert_eq!(stage.app.hears("transcription").await["text"], "hello again");
        assert_eq!((stage.app.count("session"), stage.app.count("stop")), (1, 0), "nothing was started anew");
    })
    .await;
}

#[tokio::test]
async fn a_call_right_after_a_restart_waits_for_the_app() {
    story(async |mut stage| {
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        stage.app.hears("session").await;
        // The device does not answer the goodbye, and the server is back in time all the same.
        stage.p = stage.p.restart().await;
        stage.device = stage.p.device(ADA).await;
        let answer = stage.call("get_todos", json!({})).await.expect(200);
        assert_eq!(answer.json()["mentraExtensions"]["suppressVoiceResponse"], true);
        stage.device_shows("1. buy milk").await;
        assert_eq!((stage.app.count("session"), stage.app.count("reconnected")), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn an_app_that_gave_up_on_the_server_is_started_anew() {
    story(async |mut stage| {
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        stage.app.hears("session").await;
        drop(stage.device);
        let (config, folder, clock) = stage.p.stop().await;
        assert_eq!(
            stage.app.hears("stop").await["reason"],
            "Connection permanently lost: Maximum reconnection attempts exceeded"
        );
        stage.p = crate::platform::Platform::run(config, folder, clock).await;
        stage.device = stage.p.device(ADA).await;
        stage.call("get_todos", json!({})).await.expect(200);
        stage.device_shows("1. buy milk").await;
        assert_eq!(stage.app.count("session"), 2);
    })
    .await;
}
