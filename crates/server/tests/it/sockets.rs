//! The sockets of apps: disconnects, reconnects, two sockets at once, and messages.

use serde_json::json;
use toolyard_testkit::{AppBehavior, OnWebhook};

use crate::platform::{ECHO, Platform};

fn session_app() -> serde_json::Value {
    json!({ "kind": "session", "permissions": [{ "type": "ALL" }] })
}

fn app_ws(p: &Platform) -> String {
    p.url.replace("http", "ws") + "/app-ws"
}

#[tokio::test]
async fn a_disconnected_app_reconnects_and_a_call_waits_for_it() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let session = app.next_session().await;
    let id = session.session.clone();
    session.disconnect();
    // The call waits during the gap; the app reconnects with its old session.
    let url = app_ws(&p);
    let (answer, mut back) = tokio::join!(p.call_echo(), app.connect_socket(&url, &id));
    answer.expect(200);
    assert!(back.receive("tpa_connection_ack").await.is_some());
    assert_eq!(app.requests("/webhook").len(), 1, "no new start");
}

#[tokio::test]
async fn a_woken_app_that_does_not_reconnect_ends_and_can_be_woken_again() {
    let p = Platform::with(|config| config.sessions.reconnect_window_ms = 50).await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    app.next_session().await.disconnect();
    assert_eq!(device.hear("app_stopped").await.unwrap()["packageName"], ECHO);
    p.call_echo().await.expect(200);
    assert_eq!(app.requests("/webhook").len(), 2);
}

#[tokio::test]
async fn an_opened_app_that_does_not_reconnect_gets_another_webhook() {
    let p = Platform::with(|config| config.sessions.reconnect_window_ms = 50).await;
    let (app, _device) = p.echo_like(session_app()).await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    app.next_session().await.disconnect();
    let again = app.next_session().await;
    assert_eq!(app.requests("/webhook").len(), 2);
    assert_eq!(app.requests("/webhook")[0].body["sessionId"], json!(again.session));
}

#[tokio::test]
async fn an_app_that_released_its_session_gets_no_webhook() {
    let p = Platform::with(|config| config.sessions.reconnect_window_ms = 60_000).await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let session = app.next_session().await;
    session.send(json!({ "type": "ownership_release", "reason": "clean_shutdown" })).await;
    session
        .send(json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": "bye" } }))
        .await;
    assert_eq!(device.sees().await, "bye");
    session.disconnect();
    assert_eq!(device.hear("app_stopped").await.unwrap()["packageName"], ECHO);
    assert_eq!(app.requests("/webhook").len(), 1);
}

#[tokio::test]
async fn the_later_of_two_sockets_wins_and_the_end_of_the_first_is_ignored() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let first = app.next_session().await;
    let mut second = app.connect_socket(&app_ws(&p), &first.session).await;
    assert!(second.receive("tpa_connection_ack").await.is_some());
    first.disconnect();
    second
        .send(json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": "second" } }))
        .await;
    assert_eq!(device.sees().await, "second");
    p.call_echo().await.expect(200);
    assert_eq!(p.user("ada").get("/api/session").await.json()["apps"][0]["state"], "RUNNING");
    assert_eq!(app.requests("/webhook").len(), 1);
}

#[tokio::test]
async fn an_app_that_was_not_requested_is_told_to_close() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    assert_eq!(app.connect_socket(&app_ws(&p), "never-handed-out").await.wait_closed().await, Some(1000));
}

#[tokio::test]
async fn another_app_cannot_take_a_session() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let session = app.next_session().await;
    let thief = toolyard_testkit::FakeApp::start("com.example.thief").await;
    p.register(&thief, json!({ "packageName": "com.example.thief" })).await;
    assert_eq!(thief.connect_socket(&app_ws(&p), &session.session).await.wait_closed().await, Some(1008));
    assert_eq!(p.user("ada").get("/api/session").await.json()["apps"][0]["state"], "RUNNING");
}

#[tokio::test]
async fn subscriptions_are_replaced_and_an_early_empty_list_is_ignored() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let mut session = app.next_session().await;
    for list in [json!(["button_press", "transcription:auto"]), json!([])] {
        session.send(json!({ "type": "subscription_update", "subscriptions": list })).await;
    }
    session.send(json!({ "type": "no_such_message" })).await;
    session.send(json!({ "type": "subscription_update", "subscriptions": 5 })).await;
    session
        .send(json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": "ready" } }))
        .await;
    assert_eq!(device.sees().await, "ready", "nothing of that was fatal");
    device
        .say(json!({ "type": "local_transcription", "text": "hallo", "transcribeLanguage": "de-DE" }))
        .await;
    let heard = session.receive("data_stream").await.unwrap();
    assert_eq!(
        (&heard["streamType"], &heard["data"]["transcribeLanguage"]),
        (&json!("transcription:auto"), &json!("de-DE"))
    );
}

#[tokio::test]
async fn audio_goes_to_subscribed_apps() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let mut session = app.next_session().await;
    session.send(json!({ "type": "subscription_update", "subscriptions": ["audio_chunk"] })).await;
    device.hear("microphone_state_change").await.unwrap();
    device.send_sound(&[1, 2, 3]).await;
    loop {
        if let tokio_tungstenite::tungstenite::Message::Binary(sound) = session.incoming.recv().await.unwrap()
        {
            assert_eq!(&sound[..], [1, 2, 3]);
            break;
        }
    }
}

#[tokio::test]
async fn audio_requests_are_sent_to_the_device_and_its_response_is_returned() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    let address = p.url.replace("http", "https") + "/api/tts?text=buy+milk";
    let request = json!({ "type": "audio_play_request", "requestId": "r1", "audioUrl": address, "volume": 1,
        "stopOtherAudio": true, "trackId": 2 });
    session.send(request).await;
    let play = device.hear("audio_play_request").await.unwrap();
    assert_eq!((&play["text"], &play["packageName"]), (&json!("buy milk"), &json!(ECHO)));
    let link = play["audioUrl"].as_str().unwrap();
    assert!(link.starts_with(&(p.url.clone() + "/api/tts?text=buy+milk&expires=")), "{link}");
    device
        .say(json!({ "type": "audio_play_response", "requestId": "r1", "success": true, "duration": 1200 }))
        .await;
    assert_eq!(session.receive("audio_play_response").await.unwrap()["duration"], 1200);
}

#[tokio::test]
async fn without_a_device_an_audio_request_fails_immediately() {
    let p = Platform::start().await;
    let (app, device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    drop(device);
    let mut session = app.next_session().await;
    while p.user("ada").get("/api/session").await.json()["deviceConnected"] == true {}
    session
        .send(
            json!({ "type": "audio_play_request", "requestId": "r1", "audioUrl": "https://x.example/a.mp3" }),
        )
        .await;
    let answer = session.receive("audio_play_response").await.unwrap();
    assert_eq!((&answer["success"], &answer["requestId"]), (&json!(false), &json!("r1")));
}

#[tokio::test]
async fn device_requests_name_the_app_and_a_location_goes_to_the_requesting_app() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let mut session = app.next_session().await;
    session.send(json!({ "type": "photo_request", "requestId": "p1", "size": "small" })).await;
    let photo = device.hear("photo_request").await.unwrap();
    assert_eq!(
        (&photo["requestId"], &photo["size"], &photo["packageName"]),
        (&json!("p1"), &json!("small"), &json!(ECHO))
    );
    session.send(json!({ "type": "location_poll_request", "correlationId": "c1", "accuracy": "high" })).await;
    assert_eq!(device.hear("request_single_location").await.unwrap()["correlationId"], "c1");
    device.say(json!({ "type": "location_update", "lat": 1.0, "lng": 2.0, "correlationId": "c1" })).await;
    let place = session.receive("data_stream").await.unwrap();
    assert_eq!((&place["streamType"], &place["data"]["lat"]), (&json!("location_update"), &json!(1.0)));
}

#[tokio::test]
async fn a_socket_that_closes_during_a_call_does_not_end_the_call() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "late" }),
    ]));
    let (answer, ()) = tokio::join!(p.call_echo(), async {
        app.wait_requests("/tool", 2).await;
        app.next_session().await.disconnect();
        app.let_line_through();
    });
    assert_eq!(answer.expect(200).json()["content"], "late");
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_socket() {
    let p = Platform::with(|config| config.server.socket_message_bytes = 10_000).await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let session = app.next_session().await;
    app.on_webhook(OnWebhook::Ignore);
    let huge = json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": "x".repeat(20_000) } });
    session.send(huge).await;
    while p.user("ada").get("/api/session").await.json()["apps"][0]["state"] != "LOST" {}
    device.say(json!({ "type": "ping" })).await;
    assert!(device.hear("pong").await.is_some());
}

#[tokio::test]
async fn settings_reach_the_running_app() {
    let p = Platform::start().await;
    let settings = json!([{ "type": "toggle", "key": "loud", "label": "Loud", "defaultValue": false }]);
    let (app, _device) = p.echo_like(json!({ "kind": "session", "settings": settings })).await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    let ack = session.receive("tpa_connection_ack").await.unwrap();
    assert_eq!(ack["settings"][0]["value"], false);
    let path = format!("/api/settings/apps/{ECHO}");
    let changed = p.user("ada").put(&path, &json!({ "loud": true })).await.expect(200).json();
    assert_eq!(changed["settings"][0]["value"], true);
    let update = session.receive("settings_update").await.unwrap();
    assert_eq!(
        (&update["settings"][0]["key"], &update["settings"][0]["value"]),
        (&json!("loud"), &json!(true))
    );
    assert_eq!(p.user("ada").get(&path).await.json()["settings"][0]["value"], true);
    p.user("ada").put(&path, &json!({ "loudness": true })).await.expect(400);

    let fetched =
        p.bearer(&session.session).get(&format!("/appsettings/user/{ECHO}")).await.expect(200).json();
    assert_eq!((&fetched["success"], &fetched["settings"][0]["value"]), (&json!(true), &json!(true)));
    p.bearer("nonsense").get(&format!("/appsettings/user/{ECHO}")).await.expect(401);
    let lower_case = format!("bearer {}", session.session);
    p.as_with(&[("authorization", &lower_case)]).get(&format!("/appsettings/user/{ECHO}")).await.expect(200);
}
