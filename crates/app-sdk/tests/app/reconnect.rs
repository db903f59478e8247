//! Connections that break.

use std::time::Duration;

use serde_json::json;
use toolyard_app_sdk::{AppLimits, EndReason, MAX_MESSAGE_BYTES, SessionConnection, SessionError};

use crate::{
    client::ADA,
    fixture::{TestApp, builder, hooked, soon},
    platform::Platform,
};

#[tokio::test]
async fn a_lost_connection_is_reopened_in_the_same_session() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let mut socket = app.open(&mut platform).await;
    let session = soon(hooks.started.recv()).await.unwrap();
    let mut presses = session.on_button_press().unwrap();
    socket.hear("subscription_update").await;
    let _heard = session.on_transcription("de-DE").unwrap();
    socket.hear("subscription_update").await;
    let mut connection = session.watch_connection();

    socket.close(1011, "internal error").await;
    soon(connection.wait_for(|now| *now == SessionConnection::Lost)).await.unwrap();
    // While disconnected nothing can be shown, so there is no session.
    let user = ADA.parse().unwrap();
    assert!(app.app.session_for(&user).is_none());
    assert_eq!(session.show_text_wall("x").await.unwrap_err(), SessionError::NotConnected);

    let mut socket = platform.accept().await;
    assert_eq!(socket.hear("tpa_connection_init").await["sessionId"], "s-1");
    let glasses = json!({ "modelName": "Mentra Live" });
    socket.say(&json!({ "type": "tpa_connection_ack", "capabilities": glasses })).await;
    let update = socket.hear("subscription_update").await;
    assert_eq!(update["subscriptions"], json!(["button_press", "transcription:de-DE"]));
    assert_eq!(session.connection(), SessionConnection::Connected);
    assert_eq!(session.capabilities().unwrap().model_name, "Mentra Live");
    assert!(app.app.session_for(&user).is_some());
    socket
        .say(&json!({ "type": "data_stream", "streamType": "button_press", "data": { "buttonId": "x" } }))
        .await;
    assert_eq!(soon(presses.next()).await.unwrap().button_id, "x");
    session.show_text_wall("back").await.unwrap();
    socket.hear("display_event").await;
    // Neither hook ran again.
    assert!(hooks.started.try_recv().is_err() && hooks.stopped.try_recv().is_err());
}

#[tokio::test]
async fn a_connection_that_cannot_be_reopened_ends_the_session() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let socket = app.open(&mut platform).await;
    drop(socket);
    // Two attempts, as configured by the fixture; both are dropped before the ack.
    for _ in 0..2 {
        drop(platform.accept().await);
    }
    assert_eq!(soon(hooks.stopped.recv()).await, Some(EndReason::ConnectionLost));
    assert!(platform.is_alone());
}

#[tokio::test]
async fn a_refusal_ends_reconnecting() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    app.open(&mut platform).await.close(1012, "restart").await;
    let mut socket = platform.accept().await;
    socket.hear("tpa_connection_init").await;
    let gone =
        json!({ "type": "tpa_connection_error", "code": "SESSION_NOT_FOUND", "message": "start me anew" });
    socket.say(&gone).await;
    let reason = EndReason::Refused("SESSION_NOT_FOUND: start me anew".to_owned());
    assert_eq!(soon(hooks.stopped.recv()).await, Some(reason));
    assert!(platform.is_alone());
}

#[tokio::test]
async fn a_silent_platform_is_a_lost_connection() {
    let mut platform = Platform::start().await;
    let limits = AppLimits {
        ping_every: Duration::from_millis(50),
        reconnect_after: vec![Duration::from_millis(10)],
        ..AppLimits::default()
    };
    let app = TestApp::start(builder().server(platform.url()).limits(limits)).await;
    // Held and not read: it answers no ping.
    let _silent = app.open(&mut platform).await;
    platform.welcome().await;
}

#[tokio::test]
async fn a_new_request_replaces_a_lost_session() {
    let mut platform = Platform::start().await;
    let limits = AppLimits { reconnect_after: vec![Duration::from_secs(3600)], ..AppLimits::default() };
    let (app, mut hooks) = hooked(builder().server(platform.url()).limits(limits));
    let app = TestApp::start(app).await;
    let socket = app.open(&mut platform).await;
    let session = soon(hooks.started.recv()).await.unwrap();
    let mut connection = session.watch_connection();
    drop(socket);
    soon(connection.wait_for(|now| *now == SessionConnection::Lost)).await.unwrap();
    app.open(&mut platform).await;
    assert_eq!(soon(hooks.stopped.recv()).await, Some(EndReason::Replaced));
}

#[tokio::test]
async fn a_message_over_the_limit_closes_only_the_connection() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let mut socket = app.open(&mut platform).await;
    let session = soon(hooks.started.recv()).await.unwrap();
    let mut settings = session.watch_settings();
    let message = |bytes: usize| {
        let filled = |text: &str| {
            let list = json!([{ "key": "text", "value": text }]);
            json!({ "type": "settings_update", "packageName": "com.example.todo", "settings": list })
        };
        filled(&"x".repeat(bytes - filled("").to_string().len()))
    };
    socket.say(&message(MAX_MESSAGE_BYTES)).await;
    soon(settings.changed()).await.unwrap();
    assert!(session.settings().get::<String>("text").is_some());
    socket.try_say(&message(MAX_MESSAGE_BYTES + 1)).await;
    platform.welcome().await;
}

#[tokio::test]
async fn a_platform_that_does_not_read_is_a_lost_connection() {
    let mut platform = Platform::start().await;
    let limits = AppLimits {
        send_wait: Duration::from_millis(100),
        reconnect_after: vec![Duration::from_millis(10)],
        ..AppLimits::default()
    };
    let (app, mut hooks) = hooked(builder().server(platform.url()).limits(limits));
    let app = TestApp::start(app).await;
    // Held and not read, until nothing more fits into it.
    let _stuck = app.open(&mut platform).await;
    let session = soon(hooks.started.recv()).await.unwrap();
    let text = "x".repeat(512 * 1024);
    soon(async { while session.show_text_wall(&text).await.is_ok() {} }).await;
    platform.welcome().await;
}
