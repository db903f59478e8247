//! An app that floods the server: it is stopped, and neither the device nor other apps are affected.

use serde_json::json;

use super::{Stage, Started, of_type};
use crate::platform::Platform;

const FLOODS: &str = "com.example.floods";

#[tokio::test]
async fn an_app_that_floods_is_stopped_and_the_device_stays() {
    for message in [
        json!({ "type": "rgb_led_control", "requestId": "l", "action": "on" }),
        json!({ "type": "audio_play_request", "requestId": "a", "audioUrl": "https://x.example/a.mp3" }),
        json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": "x" } }),
        json!({ "type": "photo_request", "requestId": "p" }),
        json!({ "type": "no_such_message" }),
        json!("no message at all"),
    ] {
        let p = Platform::with(|config| {
            config.sessions.app_message_burst = 40;
            config.sessions.app_messages_per_s = 1;
        })
        .await;
        let mut stage = Stage::on(p).await;
        let (_app, mut floods) = stage.app(FLOODS, &[], Started::Opened).await;
        let (_other, mut calm) = stage.app("com.example.calm", &[], Started::Opened).await;
        for _ in 0..41 {
            floods.send(message.clone()).await;
        }
        assert_eq!(floods.receive("app_stopped").await.unwrap()["reason"], "error", "{message}");
        assert_eq!(floods.wait_closed().await, Some(1000), "{message}");
        stage.device.say(json!({ "type": "ping" })).await;
        assert!(stage.device.hear("pong").await.is_some(), "the device stays");
        stage.settle(&mut calm).await;
        let apps = stage.p.user("ada").get("/api/session").await.expect(200).json()["apps"].clone();
        let running: Vec<_> = apps.as_array().unwrap().iter().map(|app| app["packageName"].clone()).collect();
        assert!(running.contains(&json!("com.example.calm")), "{running:?}");
    }
}

#[tokio::test]
async fn a_slow_device_is_not_closed_for_what_an_app_asks_of_it() {
    const REQUESTS: usize = 1_200;
    let p = Platform::with(|config| {
        config.sessions.app_message_burst = 1_000_000;
        config.sessions.app_messages_per_s = 1_000_000;
        config.sessions.control_queue = 64;
    })
    .await;
    let mut stage = Stage::on(p).await;
    let (_app, mut floods) = stage.app(FLOODS, &["MICROPHONE"], Started::Opened).await;
    // The device does not read, and this is more than fits between it and the server.
    let address = format!("https://x.example/{}", "a".repeat(20_000));
    let (mut told, mut refused) = (0, 0);
    for n in 0..REQUESTS {
        floods
            .send(json!({ "type": "audio_play_request", "requestId": format!("r{n}"), "audioUrl": address }))
            .await;
        let hears = if n % 2 == 0 { json!(["audio_chunk"]) } else { json!(["button_press"]) };
        floods.send(json!({ "type": "subscription_update", "subscriptions": hears })).await;
        floods.send(json!({ "type": "ping" })).await;
        // Read the server's messages, so that the app itself is not the slow side.
        loop {
            let message = floods.incoming.recv().await.unwrap().into_text().unwrap_or_default();
            refused += usize::from(message.contains("audio_play_response"));
            if message.contains("\"pong\"") {
                break;
            }
        }
        told += 1;
    }
    assert_eq!(told, REQUESTS);
    assert!(refused > 0, "what the device cannot take is refused");
    stage.device.say(json!({ "type": "ping" })).await;
    let heard = stage.device.collect_until(|message| message["type"] == "pong").await;
    assert_eq!(of_type(&heard, "audio_play_request").len(), REQUESTS - refused, "what was taken arrived");
}
