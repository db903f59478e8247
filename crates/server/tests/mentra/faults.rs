//! The app is there, but not as it should be.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::stage::{story, story_like};

#[tokio::test]
async fn a_wrong_api_key_fails_the_call_at_once_and_the_right_one_works() {
    story_like(json!({}), async |mut stage| {
        stage.run_app_with(&[("MENTRAOS_API_KEY", "not-the-key")]).await;
        let begun = Instant::now();
        let refused = stage.call("get_todos", json!({})).await.expect(503);
        assert_eq!(refused.code(), "APP_NOT_AVAILABLE");
        assert!(refused.text.contains("wrong API key"), "{}", refused.text);
        // The SDK itself answers the webhook only after 5 s.
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert_eq!(stage.running().await, json!([]));
        assert_eq!((stage.app.count("session"), stage.app.count("tool")), (0, 0));

        stage.app.kill().await;
        stage.run_app().await;
        stage.call("get_todos", json!({})).await.expect(200);
    })
    .await;
}

#[tokio::test]
async fn an_app_that_is_killed_fails_the_next_call_and_works_again_once_it_is_back() {
    story(async |mut stage| {
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        stage.app.kill().await;
        while stage.running().await[0]["state"] != "LOST" {}
        let begun = Instant::now();
        let failed = stage.call("get_todos", json!({})).await.expect(503);
        assert_eq!(failed.code(), "APP_NOT_AVAILABLE");
        let error = failed.json()["error"].clone();
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with(
                "com.example.todo could not be started: its web server did not answer at http://"
            ) && message.contains("curl"),
            "{message}"
        );
        assert_eq!(error["retryable"], json!(true));
        // The time in which the SDK would have come back, and then one look at a closed port.
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        assert_eq!(stage.running().await, json!([]));

        stage.run_app().await;
        let answer = stage.call("get_todos", json!({})).await.expect(200);
        assert_eq!(answer.json()["mentraExtensions"]["suppressVoiceResponse"], true);
        stage.device_shows("No to-dos.").await;
    })
    .await;
}

#[tokio::test]
async fn an_app_that_the_user_has_open_and_that_is_started_again_is_asked_to_connect() {
    story(async |mut stage| {
        stage.open_app().await;
        stage.device_shows("ready").await;
        let first = stage.app.hears("session").await;
        stage.app.kill().await;
        stage.run_app().await;
        let second = stage.app.hears("session").await;
        assert_eq!(first["sessionId"], second["sessionId"]);
        stage.device_shows("ready").await;
        stage.device.say(json!({ "type": "local_transcription", "text": "hello", "isFinal": true })).await;
        assert_eq!(stage.app.hears("transcription").await["text"], "hello");
    })
    .await;
}
