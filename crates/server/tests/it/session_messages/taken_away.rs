//! Removing a permission affects the running app.

use serde_json::json;

use super::{Stage, Started, of_type};

const APP: &str = "com.example.app";

#[tokio::test]
async fn a_removed_permission_ends_its_subscriptions() {
    let mut stage = Stage::new().await;
    let all = ["MICROPHONE", "CAMERA", "LOCATION", "READ_NOTIFICATIONS", "CALENDAR"];
    let (_app, mut session) = stage.app(APP, &all, Started::Opened).await;
    let streams = json!([
        "audio_chunk",
        "transcription:en-US",
        "VAD",
        "location_update",
        "phone_notification",
        "calendar_event",
        "photo_taken",
        "button_press",
        "*"
    ]);
    stage.exchange(&mut session, json!({ "type": "subscription_update", "subscriptions": streams })).await;
    stage
        .exchange(&mut session, json!({ "type": "rtmp_stream_request", "rtmpUrl": "rtmp://x.example/live" }))
        .await;

    stage.p.nobody().patch(&format!("/api/apps/{APP}"), &json!({ "permissions": [] })).await.expect(200);
    let told = session.receive("permission_error").await.unwrap();
    let dropped: Vec<_> =
        told["details"].as_array().unwrap().iter().map(|one| one["stream"].clone()).collect();
    assert_eq!(
        dropped,
        [
            "audio_chunk",
            "transcription:en-US",
            "VAD",
            "location_update",
            "phone_notification",
            "calendar_event",
            "photo_taken"
        ]
    );
    let heard = stage.device.collect_until(|message| message["type"] == "microphone_state_change").await;
    assert_eq!(heard.last().unwrap()["isMicrophoneEnabled"], false);
    assert_eq!(of_type(&heard, "stop_stream").len(), 1, "{heard:?}");

    for message in [
        json!({ "type": "local_transcription", "text": "a secret", "isFinal": true }),
        json!({ "type": "VAD", "status": true }),
        json!({ "type": "location_update", "lat": 1.0, "lng": 2.0 }),
        json!({ "type": "phone_notification", "notificationId": "n", "title": "t", "content": "c" }),
        json!({ "type": "calendar_event", "eventId": "e", "title": "t" }),
        json!({ "type": "photo_taken", "mimeType": "image/jpeg" }),
        json!({ "type": "button_press", "buttonId": "main", "pressType": "short" }),
    ] {
        stage.device.say(message).await;
    }
    assert_eq!(session.receive("data_stream").await.unwrap()["streamType"], "button_press");
    let (app, device) =
        stage.exchange(&mut session, json!({ "type": "photo_request", "requestId": "p1" })).await;
    assert!(device.is_empty(), "{device:?}");
    assert_eq!(of_type(&app, "permission_error")[0]["details"][0]["requiredPermission"], "CAMERA");
}

#[tokio::test]
async fn a_response_after_the_permission_was_removed_is_not_delivered() {
    let mut stage = Stage::new().await;
    let (_app, mut session) = stage.app(APP, &["LOCATION"], Started::Opened).await;
    stage.exchange(&mut session, json!({ "type": "location_poll_request", "correlationId": "c1" })).await;
    stage.p.nobody().patch(&format!("/api/apps/{APP}"), &json!({ "permissions": [] })).await.expect(200);
    stage
        .device
        .say(json!({ "type": "location_update", "correlationId": "c1", "lat": 1.0, "lng": 2.0 }))
        .await;
    stage.device.say(json!({ "type": "ping" })).await;
    stage.device.hear("pong").await.unwrap();
    let (app, _) = stage.settle(&mut session).await;
    assert!(of_type(&app, "data_stream").is_empty(), "{app:?}");
}
