//! Sessions from the first webhook on: display, speech, events, settings, and refused requests.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use toolyard_app_sdk::{
    AppLimits, EndReason, NoArguments, PressType, Session, SessionConnection, SessionError, ToolContext,
    create_tool,
};

use crate::{
    client::{ADA, json_of, post},
    fixture::{TestApp, builder, hooked, session_request, soon},
    platform::{Platform, Socket},
};

fn without(mut message: Value, members: &[&str]) -> Value {
    message.as_object_mut().unwrap().retain(|name, _| !members.contains(&name.as_str()));
    message
}

/// A session that is open, from all sides.
async fn opened() -> (Platform, TestApp, Socket, Session) {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let socket = app.open(&mut platform).await;
    let session = soon(hooks.started.recv()).await.unwrap();
    (platform, app, socket, session)
}

#[tokio::test]
async fn a_webhook_opens_a_session() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let request = session_request(&platform.socket_url());
    let welcome = async {
        let mut socket = platform.accept().await;
        let init = socket.hear("tpa_connection_init").await;
        let ack = json!({
            "type": "tpa_connection_ack",
            "settings": [{ "type": "toggle", "key": "loud", "defaultValue": false, "value": true }],
            "mentraosSettings": { "userTimezone": "Europe/London" },
            "capabilities": { "modelName": "Even Realities G1", "hasDisplay": true },
        });
        socket.say(&ack).await;
        (init, socket)
    };
    let (opened, (init, _socket)) = tokio::join!(app.webhook(&request), welcome);
    assert_eq!(opened, (StatusCode::OK, json!({ "status": "success" })));
    assert_eq!(
        without(init, &["timestamp"]),
        json!({
            "type": "tpa_connection_init", "sessionId": "s-1", "packageName": "com.example.todo", "apiKey": "the-key",
        })
    );

    let session = soon(hooks.started.recv()).await.unwrap();
    assert_eq!((session.user().as_str(), session.id().as_str()), (ADA, "s-1"));
    assert_eq!(session.settings().get::<bool>("loud"), Some(true));
    assert_eq!(session.settings().system::<String>("userTimezone").as_deref(), Some("Europe/London"));
    assert_eq!(session.capabilities().unwrap().model_name, "Even Realities G1");
    assert_eq!(session.connection(), SessionConnection::Connected);
    assert!(app.app.session_for(session.user()).is_some());
    let health = http::Request::get(app.at("/health"));
    let (_, health) = json_of(crate::client::send(health, "").await).await;
    assert_eq!(health, json!({ "status": "healthy", "app": "com.example.todo", "activeSessions": 1 }));
}

#[tokio::test]
async fn the_session_shows() {
    let (_platform, _app, mut socket, session) = opened().await;
    session.show_text_wall("one").await.unwrap();
    session.show_double_text_wall("top", "bottom").for_duration(Duration::from_secs(3)).await.unwrap();
    session.show_reference_card("title", "text").await.unwrap();
    session.clear_view().await.unwrap();
    for (layout, duration) in [
        (json!({ "layoutType": "text_wall", "text": "one" }), Value::Null),
        (json!({ "layoutType": "double_text_wall", "topText": "top", "bottomText": "bottom" }), json!(3000)),
        (json!({ "layoutType": "reference_card", "title": "title", "text": "text" }), Value::Null),
        (json!({ "layoutType": "clear_view" }), Value::Null),
    ] {
        let shown = socket.hear("display_event").await;
        assert_eq!((&shown["layout"], &shown["durationMs"]), (&layout, &duration));
        assert_eq!((&shown["view"], &shown["packageName"]), (&json!("main"), &json!("com.example.todo")));
    }
}

#[tokio::test]
async fn the_session_gets_events_of_its_subscriptions() {
    let (_platform, _app, mut socket, session) = opened().await;
    let mut heard = session.on_transcription("en-US").unwrap();
    let update = socket.hear("subscription_update").await;
    assert_eq!(update["subscriptions"], json!(["transcription:en-US"]));
    let mut presses = session.on_button_press().unwrap();
    let update = socket.hear("subscription_update").await;
    assert_eq!(update["subscriptions"], json!(["transcription:en-US", "button_press"]));

    let data = json!({ "type": "transcription", "text": "what is on my list", "isFinal": true });
    socket.say(&json!({ "type": "data_stream", "streamType": "transcription:en-US", "data": data })).await;
    let heard = soon(heard.next()).await.unwrap();
    assert_eq!((heard.text.as_str(), heard.is_final), ("what is on my list", true));
    let data = json!({ "type": "button_press", "buttonId": "main", "pressType": "long" });
    socket.say(&json!({ "type": "data_stream", "streamType": "button_press", "data": data })).await;
    let press = soon(presses.next()).await.unwrap();
    assert_eq!((press.button_id.as_str(), press.press_type), ("main", PressType::Long));
}

#[tokio::test]
async fn the_session_speaks() {
    let (platform, _app, mut socket, session) = opened().await;
    for (success, result) in [(true, Ok(())), (false, Err(SessionError::NotSpoken("no speaker".to_owned())))]
    {
        let answer = async {
            let request = socket.hear("audio_play_request").await;
            assert_eq!(
                request["audioUrl"],
                format!("{}/api/tts?text=1.+buy+milk%0A2.+50%25", platform.url())
            );
            assert_eq!((&request["trackId"], &request["stopOtherAudio"]), (&json!(2), &json!(true)));
            let error = (!success).then_some("no speaker");
            let id = &request["requestId"];
            socket
                .say(&json!({ "type": "audio_play_response", "requestId": id, "success": success, "error": error }))
                .await;
        };
        let (spoken, ()) = tokio::join!(soon(session.speak("1. buy milk\n2. 50%")), answer);
        assert_eq!(spoken, result);
    }
}

#[tokio::test]
async fn settings_and_glasses_change() {
    let (_platform, app, mut socket, session) = opened().await;
    let mut settings = session.watch_settings();
    let list = |value: u8| json!([{ "type": "slider", "key": "size", "defaultValue": 1, "value": value }]);
    socket
        .say(&json!({ "type": "settings_update", "packageName": "com.example.todo", "settings": list(2) }))
        .await;
    soon(settings.wait_for(|now| now.get::<u8>("size") == Some(2))).await.unwrap();
    let posted = json!({ "userIdForSettings": ADA, "settings": list(3) });
    let (status, answer) = post(&app.at("/settings"), &posted).await;
    assert_eq!((status, &answer["sessionsUpdated"]), (StatusCode::OK, &json!(1)));
    assert_eq!(session.settings().get::<u8>("size"), Some(3));
    let (status, _) = post(&app.at("/settings"), &json!({ "settings": [] })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    socket
        .say(&json!({ "type": "augmentos_settings_update", "settings": { "metricSystemEnabled": true } }))
        .await;
    soon(settings.wait_for(|now| now.system("metricSystemEnabled") == Some(true))).await.unwrap();
    assert_eq!(session.settings().get::<u8>("size"), Some(3));

    let mut glasses = session.watch_capabilities();
    let live = json!({ "modelName": "Mentra Live", "hasSpeaker": true });
    socket
        .say(&json!({ "type": "capabilities_update", "capabilities": live, "modelName": "Mentra Live" }))
        .await;
    soon(glasses.wait_for(|now| now.as_ref().is_some_and(|now| now.has_speaker))).await.unwrap();
}

#[tokio::test]
async fn unexpected_messages_are_ignored_and_pings_are_answered() {
    let (_platform, _app, mut socket, session) = opened().await;
    for odd in [
        json!({ "type": "hologram" }),
        json!({ "type": "data_stream" }),
        json!([1]),
        json!({ "type": "pong" }),
    ] {
        socket.say(&odd).await;
    }
    assert_eq!(&socket.ping("are you there").await[..], b"are you there");
    session.show_text_wall("still here").await.unwrap();
    socket.hear("display_event").await;
}

#[tokio::test]
async fn a_tool_finds_the_session() {
    let mut platform = Platform::start().await;
    let show = |_: NoArguments, cx: ToolContext| async move {
        let session = cx.session().ok_or("nobody is there")?;
        session.show_text_wall("hello").await.map_err(|_| "not shown")?;
        Ok::<_, &str>("shown")
    };
    let app = builder().server(platform.url()).register_tool(create_tool("show", "", show).build().unwrap());
    let app = TestApp::start(app).await;
    assert_eq!(app.call("show", json!({})).await.1["error"]["message"], "nobody is there");
    let mut socket = app.open(&mut platform).await;
    assert_eq!(app.call("show", json!({})).await.1["content"], "shown");
    socket.hear("display_event").await;
}

#[tokio::test]
async fn the_webhook_does_not_wait_for_the_hook_and_a_panic_in_it_is_survived() {
    let mut platform = Platform::start().await;
    let app = builder().server(platform.url()).on_session(|session| async move {
        session.show_text_wall("ready").await?;
        if session.connection() == SessionConnection::Connected {
            panic!("after the first show");
        }
        Ok(())
    });
    let app = TestApp::start(app).await;
    let mut socket = app.open(&mut platform).await;
    socket.hear("display_event").await;
    let session = app.app.session_for(&ADA.parse().unwrap()).unwrap();
    session.show_text_wall("still here").await.unwrap();
    socket.hear("display_event").await;

    let waits = builder().server(platform.url()).on_session(|session| async move {
        session.ended().await;
        Ok(())
    });
    let app = TestApp::start(waits).await;
    app.open(&mut platform).await;
}

#[tokio::test]
async fn a_foreign_server_is_not_dialed() {
    let mut stranger = Platform::start().await;
    let home = Platform::start().await;
    let app = TestApp::start(builder().server(home.url())).await;
    let (status, answer) = app.webhook(&session_request(&stranger.socket_url())).await;
    assert_eq!((status, &answer["status"]), (StatusCode::FORBIDDEN, &json!("error")));
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains(&format!("belongs to {} and does not connect to", home.url())), "{message}");
    assert!(stranger.is_alone());

    let app = TestApp::start(builder()).await;
    let (status, answer) = app.webhook(&session_request("ws://192.0.2.1/app-ws")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(answer["message"].as_str().unwrap().contains("configure its server"), "{answer}");
    app.open(&mut stranger).await;
}

#[tokio::test]
async fn a_start_that_is_refused_says_why() {
    let mut platform = Platform::start().await;
    let app = TestApp::start(builder().server(platform.url())).await;
    let request = session_request(&platform.socket_url());
    let refuse = async {
        let mut socket = platform.accept().await;
        socket.hear("tpa_connection_init").await;
        let error = json!({ "type": "tpa_connection_error", "code": "INVALID_API_KEY", "message": "Invalid API key" });
        socket.say(&error).await;
        socket
    };
    let ((status, answer), _socket) = tokio::join!(app.webhook(&request), refuse);
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer["message"].as_str().unwrap().contains("INVALID_API_KEY: Invalid API key"), "{answer}");

    drop(platform);
    let (status, answer) = app.webhook(&request).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer["message"].as_str().unwrap().contains("cannot be reached"), "{answer}");
}

#[tokio::test]
async fn a_start_without_an_ack_leaves_nothing_behind() {
    let mut platform = Platform::start().await;
    let limits = AppLimits { connect_wait: Duration::from_millis(300), ..AppLimits::default() };
    let (app, mut hooks) = hooked(builder().server(platform.url()).limits(limits));
    let app = TestApp::start(app).await;
    let request = session_request(&platform.socket_url());
    // The app gives up and closes, so that nothing haunts the platform.
    let silent = async { platform.accept().await.hear_end().await };
    let ((status, answer), ()) = tokio::join!(app.webhook(&request), silent);
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer["message"].as_str().unwrap().contains("did not acknowledge"), "{answer}");
    assert!(hooks.started.try_recv().is_err());
    assert!(app.app.session_for(&ADA.parse().unwrap()).is_none());
}

#[tokio::test]
async fn sessions_over_the_limit_are_refused() {
    let mut platform = Platform::start().await;
    let limits = AppLimits { sessions: 1, ..AppLimits::default() };
    let (app, mut hooks) = hooked(builder().server(platform.url()).limits(limits));
    let app = TestApp::start(app).await;
    let _socket = app.open(&mut platform).await;
    let mut other = session_request(&platform.socket_url());
    other["userId"] = json!("bob@example.com");
    let (status, answer) = app.webhook(&other).await;
    assert_eq!((status, &answer["status"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("error")));
    // The same user takes the place of the session before.
    app.open(&mut platform).await;
    assert_eq!(soon(hooks.stopped.recv()).await, Some(EndReason::Replaced));
}

#[tokio::test]
async fn invalid_webhooks_are_refused() {
    let app = TestApp::start(builder()).await;
    let (status, answer) = app.webhook(&json!({ "type": "dance" })).await;
    assert_eq!(
        (status, answer),
        (StatusCode::BAD_REQUEST, json!({ "status": "error", "message": "Unknown webhook request type" }))
    );
    let (status, _) =
        app.webhook(&json!({ "type": "session_request", "sessionId": "s-1", "userId": ADA })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let app = TestApp::start(toolyard_app_sdk::AppServer::builder("com.example.todo")).await;
    let (status, answer) = app.webhook(&session_request("ws://127.0.0.1:9/app-ws")).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer["message"].as_str().unwrap().contains("no API key"), "{answer}");
}
