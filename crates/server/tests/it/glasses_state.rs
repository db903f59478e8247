//! State that is pushed to apps: glasses, settings of the platform, the dashboard. Also the display after a failure.

use serde_json::{Value, json};
use toolyard_testkit::{AppSession, FakeApp, OnWebhook};

use crate::platform::{Device, ECHO, Platform};

const DASHBOARD: &str = "com.example.dashboard";

async fn opened(p: &Platform) -> (FakeApp, Device, AppSession) {
    let (app, device) = p.echo_like(json!({ "kind": "session" })).await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let session = app.next_session().await;
    (app, device, session)
}

async fn open(p: &Platform, package: &str) -> (FakeApp, AppSession) {
    let app = FakeApp::start(package).await;
    p.register(&app, json!({ "packageName": package, "appType": "standard" })).await;
    p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    p.user("ada").post(&format!("/api/session/apps/{package}/start"), &json!({})).await.expect(204);
    let session = app.next_session().await;
    (app, session)
}

fn wall(text: &str) -> Value {
    json!({ "type": "display_event", "layout": { "layoutType": "text_wall", "text": text } })
}

async fn dashboard(device: &mut Device) -> Value {
    loop {
        let drawn = device.hear("display_event").await.unwrap();
        if drawn["view"] == "dashboard" {
            return drawn["layout"].clone();
        }
    }
}

#[tokio::test]
async fn an_app_is_told_what_changed_and_a_new_one_everything() {
    let p = Platform::start().await;
    let (_app, mut device, mut session) = opened(&p).await;
    assert_eq!(session.receive("device_state_update").await.unwrap()["fullSnapshot"], true);
    device.wears("Mentra Live").await;
    let state = session.receive("device_state_update").await.unwrap();
    assert_eq!(
        (&state["fullSnapshot"], &state["state"]),
        (&json!(false), &json!({ "connected": true, "modelName": "Mentra Live" }))
    );
    for (report, told) in [
        (
            json!({ "type": "glasses_battery_update", "level": 81, "charging": true }),
            json!({ "batteryLevel": 81, "charging": true }),
        ),
        // Unchanged values are not sent; a negative level is invalid.
        (json!({ "type": "glasses_battery_update", "level": 81, "charging": true }), Value::Null),
        (
            json!({ "type": "glasses_battery_update", "level": -1, "charging": false }),
            json!({ "charging": false }),
        ),
        (json!({ "type": "glasses_battery_update", "level": 80 }), json!({ "batteryLevel": 80 })),
        (
            json!({ "type": "glasses_connection_state", "modelName": "Mentra Live", "status": "CONNECTED",
                "wifi": { "connected": true, "ssid": "home" } }),
            json!({ "wifiConnected": true, "wifiSsid": "home" }),
        ),
        (
            json!({ "type": "glasses_connection_state", "modelName": "Mentra Live", "status": "CONNECTED",
                "wifi": { "connected": false, "ssid": null } }),
            json!({ "wifiConnected": false, "wifiSsid": "" }),
        ),
    ] {
        device.say(report.clone()).await;
        if !told.is_null() {
            assert_eq!(session.receive("device_state_update").await.unwrap()["state"], told, "{report}");
        }
    }
    let (_later, mut later) = open(&p, "com.example.later").await;
    let state = later.receive("device_state_update").await.unwrap();
    assert_eq!(
        (&state["fullSnapshot"], &state["state"]["batteryLevel"], &state["state"]["modelName"]),
        (&json!(true), &json!(80), &json!("Mentra Live"))
    );
    // Other glasses have a battery of their own.
    device.wears("Even Realities G1").await;
    device.say(json!({ "type": "glasses_connection_state", "modelName": "Even Realities G1", "status": "DISCONNECTED" })).await;
    while session.receive("device_state_update").await.unwrap()["state"]["connected"] != false {}
}

#[tokio::test]
async fn settings_of_the_platform_are_stored_and_sent_to_apps() {
    const PATH: &str = "/api/settings/platform";
    let p = Platform::start().await;
    let ada = p.user("ada");
    assert_eq!(ada.get(PATH).await.expect(200).json(), json!({ "metricSystemEnabled": false }));
    ada.put(PATH, &json!({ "userTimezone": "Europe/London" })).await.expect(200);
    let wrong = ada.put(PATH, &json!({ "userTimezone": "Middle/Earth" })).await.expect(400);
    assert!(wrong.text.contains("userTimezone"), "{}", wrong.text);
    let (_app, _device, mut session) = opened(&p).await;
    let ack = session.receive("tpa_connection_ack").await.unwrap();
    assert_eq!(
        ack["mentraosSettings"],
        json!({ "userTimezone": "Europe/London", "metricSystemEnabled": false })
    );
    let changed = ada.put(PATH, &json!({ "metricSystemEnabled": true })).await.expect(200).json();
    let both = json!({ "userTimezone": "Europe/London", "metricSystemEnabled": true });
    assert_eq!(changed, both, "what is missing stays");
    assert_eq!(session.receive("augmentos_settings_update").await.unwrap()["settings"], both);
    assert_eq!(p.user("bob").get(PATH).await.expect(200).json(), json!({ "metricSystemEnabled": false }));
    let p = p.restart().await;
    assert_eq!(p.user("ada").get(PATH).await.expect(200).json(), both);
    let forgotten = p.user("ada").put(PATH, &json!({ "userTimezone": "" })).await.expect(200).json();
    assert_eq!(forgotten, json!({ "metricSystemEnabled": true }));
}

#[tokio::test]
async fn the_dashboard_has_lines_of_apps_and_corners_of_the_system() {
    let p = Platform::with(|config| config.sessions.dashboard_app = Some(DASHBOARD.parse().unwrap())).await;
    let (_app, mut device, mut session) = opened(&p).await;
    session.send(json!({ "type": "dashboard_content_update", "content": "3 open", "modes": ["main"] })).await;
    assert_eq!(
        dashboard(&mut device).await,
        json!({ "layoutType": "dashboard_card", "leftText": "", "rightText": "3 open" })
    );
    let (_system, system) = open(&p, DASHBOARD).await;
    system.send(json!({ "type": "dashboard_system_update", "section": "topLeft", "content": "12:00" })).await;
    assert_eq!(dashboard(&mut device).await["leftText"], "12:00");
    device.say(json!({ "type": "glasses_battery_update", "level": 81, "charging": false })).await;
    assert_eq!(dashboard(&mut device).await["leftText"], "12:00\n81 %");
    session
        .send(json!({ "type": "dashboard_content_update", "content": "milk, eggs", "modes": ["expanded"] }))
        .await;
    dashboard(&mut device).await;

    device.say(json!({ "type": "head_position", "position": "up" })).await;
    assert_eq!(session.receive("dashboard_mode_changed").await.unwrap()["mode"], "main");
    system.send(json!({ "type": "dashboard_mode_change", "mode": "expanded" })).await;
    assert_eq!(session.receive("dashboard_mode_changed").await.unwrap()["mode"], "expanded");
    assert_eq!(device.hear("dashboard_mode_change").await.unwrap()["mode"], "expanded");
    assert_eq!(dashboard(&mut device).await, json!({ "layoutType": "text_wall", "text": "milk, eggs" }));

    // A device that connects now gets it; what an app wrote is removed with the app.
    let mut other = p.device("ada").await;
    assert_eq!(dashboard(&mut other).await["text"], "milk, eggs");
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/stop"), &json!({})).await.expect(204);
    assert_eq!(dashboard(&mut other).await, json!({ "layoutType": "text_wall", "text": "" }));
}

#[tokio::test]
async fn an_app_opened_right_after_a_failed_start_is_seen() {
    let p = Platform::with(|config| config.sessions.overlay_ms = 600_000).await;
    let broken = FakeApp::start("com.example.broken").await;
    broken.on_webhook(OnWebhook::Refuse);
    p.register(&broken, json!({ "packageName": "com.example.broken", "appType": "standard" })).await;
    p.user("ada").put("/api/installs/com.example.broken", &json!({})).await.expect(204);
    let mut device = p.device("ada").await;
    device.say(json!({ "type": "start_app", "packageName": "com.example.broken" })).await;
    let card = device.hear("display_event").await.unwrap();
    assert_eq!(card["layout"]["title"], "com.example.broken did not start");

    // Another app, and then the same one again: their displays are visible immediately.
    let (_map, map) = open(&p, "com.example.map").await;
    map.send(wall("the map")).await;
    while device.sees().await != "the map" {}
    device.say(json!({ "type": "start_app", "packageName": "com.example.broken" })).await;
    while device.hear("display_event").await.unwrap()["layout"]["title"] != "com.example.broken did not start"
    {
    }
    broken.on_webhook(OnWebhook::Connect);
    device.say(json!({ "type": "start_app", "packageName": "com.example.broken" })).await;
    let mended = broken.next_session().await;
    mended.send(wall("mended")).await;
    while device.sees().await != "mended" {}
}
