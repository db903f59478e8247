//! A running app: what it hears, shows, keeps and says.

use serde_json::json;

use crate::stage::{ADA, TODO, story};

#[tokio::test]
async fn an_app_that_the_user_opened_hears_speech_and_buttons_and_shows_text() {
    story(async |mut stage| {
        stage.open_app().await;
        stage.device.hear("microphone_state_change").await.unwrap();
        // The app subscribes first and shows this last.
        stage.device_shows("ready").await;
        let speech =
            |text: &str, last: bool| json!({ "type": "local_transcription", "text": text, "isFinal": last });
        stage.device.say(speech("what is", false)).await;
        stage.device.say(speech("what is on my list", true)).await;
        assert_eq!(stage.app.hears("transcription").await["isFinal"], false);
        let heard = stage.app.hears("transcription").await;
        assert_eq!((&heard["text"], &heard["isFinal"]), (&json!("what is on my list"), &json!(true)));
        stage.device_shows("what is on my list").await;

        stage.device.say(json!({ "type": "button_press", "buttonId": "main", "pressType": "long" })).await;
        let pressed = stage.app.hears("button").await;
        assert_eq!((&pressed["buttonId"], &pressed["pressType"]), (&json!("main"), &json!("long")));
        assert_eq!((stage.app.count("denied"), stage.app.count("error")), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_woken_app_hears_speech_only_once_the_user_opens_it() {
    story(async |mut stage| {
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        stage.device_shows("ready").await;
        let speech = |text: &str| json!({ "type": "local_transcription", "text": text, "isFinal": true });
        stage.device.say(speech("a secret")).await;
        stage.device.say(json!({ "type": "button_press", "buttonId": "main", "pressType": "short" })).await;
        stage.app.hears("button").await;
        assert_eq!(stage.app.count("transcription"), 0);

        stage.open_app().await;
        stage.device.say(speech("hello")).await;
        assert_eq!(stage.app.hears("transcription").await["text"], "hello");
        assert_eq!(stage.app.count("session"), 1, "it was not started again");
    })
    .await;
}

#[tokio::test]
async fn what_an_app_stores_is_there_in_its_next_session() {
    story(async |mut stage| {
        assert_eq!(stage.call("recall", json!({})).await.expect(200).json()["content"], "Nothing");
        stage.call("remember", json!({ "text": "the blue door" })).await.expect(200);
        let app = stage.p.bearer(&format!("{TODO}:{}", stage.key));
        let stored = app.get(&format!("/api/sdk/simple-storage/{ADA}")).await.expect(200).json();
        assert_eq!(stored, json!({ "success": true, "data": { "note": "the blue door" } }));

        // A session has a cache of its own; the next one has to ask.
        stage.stop_app().await;
        stage.app.hears("stop").await;
        assert_eq!(stage.call("recall", json!({})).await.expect(200).json()["content"], "the blue door");
    })
    .await;
}

#[tokio::test]
async fn speech_goes_to_the_device_and_its_answer_back_to_the_app() {
    story(async |mut stage| {
        let call = stage.p.user(ADA);
        let tool = format!("{TODO}:speak");
        let (answer, ()) = tokio::join!(call.call(&tool, json!({ "text": "buy milk & eggs" })), async {
            let play = stage.device.hear("audio_play_request").await.unwrap();
            assert_eq!((&play["text"], &play["packageName"]), (&json!("buy milk & eggs"), &json!(TODO)));
            let link = play["audioUrl"].as_str().unwrap();
            assert!(link.starts_with(&format!("{}/api/tts?text=buy+milk+%26+eggs&expires=", stage.p.url)), "{link}");
            let played = json!({ "type": "audio_play_response", "requestId": play["requestId"], "success": true,
                "duration": 1200 });
            stage.device.say(played).await;
        });
        assert_eq!(answer.expect(200).json()["content"], "Spoken in 1200 ms");
        let spoken = stage.app.hears("spoken").await;
        assert_eq!((&spoken["success"], &spoken["duration"]), (&json!(true), &json!(1200)));
    })
    .await;
}

#[tokio::test]
async fn other_glasses_and_other_settings_reach_the_running_app() {
    story(async |mut stage| {
        stage.open_app().await;
        stage.app.hears("session").await;
        stage.device.wears("Mentra Live").await;
        let device = stage.app.hears("capabilities").await;
        assert_eq!((&device["modelName"], &device["hasSpeaker"]), (&json!("Mentra Live"), &json!(true)));

        let path = format!("/api/settings/apps/{TODO}");
        stage.ada().put(&path, &json!({ "loud": true })).await.expect(200);
        assert_eq!(stage.app.hears("setting").await["loud"], true);

        // The next session begins with them.
        stage.stop_app().await;
        stage.open_app().await;
        let session = stage.app.hears("session").await;
        assert_eq!((&session["modelName"], &session["loud"]), (&json!("Mentra Live"), &json!(true)));
        assert_eq!(stage.app.count("error"), 0);
    })
    .await;
}
