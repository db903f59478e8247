//! Every kind of message, for every state of an app.

use serde_json::{Value, json};
use toolyard_protocol::session::app_messages::AppMessageKind;
use toolyard_sessions::{MessageOwner, OpenRule, message_rule};

use super::{Stage, Started, of_type};
use crate::platform::Platform;

const APP: &str = "com.example.app";

/// What the device receives for an allowed message. The match has no default, so a new kind of message must be considered here.
fn reaches(kind: AppMessageKind) -> Option<&'static str> {
    match kind {
        AppMessageKind::DisplayEvent | AppMessageKind::DashboardContentUpdate => Some("display_event"),
        AppMessageKind::AudioPlayRequest => Some("audio_play_request"),
        AppMessageKind::AudioStopRequest => Some("audio_stop_request"),
        AppMessageKind::PhotoRequest => Some("photo_request"),
        AppMessageKind::LocationPollRequest => Some("request_single_location"),
        AppMessageKind::RgbLedControl => Some("rgb_led_control"),
        AppMessageKind::RtmpStreamRequest => Some("start_stream"),
        AppMessageKind::RtmpStreamStop => Some("stop_stream"),
        AppMessageKind::RequestWifiSetup => Some("show_wifi_setup"),
        AppMessageKind::ConnectionInit
        | AppMessageKind::Reconnect
        | AppMessageKind::SubscriptionUpdate
        | AppMessageKind::ManagedStreamRequest
        | AppMessageKind::ManagedStreamStop
        | AppMessageKind::StreamStatusCheck
        | AppMessageKind::DashboardModeChange
        | AppMessageKind::DashboardSystemUpdate
        | AppMessageKind::OwnershipRelease
        | AppMessageKind::Ping
        | AppMessageKind::Unknown => None,
    }
}

/// What is refused to a woken app with every permission. Written out, so that a change of the rules is noticed.
fn woken_lacks(kind: AppMessageKind) -> Option<&'static str> {
    match kind {
        AppMessageKind::PhotoRequest
        | AppMessageKind::RtmpStreamRequest
        | AppMessageKind::ManagedStreamRequest
        | AppMessageKind::StreamStatusCheck
        | AppMessageKind::LocationPollRequest
        | AppMessageKind::RgbLedControl
        | AppMessageKind::RequestWifiSetup => Some("OPENED_BY_USER"),
        other => opened_lacks(other),
    }
}

/// What is refused to an opened app with every permission.
fn opened_lacks(kind: AppMessageKind) -> Option<&'static str> {
    match kind {
        AppMessageKind::DashboardModeChange | AppMessageKind::DashboardSystemUpdate => Some("DASHBOARD_APP"),
        _ => None,
    }
}

/// What is refused to an opened app without permissions.
fn bare_lacks(kind: AppMessageKind) -> Option<&'static str> {
    match kind {
        AppMessageKind::PhotoRequest
        | AppMessageKind::RtmpStreamRequest
        | AppMessageKind::ManagedStreamRequest
        | AppMessageKind::StreamStatusCheck => Some("CAMERA"),
        AppMessageKind::LocationPollRequest => Some("LOCATION"),
        // It cannot start one, so there is none to stop.
        AppMessageKind::RtmpStreamStop => Some("STREAM_OWNER"),
        other => opened_lacks(other),
    }
}

fn sample(kind: AppMessageKind) -> Value {
    let mut message = match kind {
        AppMessageKind::ConnectionInit => json!({ "packageName": APP, "apiKey": "stolen" }),
        AppMessageKind::Reconnect => json!({ "sessionId": "another" }),
        AppMessageKind::SubscriptionUpdate => json!({ "subscriptions": ["button_press"] }),
        AppMessageKind::DisplayEvent => json!({ "layout": { "layoutType": "text_wall", "text": "hello" } }),
        AppMessageKind::AudioPlayRequest => {
            json!({ "requestId": "a1", "audioUrl": "https://x.example/a.mp3" })
        }
        AppMessageKind::AudioStopRequest => json!({ "trackId": 1 }),
        AppMessageKind::PhotoRequest => json!({ "requestId": "p1", "size": "small" }),
        AppMessageKind::LocationPollRequest => json!({ "correlationId": "c1", "accuracy": "high" }),
        AppMessageKind::RgbLedControl => json!({ "requestId": "l1", "action": "on", "color": "red" }),
        AppMessageKind::RtmpStreamRequest => json!({ "rtmpUrl": "rtmp://x.example/live" }),
        AppMessageKind::ManagedStreamRequest => json!({ "quality": "720p" }),
        AppMessageKind::DashboardContentUpdate => json!({ "content": "3 open", "modes": ["main"] }),
        AppMessageKind::DashboardModeChange => json!({ "mode": "expanded" }),
        AppMessageKind::DashboardSystemUpdate => json!({ "section": "topLeft", "content": "12:00" }),
        AppMessageKind::RequestWifiSetup => json!({ "reason": "to upload" }),
        AppMessageKind::OwnershipRelease => json!({ "reason": "clean_shutdown" }),
        AppMessageKind::RtmpStreamStop
        | AppMessageKind::ManagedStreamStop
        | AppMessageKind::StreamStatusCheck
        | AppMessageKind::Ping
        | AppMessageKind::Unknown => json!({}),
    };
    message["type"] = kind.as_str().into();
    message
}

/// Tests every kind for one app; `lacks` returns what is refused and why.
async fn play(permissions: &[&str], started: Started, lacks: fn(AppMessageKind) -> Option<&'static str>) {
    let mut stage = Stage::new().await;
    let (_app, mut session) = stage.app(APP, permissions, started).await;
    stage.settle(&mut session).await;
    // The response to a ping marks the end of an exchange.
    for kind in AppMessageKind::KNOWN.iter().filter(|kind| **kind != AppMessageKind::Ping) {
        let (app, device) = stage.exchange(&mut session, sample(*kind)).await;
        let told = of_type(&app, "permission_error");
        let heard: Vec<_> = device.iter().map(|message| message["type"].as_str().unwrap()).collect();
        match lacks(*kind) {
            Some(missing) => {
                let detail = &told.first().unwrap_or_else(|| panic!("{kind:?}: {app:?}"))["details"][0];
                assert_eq!(
                    (&detail["stream"], &detail["requiredPermission"]),
                    (&json!(kind.as_str()), &json!(missing)),
                    "{kind:?}"
                );
                assert!(heard.is_empty(), "{kind:?} reached the device: {device:?}");
            }
            None => {
                assert!(told.is_empty(), "{kind:?}: {told:?}");
                assert_eq!(heard, Vec::from_iter(reaches(*kind)), "{kind:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_opened_app_with_every_permission_may_do_all_but_control_the_dashboard() {
    play(&["ALL"], Started::Opened, opened_lacks).await;
}

#[tokio::test]
async fn a_woken_app_uses_neither_camera_nor_location_nor_led_nor_wifi() {
    play(&["ALL"], Started::Woken, |kind| match kind {
        AppMessageKind::RtmpStreamStop => Some("STREAM_OWNER"),
        other => woken_lacks(other),
    })
    .await;
}

#[tokio::test]
async fn an_app_without_permissions_gets_nothing_that_needs_one() {
    play(&[], Started::Opened, bare_lacks).await;
}

#[tokio::test]
async fn a_woken_app_without_permissions_gets_nothing() {
    play(&[], Started::Woken, |kind| bare_lacks(kind).or_else(|| woken_lacks(kind))).await;
}

#[tokio::test]
async fn each_permission_opens_its_own_messages_and_no_others() {
    for (permission, opens) in [
        ("CAMERA", AppMessageKind::PhotoRequest),
        ("LOCATION", AppMessageKind::LocationPollRequest),
        ("BACKGROUND_LOCATION", AppMessageKind::LocationPollRequest),
    ] {
        let mut stage = Stage::new().await;
        let (_app, mut session) = stage.app(APP, &[permission], Started::Opened).await;
        for kind in [AppMessageKind::PhotoRequest, AppMessageKind::LocationPollRequest] {
            let (app, device) = stage.exchange(&mut session, sample(kind)).await;
            let heard = !of_type(&device, reaches(kind).unwrap()).is_empty();
            assert_eq!(heard, kind == opens, "{permission} {kind:?}");
            assert_eq!(of_type(&app, "permission_error").is_empty(), kind == opens, "{permission} {kind:?}");
        }
    }
}

#[tokio::test]
async fn background_location_needs_its_own_permission() {
    for (permission, knows) in [("LOCATION", false), ("ALL", false), ("BACKGROUND_LOCATION", true)] {
        let mut stage = Stage::new().await;
        let (_app, mut session) = stage.app(APP, &[permission], Started::Woken).await;
        let listen =
            json!({ "type": "subscription_update", "subscriptions": ["location_update", "button_press"] });
        stage.exchange(&mut session, listen).await;
        let (_, device) = stage.exchange(&mut session, sample(AppMessageKind::LocationPollRequest)).await;
        assert_eq!(!of_type(&device, "request_single_location").is_empty(), knows, "{permission}");
        stage.device.say(json!({ "type": "location_update", "lat": 1.0, "lng": 2.0 })).await;
        stage.device.say(json!({ "type": "button_press", "buttonId": "main", "pressType": "short" })).await;
        let first = session.receive("data_stream").await.unwrap();
        let expected = if knows { "location_update" } else { "button_press" };
        assert_eq!(first["streamType"], expected, "{permission}");
    }
}

#[tokio::test]
async fn unknown_messages_of_apps_do_nothing() {
    let mut stage = Stage::new().await;
    let (_app, mut session) = stage.app(APP, &["ALL"], Started::Opened).await;
    stage.settle(&mut session).await;
    for kind in [
        // Between apps, which the platform does not offer.
        "app_broadcast_message",
        "app_direct_message",
        "app_user_discovery",
        "app_room_join",
        "app_room_leave",
        // Messages that only devices and the platform send.
        "photo_response",
        "audio_play_response",
        "rgb_led_control_response",
        "rtmp_stream_status",
        "location_update",
        "local_transcription",
        "button_press",
        "start_app",
        "start_stream",
        "stop_stream",
        "microphone_state_change",
        "request_single_location",
        "settings_update_request",
        "mute",
        "no_such_message",
    ] {
        let message = json!({ "type": kind, "requestId": "x", "packageName": "com.example.other", "text": "x",
            "subscriptions": ["*"], "payload": {}, "targetUserId": "bob" });
        let (app, device) = stage.exchange(&mut session, message).await;
        assert!(app.is_empty() && device.is_empty(), "{kind}: {app:?} {device:?}");
    }
}

#[tokio::test]
async fn the_dashboard_app_is_the_configured_one() {
    let p = Platform::with(|config| config.sessions.dashboard_app = Some(APP.parse().unwrap())).await;
    let mut stage = Stage::on(p).await;
    let (_app, mut session) = stage.app(APP, &[], Started::Opened).await;
    let (_other, mut other) = stage.app("com.example.other", &["ALL"], Started::Opened).await;
    for kind in [AppMessageKind::DashboardModeChange, AppMessageKind::DashboardSystemUpdate] {
        let (app, _) = stage.exchange(&mut session, sample(kind)).await;
        assert!(of_type(&app, "permission_error").is_empty(), "{app:?}");
        let (app, _) = stage.exchange(&mut other, sample(kind)).await;
        assert_eq!(of_type(&app, "permission_error").len(), 1, "{app:?}");
    }
}

/// The documented table matches the code.
#[test]
fn the_documentation_matches_the_rules() {
    let page = include_str!("../../../../../docs/apps.md");
    let section = page.split("### What each message needs").nth(1).unwrap();
    let section = section.split("\n#").next().unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected = AppMessageKind::KNOWN.iter().map(|kind| {
        let rule = message_rule(*kind);
        let permission = match (kind, rule.permission) {
            (AppMessageKind::SubscriptionUpdate, _) => "of each stream".to_owned(),
            (_, Some(permission)) => format!("`{permission}`"),
            (_, None) => "none".to_owned(),
        };
        let open = match (kind, rule.open) {
            (AppMessageKind::SubscriptionUpdate, _) => "for microphone, camera and location",
            (_, OpenRule::Anytime) => "no",
            (_, OpenRule::Opened) => "yes",
            (_, OpenRule::OpenedOrBackground) => "yes, unless it declares `BACKGROUND_LOCATION`",
        };
        let owner = match rule.owner {
            MessageOwner::Sender => "any app, for itself",
            MessageOwner::StreamStarter => "the app that started the stream",
            MessageOwner::DashboardApp => "the app set as `sessions.dashboard_app`",
        };
        format!("| `{}` | {permission} | {open} | {owner} |", kind.as_str())
    });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}
