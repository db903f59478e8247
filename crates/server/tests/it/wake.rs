//! Waking apps: once, by event, and without taking the screen from the user.

use std::sync::Arc;

use futures_util::SinkExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use toolyard_testkit::{AppBehavior, FakeApp, OnWebhook};

use crate::platform::{ECHO, Platform, echo_tool};

const MAP: &str = "com.example.map";

fn session_app() -> serde_json::Value {
    json!({ "kind": "session", "permissions": [{ "type": "MICROPHONE" }] })
}

#[tokio::test]
async fn a_sleeping_app_is_started_for_the_call() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let webhook = &app.requests("/webhook")[0].body;
    assert_eq!((&webhook["type"], &webhook["userId"]), (&json!("session_request"), &json!("ada")));
    let url = p.url.replace("http", "ws") + "/app-ws";
    for field in ["mentraOSWebsocketUrl", "augmentOSWebsocketUrl", "websocketUrl"] {
        assert_eq!(webhook[field], json!(url));
    }
    assert_eq!(app.requests("/tool")[0].body["context"]["activatedForTool"], true);

    let mut session = app.next_session().await;
    let ack = session.receive("tpa_connection_ack").await.unwrap();
    assert_eq!((&ack["userId"], &ack["sessionId"]), (&json!("ada"), &webhook["sessionId"]));
    assert_eq!(session.receive("device_state_update").await.unwrap()["fullSnapshot"], true);

    p.call_echo().await.expect(200);
    assert_eq!(app.requests("/tool")[1].body["context"]["activatedForTool"], false);
    assert_eq!(app.requests("/webhook").len(), 1);
    let running = p.user("ada").get("/api/session").await.expect(200).json();
    assert_eq!(
        running["apps"],
        json!([{ "packageName": ECHO, "state": "RUNNING", "woken": true, "foreground": false, "subscriptions": [] }])
    );
}

#[tokio::test]
async fn a_hundred_concurrent_calls_wake_an_app_once() {
    let p = Arc::new(Platform::start().await);
    let (app, _device) = p.echo_like(session_app()).await;
    let calls = (0..100).map(|_| async { p.call_echo().await.status.as_u16() });
    assert!(futures_util::future::join_all(calls).await.into_iter().all(|status| status == 200));
    assert_eq!((app.requests("/webhook").len(), app.requests("/tool").len()), (1, 100));
}

#[tokio::test]
async fn a_start_that_fails_fails_all_its_waiters_with_the_same_reason() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    let waits = async |ms: u64| {
        p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "wakeTimeoutMs": ms })).await.expect(200);
    };
    app.on_webhook(OnWebhook::Ignore);
    // Long enough for all of them to arrive, on a busy machine too.
    waits(1_000).await;
    let calls = (0..20).map(|_| p.call_echo());
    let answers = futures_util::future::join_all(calls).await;
    assert!(
        answers.iter().all(|answer| answer.status == 503 && answer.text == answers[0].text),
        "{answers:?}"
    );
    assert_eq!((app.requests("/webhook").len(), app.requests("/tool").len()), (1, 0));
    app.on_webhook(OnWebhook::Connect);
    waits(10_000).await;
    p.call_echo().await.expect(200);
}

#[tokio::test]
async fn an_app_that_stays_silent_after_its_ack_is_called_anyway() {
    let p = Platform::start().await;
    let app = FakeApp::start(ECHO).await;
    let created =
        p.register(&app, json!({ "packageName": ECHO, "kind": "session", "tools": [echo_tool()] })).await;
    app.on_webhook(OnWebhook::Ignore);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let _device = p.device("ada").await;
    let (call, _socket) = tokio::join!(p.call_echo(), async {
        let session = app.wait_requests("/webhook", 1).await[0].body["sessionId"].clone();
        let url = p.url.replace("http", "ws") + "/app-ws";
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        let init = json!({ "type": "tpa_connection_init", "sessionId": session, "packageName": ECHO,
            "apiKey": created["apiKey"] });
        socket.send(Message::text(init.to_string())).await.unwrap();
        // The socket is not read, so not even a WebSocket pong is sent.
        socket
    });
    call.expect(200);
}

#[tokio::test]
async fn a_stop_during_a_start_wins() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    app.on_webhook(OnWebhook::Ignore);
    let (call, stop) = tokio::join!(p.call_echo(), async {
        app.wait_requests("/webhook", 1).await;
        p.user("ada").post(&format!("/api/session/apps/{ECHO}/stop"), &json!({})).await
    });
    stop.expect(204);
    assert_eq!(call.expect(503).code(), "APP_NOT_AVAILABLE");
    // A connection of the app is too late now: it is told to close.
    let session = app.requests("/webhook")[0].body["sessionId"].as_str().unwrap().to_owned();
    let url = p.url.replace("http", "ws") + "/app-ws";
    assert_eq!(app.connect_socket(&url, &session).await.wait_closed().await, Some(1000));
}

#[tokio::test]
async fn a_woken_app_shows_beside_the_app_in_front_and_then_the_front_returns() {
    let p = Platform::with(|config| config.sessions.overlay_ms = 150).await;
    let (echo, mut device) = p.echo_like(session_app()).await;
    let map = FakeApp::start(MAP).await;
    p.register(&map, json!({ "packageName": MAP, "appType": "standard" })).await;
    p.user("ada").put(&format!("/api/installs/{MAP}"), &json!({})).await.expect(204);
    p.user("ada").post(&format!("/api/session/apps/{MAP}/start"), &json!({})).await.expect(204);
    let front = map.next_session().await;
    let draws = |text: &str| json!({ "type": "display_event", "sessionId": "", "view": "main", "layout": { "layoutType": "text_wall", "text": text } });
    front.send(draws("the map")).await;
    assert_eq!(device.sees().await, "the map");

    p.call_echo().await.expect(200);
    let woken = echo.next_session().await;
    woken.send(draws("the list")).await;
    assert_eq!(device.sees().await, "the list");
    assert_eq!(device.sees().await, "the map", "the picture of the front returns by itself");
    let apps = p.user("ada").get("/api/session").await.json()["apps"].clone();
    assert_eq!(
        (&apps[1]["packageName"], &apps[1]["foreground"], &apps[1]["state"]),
        (&json!(MAP), &json!(true), &json!("RUNNING"))
    );
}

#[tokio::test]
async fn a_woken_app_that_keeps_drawing_still_gives_the_screen_back() {
    let p = Platform::with(|config| {
        config.sessions.overlay_ms = 150;
        // It must fail by the display rule, not by the message rate.
        (config.sessions.app_messages_per_s, config.sessions.app_message_burst) = (1_000_000, 1_000_000);
    })
    .await;
    let (echo, mut device) = p.echo_like(session_app()).await;
    let map = FakeApp::start(MAP).await;
    p.register(&map, json!({ "packageName": MAP, "appType": "standard" })).await;
    p.user("ada").put(&format!("/api/installs/{MAP}"), &json!({})).await.expect(204);
    p.user("ada").post(&format!("/api/session/apps/{MAP}/start"), &json!({})).await.expect(204);
    let front = map.next_session().await;
    let draws = |text: &str| json!({ "type": "display_event", "sessionId": "", "view": "main", "layout": { "layoutType": "text_wall", "text": text }, "durationMs": 60_000 });
    front.send(draws("the map")).await;
    assert_eq!(device.sees().await, "the map");
    p.call_echo().await.expect(200);
    let mut woken = echo.next_session().await;
    woken.send(draws("the list")).await;
    assert_eq!(device.sees().await, "the list");
    // It draws while it is visible, and longer.
    let mut drawn = 0;
    let returned = loop {
        woken.send(draws("the list")).await;
        // The platform has processed the display when it confirms the message after it.
        woken.send(json!({ "type": "subscription_update", "subscriptions": ["location_update"] })).await;
        woken.receive("permission_error").await.unwrap();
        drawn += 1;
        tokio::select! {
            biased;
            seen = device.sees() => if seen != "the list" { break seen },
            () = tokio::task::yield_now() => {}
        }
        assert!(drawn < 10_000, "it kept the screen");
    };
    assert_eq!(returned, "the map");
    woken.send(draws("still here")).await;
    woken.send(json!({ "type": "subscription_update", "subscriptions": ["location_update"] })).await;
    woken.receive("permission_error").await.unwrap();
    front.send(draws("the map moves")).await;
    assert_eq!(device.sees().await, "the map moves", "and it does not get it again by itself");
    p.call_echo().await.expect(200);
    woken.send(draws("another call")).await;
    assert_eq!(device.sees().await, "another call");
}

#[tokio::test]
async fn a_woken_app_gets_no_private_data_until_the_user_opens_it() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    let subscriptions = json!(["transcription:en-US", "button_press", "location_update"]);
    session.send(json!({ "type": "subscription_update", "subscriptions": subscriptions })).await;
    let refused = session.receive("permission_error").await.unwrap();
    assert_eq!(refused["details"][0]["stream"], "location_update");

    let speech = |text: &str| json!({ "type": "local_transcription", "text": text, "isFinal": true });
    device.say(speech("a secret")).await;
    device.say(json!({ "type": "button_press", "buttonId": "main", "pressType": "short" })).await;
    let heard = session.receive("data_stream").await.unwrap();
    assert_eq!(heard["streamType"], "button_press", "speech was not relayed");

    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    assert_eq!(device.hear("microphone_state_change").await.unwrap()["isMicrophoneEnabled"], true);
    device.say(speech("hello")).await;
    let heard = session.receive("data_stream").await.unwrap();
    assert_eq!(
        (&heard["streamType"], &heard["data"]["text"]),
        (&json!("transcription:en-US"), &json!("hello"))
    );
}

#[tokio::test]
async fn an_idle_woken_app_is_stopped_and_an_opened_one_is_not() {
    let p = Platform::with(|config| {
        config.sessions.idle_stop_s = 0;
        config.sessions.sweep_ms = 20;
    })
    .await;
    let (app, _device) = p.echo_like(session_app()).await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    let stop = session.receive("app_stopped").await.unwrap();
    assert_eq!(stop["reason"], "system_stop");
    assert_eq!(session.wait_closed().await, Some(1000));
    let stopped = &app.wait_requests("/webhook", 2).await[1].body;
    assert_eq!((&stopped["type"], &stopped["reason"]), (&json!("stop_request"), &json!("system_stop")));
}

#[tokio::test]
async fn an_app_that_does_not_fit_the_device_does_not_start() {
    let p = Platform::start().await;
    let needs =
        json!({ "kind": "session", "hardwareRequirements": [{ "type": "SPEAKER", "level": "REQUIRED" }] });
    let (app, mut device) = p.echo_like(needs).await;
    device.wears("Mentra Live").await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    // Another device stops apps that are no longer compatible.
    device.wears("Even Realities G1").await;
    let update = session.receive("capabilities_update").await.unwrap();
    assert_eq!(update["modelName"], "Even Realities G1");
    assert_eq!(session.wait_closed().await, Some(1000));
    let answer = p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(503);
    assert!(answer.text.contains("needs a speaker"), "{}", answer.text);
}

#[tokio::test]
async fn the_control_string_counts_only_while_the_socket_is_open() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(session_app()).await;
    app.set_behavior(AppBehavior::reply("GIVE_APP_CONTROL_OF_TOOL_RESPONSE"));
    let silent = json!({ "success": true, "mentraExtensions": { "suppressVoiceResponse": true } });
    assert_eq!(p.call_echo().await.expect(200).json(), silent);

    let direct = Platform::start().await;
    let (app, _device) = direct.echo().await;
    app.set_behavior(AppBehavior::reply("GIVE_APP_CONTROL_OF_TOOL_RESPONSE"));
    let spoken = direct.call_echo().await.expect(200).json();
    assert_eq!(
        (&spoken["mentraExtensions"], spoken["content"].is_string()),
        (&serde_json::Value::Null, true)
    );
}

#[tokio::test]
async fn opening_another_app_of_the_screen_stops_the_one_before() {
    let p = Platform::start().await;
    let mut device = p.device("ada").await;
    let mut apps = Vec::new();
    for package in [MAP, ECHO] {
        let app = FakeApp::start(package).await;
        p.register(&app, json!({ "packageName": package, "appType": "standard", "tools": [echo_tool()] }))
            .await;
        p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        apps.push(app);
    }
    device.say(json!({ "type": "start_app", "packageName": MAP })).await;
    assert_eq!(device.hear("app_started").await.unwrap()["packageName"], MAP);
    device.say(json!({ "type": "start_app", "packageName": ECHO })).await;
    assert_eq!(device.hear("app_stopped").await.unwrap()["packageName"], MAP);
    assert_eq!(device.hear("app_started").await.unwrap()["packageName"], ECHO);
    assert_eq!(apps[0].next_session().await.receive("app_stopped").await.unwrap()["reason"], "user_disabled");
    device.say(json!({ "type": "stop_app", "packageName": ECHO })).await;
    assert_eq!(device.hear("app_stopped").await.unwrap()["packageName"], ECHO);
}
