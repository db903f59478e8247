//! Messages that a real app on an SDK of 2026 has accepted, and unusual ones.

use serde_json::json;

use super::*;
use crate::device::find_profile;

/// Accepted by a real app.
const REAL: [&str; 9] = [
    r#"{"type":"tpa_connection_ack"}"#,
    r#"{"type":"data_stream","streamType":"transcription:en-US","data":{"type":"transcription","text":"what is on my list","isFinal":true,"transcribeLanguage":"en-US","startTime":0,"endTime":900,"speakerId":"1","provider":"fake"},"timestamp":"2026-11-15T18:16:13.571Z"}"#,
    r#"{"type":"data_stream","streamType":"button_press","data":{"type":"button_press","buttonId":"main","pressType":"short"}}"#,
    r#"{"type":"device_state_update","state":{"connected":true,"modelName":"Even Realities G1","batteryLevel":81},"fullSnapshot":true}"#,
    r#"{"type":"settings_update","packageName":"com.example.todo","settings":[{"type":"toggle","key":"loud","label":"Loud","defaultValue":false,"value":true}]}"#,
    r#"{"type":"permission_error","message":"rejected","details":[{"stream":"location_update","requiredPermission":"LOCATION","message":"declare it"}]}"#,
    r#"{"type":"audio_play_response","requestId":"audio_req_1794766603929_fsycuoj","success":true,"duration":1200}"#,
    r#"{"type":"app_stopped","timestamp":"2026-11-15T18:16:18.011Z"}"#,
    r#"{"type":"tpa_connection_error","code":"INVALID_API_KEY","message":"Invalid API key"}"#,
];

#[test]
fn real_messages_come_back_byte_for_byte() {
    for text in REAL {
        assert_eq!(ToApp::parse(text).unwrap().to_text(), text);
    }
}

#[test]
fn the_whole_ack_of_a_real_run() {
    let g1 = find_profile("Even Realities G1").unwrap();
    let text = format!(
        r#"{{"type":"tpa_connection_ack","sessionId":"ada.lovelace@example.com-com.example.todo","userId":"ada.lovelace@example.com","settings":[{{"type":"toggle","key":"loud","label":"Loud","defaultValue":false,"value":true}}],"mentraosSettings":{{"metricSystemEnabled":false,"brightness":50,"userTimezone":"Europe/London"}},"capabilities":{},"subscriptions":[],"timestamp":"2026-11-15T18:16:15.374Z"}}"#,
        serde_json::to_string(&g1).unwrap()
    );
    let ToApp::ConnectionAck(ack) = ToApp::parse(&text).unwrap() else { panic!() };
    assert_eq!(ack.capabilities, Some(g1.clone()));
    assert_eq!(ToApp::ConnectionAck(ack.clone()).to_text(), text);
    let again = text.replace("tpa_connection_ack", "reconnect_ack");
    assert_eq!(ToApp::ReconnectAck(ack).to_text(), again);
    assert!(matches!(ToApp::parse(&again).unwrap(), ToApp::ReconnectAck(_)));

    let update = ToApp::CapabilitiesUpdate(CapabilitiesUpdate {
        capabilities: Some(g1),
        model_name: Some("Even Realities G1".to_owned()),
    });
    assert!(update.to_text().starts_with(r#"{"type":"capabilities_update","capabilities":{"modelName":"Even Realities G1","hasCamera":false,"camera":null"#));
    let none = ToApp::CapabilitiesUpdate(CapabilitiesUpdate::default()).to_text();
    assert_eq!(none, r#"{"type":"capabilities_update","capabilities":null,"modelName":null}"#);
}

#[test]
fn every_type_is_written_as_it_is_read() {
    for message in [
        json!({ "type": "reconnect_rejected", "code": "SESSION_NOT_FOUND", "message": "gone" }),
        json!({ "type": "reconnect_deferred", "code": "BOOTING", "message": "wait", "timeoutMs": 5000 }),
        json!({ "type": "app_stopped", "reason": "user_disabled", "timestamp": "2026-11-15T18:16:18.011Z" }),
        json!({ "type": "augmentos_settings_update", "settings": { "userTimezone": "Europe/London" } }),
        json!({ "type": "photo_response", "requestId": "p", "success": false }),
        json!({ "type": "rgb_led_control_response", "requestId": "l", "success": true }),
        json!({ "type": "rtmp_stream_status", "status": "active" }),
        json!({ "type": "managed_stream_status", "status": "active" }),
        json!({ "type": "stream_status_check_response", "hasActiveStream": false }),
        json!({ "type": "dashboard_mode_changed", "mode": "main" }),
        json!({ "type": "dashboard_always_on_changed", "enabled": true }),
        json!({ "type": "custom_message", "action": "a", "payload": { "x": [1, 2.50] } }),
        json!({ "type": "pong" }),
        json!({ "type": "app_user_joined" }),
    ] {
        let read = ToApp::parse(&message.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), message);
        let again: ToApp = serde_json::from_value(message.clone()).unwrap();
        assert_eq!(again.to_text(), read.to_text());
        assert_eq!(matches!(read, ToApp::Unknown { .. }), message["type"] == "app_user_joined", "{message}");
    }
    assert!(matches!(
        ToApp::parse(r#"{"type":"connection_error","message":"x"}"#).unwrap(),
        ToApp::ConnectionError(ConnectionError { code: None, .. })
    ));
}

#[test]
fn data_passes_as_it_came() {
    let text = r#"{"type":"data_stream","streamType":"x","data":{"n": 1.50, "big":12345678901234567890123}}"#;
    assert_eq!(ToApp::parse(text).unwrap().to_text(), text);
}

#[test]
fn what_is_wrong_is_named() {
    let error_text = |text: &str| ToApp::parse(text).unwrap_err().to_string();
    assert!(
        error_text(r#"{"type":"tpa_connection_ack","settings":{}}"#)
            .starts_with("`tpa_connection_ack`, settings: ")
    );
    assert!(error_text(r#"{"type":"data_stream","streamType":"x"}"#).contains("missing field `data`"));
    assert!(
        error_text(r#"{"type":"device_state_update","state":{"connected":"yes"}}"#)
            .starts_with("`device_state_update`, state.connected: ")
    );
}

#[test]
fn a_dropped_subscription_says_what_to_declare() {
    let detail = |name: &str| {
        PermissionErrorDetail::for_subscription(&StreamSubscription::parse(&json!(name)).unwrap())
    };
    let dropped = detail("transcription:en-US").unwrap();
    assert_eq!(
        (dropped.stream.as_str(), dropped.required_permission.as_str()),
        ("transcription:en-US", "MICROPHONE")
    );
    assert_eq!(detail("button_press"), None);
}
