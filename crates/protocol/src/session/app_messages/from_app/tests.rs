//! Messages of a real app on an SDK of 2026, and unusual ones.

use serde_json::{Value, json};

use super::*;
use crate::{session::Layout, stream::SubscriptionSet};

fn sender() -> AppSender {
    AppSender {
        package_name: "com.example.todo".parse().unwrap(),
        session_id: "ada.lovelace@example.com-com.example.todo".parse().unwrap(),
    }
}

/// Real messages. The empty session id of a `display_event` is the only difference to what we write.
const REAL: [&str; 9] = [
    r#"{"type":"tpa_connection_init","sessionId":"ada.lovelace@example.com-com.example.todo","packageName":"com.example.todo","apiKey":"example-api-key","timestamp":"2026-11-15T18:16:13.402Z"}"#,
    r#"{"type":"subscription_update","packageName":"com.example.todo","subscriptions":[],"sessionId":"ada.lovelace@example.com-com.example.todo","timestamp":"2026-11-15T18:16:13.419Z"}"#,
    r#"{"type":"subscription_update","packageName":"com.example.todo","subscriptions":["transcription:en-US","button_press"],"sessionId":"ada.lovelace@example.com-com.example.todo","timestamp":"2026-11-15T18:16:13.474Z"}"#,
    r#"{"timestamp":"2026-11-15T18:16:13.475Z","sessionId":"","type":"display_event","packageName":"com.example.todo","view":"main","layout":{"layoutType":"text_wall","text":"Todo app ready"},"durationMs":3000}"#,
    r#"{"timestamp":"2026-11-15T18:16:13.510Z","sessionId":"","type":"display_event","packageName":"com.example.todo","view":"main","layout":{"layoutType":"text_wall","text":"1. buy milk"}}"#,
    r#"{"timestamp":"2026-11-15T18:16:13.572Z","sessionId":"","type":"display_event","packageName":"com.example.todo","view":"main","layout":{"layoutType":"reference_card","title":"Todos","text":"2 open"}}"#,
    r#"{"type":"ownership_release","packageName":"com.example.todo","sessionId":"ada.lovelace@example.com-com.example.todo","reason":"switching_clouds","timestamp":"2026-11-15T18:16:15.265Z"}"#,
    r#"{"type":"audio_play_request","packageName":"com.example.todo","sessionId":"ada.lovelace@example.com-com.example.todo","requestId":"audio_req_1794766603929_fsycuoj","timestamp":"2026-11-15T18:16:43.929Z","audioUrl":"https://127.0.0.1:8021/api/tts?text=1.+buy+milk%0A2.+call+Bob","volume":1,"stopOtherAudio":true,"trackId":2}"#,
    r#"{"type":"reconnect","sessionId":"any-opaque-id","sdkVersion":"3.0.0-hono.8"}"#,
];

#[test]
fn real_messages_come_back_as_they_went() {
    for text in REAL {
        let mut came: Value = serde_json::from_str(text).unwrap();
        if came["sessionId"] == "" {
            came["sessionId"] = json!(sender().session_id);
        }
        let read = FromApp::parse(text).unwrap();
        assert!(!matches!(read, FromApp::Unknown { .. }), "{text}");
        let timestamp = came["timestamp"].as_str().unwrap_or_default().to_owned();
        let written: Value = serde_json::from_str(&read.to_text(&sender(), &timestamp)).unwrap();
        assert_eq!(written, came);
    }
}

#[test]
fn every_type_is_written_as_it_is_read() {
    for message in [
        json!({ "type": "audio_stop_request", "trackId": 2 }),
        json!({ "type": "photo_request", "requestId": "p", "saveToGallery": false, "size": "medium", "compress": "none" }),
        json!({ "type": "location_poll_request", "correlationId": "c", "accuracy": "high" }),
        json!({ "type": "rgb_led_control", "requestId": "l", "action": "on", "color": "red", "ontime": 1000, "count": 2 }),
        json!({ "type": "rtmp_stream_request", "rtmpUrl": "rtmp://x", "video": { "width": 640 } }),
        json!({ "type": "rtmp_stream_stop", "streamId": "s" }),
        json!({ "type": "managed_stream_request", "quality": "720p" }),
        json!({ "type": "managed_stream_stop" }),
        json!({ "type": "stream_status_check" }),
        json!({ "type": "dashboard_content_update", "content": "x", "modes": ["main"] }),
        json!({ "type": "dashboard_mode_change", "mode": "main" }),
        json!({ "type": "dashboard_system_update", "section": "topLeft", "content": "x" }),
        json!({ "type": "request_wifi_setup", "reason": "to upload" }),
        json!({ "type": "ping" }),
        json!({ "type": "app_room_join" }),
    ] {
        let read = FromApp::parse(&message.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), message);
        assert_eq!(serde_json::from_value::<FromApp>(message.clone()).unwrap(), read);
        let unknown = matches!(read, FromApp::Unknown { .. });
        assert_eq!(unknown, message["type"] == "app_room_join", "{message}");
    }
}

#[test]
fn an_init_may_leave_out_the_session_and_never_shows_its_key() {
    let text = r#"{"type":"tpa_connection_init","packageName":"com.example.todo","apiKey":"example-api-key","sdkVersion":"3.0.0-hono.8","timestamp":1767323045678}"#;
    let read = FromApp::parse(text).unwrap();
    assert!(!format!("{read:?}").contains("example-api-key"));
    let FromApp::ConnectionInit(init) = read else { panic!() };
    assert_eq!((init.session_id, init.api_key.expose()), (None, "example-api-key"));
    assert_eq!(init.timestamp.as_deref(), Some("2026-01-02T03:04:05.678Z"));
}

#[test]
fn what_is_wrong_is_named() {
    let error_text = |text: &str| FromApp::parse(text).unwrap_err().to_string();
    assert!(
        error_text(r#"{"type":"tpa_connection_init","packageName":"com.ex"}"#)
            .contains("missing field `apiKey`")
    );
    assert!(
        error_text(r#"{"type":"tpa_connection_init","packageName":"Com Ex","apiKey":"k"}"#)
            .starts_with("`tpa_connection_init`, packageName: ")
    );
    assert!(
        error_text(r#"{"type":"subscription_update","subscriptions":"all"}"#)
            .starts_with("`subscription_update`, subscriptions: ")
    );
    let layout = error_text(r#"{"type":"display_event","layout":{"layoutType":"text_wall"}}"#);
    assert!(layout.starts_with("`display_event`, layout: missing field `text`"), "{layout}");
    assert_eq!(error_text("[]"), "expected a JSON object with a text in `type`");
}

#[test]
fn unknown_layouts_pass() {
    let FromApp::DisplayEvent(event) =
        FromApp::parse(r#"{"type":"display_event","view":"main","layout":{"layoutType":"new","x":1}}"#)
            .unwrap()
    else {
        panic!()
    };
    assert!(matches!(event.layout, Layout::Unknown(_)));
}

#[test]
fn a_long_list_of_subscriptions_is_cut_while_it_is_read() {
    let list = vec!["button_press"; 10 * MAX_SUBSCRIPTIONS];
    let text = json!({ "type": "subscription_update", "subscriptions": list, "late": true }).to_string();
    let FromApp::SubscriptionUpdate(update) = FromApp::parse(&text).unwrap() else { panic!() };
    assert_eq!(update.subscriptions.len(), MAX_SUBSCRIPTIONS + 1);
    assert_eq!(SubscriptionSet::parse(&update.subscriptions).1.len(), 1);
}

#[test]
fn a_message_is_of_the_kind_that_its_type_says() {
    for text in REAL {
        let named: Value = serde_json::from_str(text).unwrap();
        assert_eq!(FromApp::parse(text).unwrap().kind().as_str(), named["type"], "{text}");
    }
}
