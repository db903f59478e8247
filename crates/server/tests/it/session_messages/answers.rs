//! Responses of the device go to the requesting app, and no other app can get them.

use serde_json::{Value, json};

use super::{Stage, Started, of_type};

const ASKS: &str = "com.example.asks";
const THIEF: &str = "com.example.thief";

/// A request, the device's response, and what the app receives.
fn requests() -> [(Value, Value, &'static str); 4] {
    [
        (
            json!({ "type": "audio_play_request", "requestId": "r1", "audioUrl": "https://x.example/a.mp3" }),
            json!({ "type": "audio_play_response", "requestId": "r1", "success": true, "duration": 1200 }),
            "audio_play_response",
        ),
        (
            json!({ "type": "rgb_led_control", "requestId": "r1", "action": "on" }),
            json!({ "type": "rgb_led_control_response", "requestId": "r1", "success": true }),
            "rgb_led_control_response",
        ),
        (
            json!({ "type": "photo_request", "requestId": "r1" }),
            json!({ "type": "photo_response", "requestId": "r1", "success": true, "photoUrl": "https://x.example/p.jpg" }),
            "photo_response",
        ),
        (
            json!({ "type": "location_poll_request", "correlationId": "r1" }),
            json!({ "type": "location_update", "correlationId": "r1", "lat": 1.0, "lng": 2.0 }),
            "data_stream",
        ),
    ]
}

#[tokio::test]
async fn a_response_goes_to_the_requesting_app_and_ids_cannot_be_hijacked() {
    let mut stage = Stage::new().await;
    let (_asks, mut asks) = stage.app(ASKS, &["ALL"], Started::Opened).await;
    let (_thief, mut thief) = stage.app(THIEF, &["ALL"], Started::Opened).await;
    stage
        .exchange(
            &mut thief,
            json!({ "type": "subscription_update", "subscriptions": ["*", "location_update"] }),
        )
        .await;
    stage.settle(&mut asks).await;
    for (request, answer, heard) in requests() {
        let (_, device) = stage.exchange(&mut asks, request.clone()).await;
        assert_eq!(device.len(), 1, "{request}");
        // The same id from another app: it does not reach the device, and does not redirect the response.
        let (_, device) = stage.exchange(&mut thief, request.clone()).await;
        assert!(device.is_empty(), "{request}: {device:?}");
        stage.device.say(answer.clone()).await;
        stage.device.say(answer.clone()).await;
        asks.receive(heard).await.unwrap();
        stage.device.say(json!({ "type": "ping" })).await;
        stage.device.hear("pong").await.unwrap();
        let (app, _) = stage.settle(&mut thief).await;
        let stolen: Vec<_> = app
            .iter()
            .filter(|message| message["success"] == true || message["type"] == "data_stream")
            .collect();
        assert!(stolen.is_empty(), "{stolen:?}");
        let (app, _) = stage.settle(&mut asks).await;
        assert!(of_type(&app, heard).is_empty(), "an answer counts once: {app:?}");
    }
}

#[tokio::test]
async fn an_unrequested_response_goes_nowhere() {
    let mut stage = Stage::new().await;
    let (_thief, mut thief) = stage.app(THIEF, &["ALL"], Started::Opened).await;
    stage
        .exchange(
            &mut thief,
            json!({ "type": "subscription_update", "subscriptions": ["*", "location_update"] }),
        )
        .await;
    for (_, answer, _) in requests() {
        stage.device.say(answer).await;
    }
    stage.device.say(json!({ "type": "ping" })).await;
    stage.device.hear("pong").await.unwrap();
    let (app, _) = stage.settle(&mut thief).await;
    assert!(app.is_empty(), "{app:?}");
}

#[tokio::test]
async fn a_missing_led_is_reported_immediately() {
    let mut stage = Stage::new().await;
    stage.device.wears("Even Realities G1").await;
    let (_asks, mut asks) = stage.app(ASKS, &[], Started::Opened).await;
    stage.settle(&mut asks).await;
    let (app, device) = stage
        .exchange(&mut asks, json!({ "type": "rgb_led_control", "requestId": "l1", "action": "on" }))
        .await;
    assert!(device.is_empty(), "{device:?}");
    let answer = of_type(&app, "rgb_led_control_response")[0];
    assert_eq!(
        (&answer["success"], &answer["error"]),
        (&json!(false), &json!("Even Realities G1 has no light"))
    );
}

#[tokio::test]
async fn a_replaced_socket_is_ignored() {
    let mut stage = Stage::new().await;
    let (app, old) = stage.app(ASKS, &["ALL"], Started::Opened).await;
    let url = stage.p.url.replace("http", "ws") + "/app-ws";
    let mut new = app.connect_socket(&url, &old.session).await;
    new.receive("tpa_connection_ack").await.unwrap();
    for (request, ..) in requests() {
        old.send(request).await;
    }
    old.send(json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": "old" } }))
        .await;
    // The server has processed the end of the old socket when it confirms its close.
    drop(old);
    let (_, device) = stage.settle(&mut new).await;
    let asked: Vec<_> = device.iter().filter(|message| message.get("requestId").is_some()).collect();
    assert!(asked.is_empty() && of_type(&device, "display_event").is_empty(), "{device:?}");
}
