//! Camera, state of the glasses, settings of the platform and dashboard, as the SDK sees them.

use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient};

use crate::{
    platform::Answer,
    stage::{ADA, Stage, TODO, story, story_like},
};

fn content(answer: Answer) -> String {
    answer.expect(200).json()["content"].as_str().unwrap_or_default().to_owned()
}

async fn facts(stage: &Stage) -> Value {
    serde_json::from_str(&content(stage.call("facts", json!({})).await)).unwrap()
}

/// An app with a camera permission, opened, on glasses with a camera.
async fn with_camera(body: impl AsyncFnOnce(Stage)) {
    let camera = json!({ "permissions": [{ "type": "MICROPHONE" }, { "type": "CAMERA" }] });
    story_like(camera, async |mut stage| {
        stage.run_app().await;
        stage.device.wears("Mentra Live").await;
        stage.open_app().await;
        body(stage).await;
    })
    .await;
}

#[tokio::test]
async fn an_app_without_the_permission_is_told_at_once_that_there_is_no_photo() {
    story(async |mut stage| {
        stage.device.wears("Mentra Live").await;
        stage.open_app().await;
        let told = content(stage.call("photo", json!({})).await);
        assert!(told.contains("CAMERA") && told.contains("PERMISSION_DENIED"), "{told}");
        let denied = stage.app.hears("denied").await;
        assert_eq!(
            (&denied["stream"], &denied["requiredPermission"]),
            (&json!("photo_request"), &json!("CAMERA"))
        );
        assert_eq!(stage.app.count("error"), 0, "an error would make template apps forget their session");
    })
    .await;
}

#[tokio::test]
async fn a_woken_app_takes_no_photo() {
    let camera = json!({ "permissions": [{ "type": "MICROPHONE" }, { "type": "CAMERA" }] });
    story_like(camera, async |mut stage| {
        stage.run_app().await;
        stage.device.wears("Mentra Live").await;
        let told = content(stage.call("photo", json!({})).await);
        assert!(told.contains("open it first"), "{told}");
        assert_eq!(stage.app.hears("denied").await["requiredPermission"], "OPENED_BY_USER");
    })
    .await;
}

#[tokio::test]
async fn the_phone_uploads_a_photo_to_the_address_that_it_is_told() {
    with_camera(async |mut stage| {
        let ada = stage.p.user(ADA);
        let tool = format!("{TODO}:photo");
        let (answer, ()) = tokio::join!(ada.call(&tool, json!({})), async {
            let request = stage.device.hear("photo_request").await.unwrap();
            assert_eq!(request["appId"], TODO);
            let upload = request["webhookUrl"].as_str().unwrap().to_owned();
            assert_eq!(upload, format!("{}/photo-upload", stage.app.url()));
            let id = request["requestId"].as_str().unwrap();
            let body = format!(
                "--b\r\nContent-Disposition: form-data; name=\"requestId\"\r\n\r\n{id}\r\n--b\r\nContent-Disposition: \
                 form-data; name=\"photo\"; filename=\"p.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nJPEG\r\n--b--\r\n"
            );
            let upload = Request::builder()
                .method(Method::POST)
                .uri(upload)
                .header("content-type", "multipart/form-data; boundary=b")
                .body(Full::new(body.into()))
                .unwrap();
            let http = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
            assert_eq!(http.send(upload).await.unwrap().status, 200);
        });
        assert_eq!(content(answer), "A photo: image/jpeg, 4 bytes");
    })
    .await;
}

#[tokio::test]
async fn what_the_phone_says_went_wrong_reaches_the_app() {
    with_camera(async |mut stage| {
        let ada = stage.p.user(ADA);
        let tool = format!("{TODO}:photo");
        let (answer, ()) = tokio::join!(ada.call(&tool, json!({})), async {
            let request = stage.device.hear("photo_request").await.unwrap();
            let error = json!({ "code": "CAMERA_BUSY", "message": "the camera is in use" });
            let failed = json!({ "type": "photo_response", "requestId": request["requestId"], "success": false,
                "error": error });
            stage.device.say(failed).await;
        });
        let told = content(answer);
        assert!(told.contains("the camera is in use") && told.contains("CAMERA_BUSY"), "{told}");
        assert_eq!(stage.app.count("error"), 0);
    })
    .await;
}

#[tokio::test]
async fn glasses_without_a_camera_take_no_photo_and_nobody_waits() {
    with_camera(async |mut stage| {
        stage.device.wears("Even Realities G1").await;
        let told = content(stage.call("photo", json!({})).await);
        assert!(told.contains("Even Realities G1 has no camera"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_managed_stream_is_refused_with_a_reason() {
    with_camera(async |stage| {
        let told = content(stage.call("film", json!({})).await);
        assert!(told.starts_with("No stream: this platform offers no managed streams"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn battery_charging_and_network_reach_the_app() {
    story(async |mut stage| {
        stage.device.say(json!({ "type": "glasses_battery_update", "level": 81, "charging": true })).await;
        stage.open_app().await;
        stage.device_shows("ready").await;
        assert_eq!(stage.app.hears("battery").await["level"], 81, "known before the app began");
        stage.device.say(json!({ "type": "glasses_battery_update", "level": 80, "charging": false })).await;
        assert_eq!(stage.app.hears("battery").await["level"], 80);
        let wifi = json!({ "connected": true, "ssid": "home" });
        let state = json!({ "type": "glasses_connection_state", "modelName": "Even Realities G1",
            "status": "CONNECTED", "wifi": wifi });
        stage.device.say(state).await;
        assert_eq!(stage.app.hears("wifi").await["ssid"], "home");
        let facts = facts(&stage).await;
        assert_eq!(
            (&facts["batteryLevel"], &facts["charging"], &facts["wifiConnected"], &facts["wifiSsid"]),
            (&json!(80), &json!(false), &json!(true), &json!("home"))
        );
        assert_eq!(stage.app.count("error"), 0);
    })
    .await;
}

#[tokio::test]
async fn settings_of_the_platform_are_there_from_the_start_and_survive_settings_of_the_app() {
    story(async |mut stage| {
        let path = "/api/settings/platform";
        stage
            .ada()
            .put(path, &json!({ "userTimezone": "Europe/London", "metricSystemEnabled": true }))
            .await
            .expect(200);
        stage.open_app().await;
        assert_eq!(stage.app.hears("session").await["zone"], "Europe/London");
        // The SDK takes the settings of the app for those of the platform, and loses these until they come again.
        stage.ada().put(&format!("/api/settings/apps/{TODO}"), &json!({ "loud": true })).await.expect(200);
        assert_eq!(stage.app.hears("setting").await["loud"], true);
        let seen = facts(&stage).await;
        assert_eq!((&seen["zone"], &seen["metric"]), (&json!("Europe/London"), &json!(true)));
        stage.ada().put(path, &json!({ "userTimezone": "Asia/Tokyo" })).await.expect(200);
        while stage.app.hears("zone").await["zone"] != "Asia/Tokyo" {}
        let seen = facts(&stage).await;
        assert_eq!((&seen["zone"], &seen["metric"]), (&json!("Asia/Tokyo"), &json!(true)));
        assert_eq!(stage.app.count("error"), 0);
    })
    .await;
}

#[tokio::test]
async fn what_an_app_writes_is_on_the_dashboard_and_looking_up_is_told() {
    story(async |mut stage| {
        stage.open_app().await;
        stage.device_shows("ready").await;
        assert_eq!(content(stage.call("dashboard", json!({ "text": "3 open" })).await), "Written");
        let drawn = loop {
            let drawn = stage.device.hear("display_event").await.unwrap();
            if drawn["view"] == "dashboard" {
                break drawn;
            }
        };
        assert_eq!(drawn["layout"]["rightText"], "3 open");
        stage.device.say(json!({ "type": "head_position", "position": "up" })).await;
        assert_eq!(stage.app.hears("mode").await["mode"], "main");
        stage.device.say(json!({ "type": "head_position", "position": "down" })).await;
        assert_eq!(stage.app.hears("mode").await["mode"], "none");
    })
    .await;
}
