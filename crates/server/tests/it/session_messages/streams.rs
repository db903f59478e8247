//! Live video belongs to the app that started it.

use serde_json::json;

use super::{Stage, Started, of_type};

const FILM: &str = "com.example.film";
const THIEF: &str = "com.example.thief";

#[tokio::test]
async fn an_app_cannot_stop_or_replace_or_watch_the_stream_of_another() {
    let mut stage = Stage::new().await;
    let (_film, mut film) = stage.app(FILM, &["CAMERA"], Started::Opened).await;
    let (_thief, mut thief) = stage.app(THIEF, &["ALL"], Started::Opened).await;
    stage.settle(&mut film).await;
    stage.settle(&mut thief).await;
    let start = json!({ "type": "rtmp_stream_request", "rtmpUrl": "rtmp://x.example/live/secret" });
    let (_, device) = stage.exchange(&mut film, start.clone()).await;
    let started = of_type(&device, "start_stream")[0].clone();
    assert_eq!(
        (&started["appId"], &started["packageName"], &started["rtmpUrl"]),
        (&json!(FILM), &json!(FILM), &json!("rtmp://x.example/live/secret"))
    );
    let id = started["streamId"].as_str().unwrap().to_owned();

    let listen = json!({ "type": "subscription_update", "subscriptions": ["rtmp_stream_status", "*"] });
    stage.exchange(&mut thief, listen).await;
    for stop in [
        json!({ "type": "rtmp_stream_stop" }),
        json!({ "type": "rtmp_stream_stop", "streamId": id }),
        json!({ "type": "stream_stop", "streamId": id, "packageName": FILM, "appId": FILM }),
    ] {
        let (app, device) = stage.exchange(&mut thief, stop).await;
        assert!(device.is_empty(), "{device:?}");
        assert_eq!(of_type(&app, "permission_error")[0]["details"][0]["requiredPermission"], "STREAM_OWNER");
    }
    let (app, device) = stage.exchange(&mut thief, start).await;
    assert!(device.is_empty(), "{device:?}");
    assert_eq!(of_type(&app, "rtmp_stream_status")[0]["status"], "error");
    let (app, _) = stage.exchange(&mut thief, json!({ "type": "stream_status_check" })).await;
    let seen = of_type(&app, "stream_status_check_response")[0];
    assert_eq!((&seen["hasActiveStream"], seen.get("streamInfo")), (&json!(true), None));

    stage.device.say(json!({ "type": "rtmp_stream_status", "streamId": id, "status": "active" })).await;
    let status = film.receive("rtmp_stream_status").await.unwrap();
    assert_eq!((&status["status"], &status["appId"]), (&json!("active"), &json!(FILM)));
    let (app, _) = stage.settle(&mut thief).await;
    assert!(app.is_empty(), "the thief hears nothing of it: {app:?}");

    let (app, _) = stage.exchange(&mut film, json!({ "type": "stream_status_check" })).await;
    let seen = &of_type(&app, "stream_status_check_response")[0]["streamInfo"];
    assert_eq!((&seen["streamId"], &seen["status"]), (&json!(id), &json!("active")));
    let (_, device) = stage.exchange(&mut film, json!({ "type": "rtmp_stream_stop", "streamId": id })).await;
    assert_eq!(of_type(&device, "stop_stream")[0]["streamId"], json!(id));
}

#[tokio::test]
async fn a_stream_ends_with_its_app() {
    let mut stage = Stage::new().await;
    let (_film, mut film) = stage.app(FILM, &["CAMERA"], Started::Opened).await;
    let start = json!({ "type": "rtmp_stream_request", "rtmpUrl": "rtmp://x.example/live" });
    let (_, device) = stage.exchange(&mut film, start).await;
    let id = of_type(&device, "start_stream")[0]["streamId"].clone();
    stage.p.user("ada").post(&format!("/api/session/apps/{FILM}/stop"), &json!({})).await.expect(204);
    assert_eq!(stage.device.hear("stop_stream").await.unwrap()["streamId"], id);
}

#[tokio::test]
async fn a_stream_that_failed_makes_room_for_the_next() {
    let mut stage = Stage::new().await;
    let (_film, mut film) = stage.app(FILM, &["CAMERA"], Started::Opened).await;
    let (_other, mut other) = stage.app("com.example.other", &["CAMERA"], Started::Opened).await;
    let start = json!({ "type": "rtmp_stream_request", "rtmpUrl": "rtmp://x.example/live" });
    stage.exchange(&mut film, start.clone()).await;
    stage
        .device
        .say(json!({ "type": "rtmp_stream_status", "status": "error", "errorDetails": "no network" }))
        .await;
    let status = film.receive("rtmp_stream_status").await.unwrap();
    assert_eq!((&status["status"], &status["errorDetails"]), (&json!("error"), &json!("no network")));
    let (_, device) = stage.exchange(&mut other, start).await;
    assert_eq!(of_type(&device, "start_stream").len(), 1);
}

#[tokio::test]
async fn managed_streams_are_refused_at_once() {
    let mut stage = Stage::new().await;
    let (_film, mut film) = stage.app(FILM, &["CAMERA"], Started::Opened).await;
    stage.settle(&mut film).await;
    let (app, device) = stage.exchange(&mut film, json!({ "type": "managed_stream_request" })).await;
    let status = of_type(&app, "managed_stream_status")[0];
    assert_eq!(status["status"], "error");
    assert!(status["message"].as_str().unwrap().contains("no managed streams"), "{status}");
    assert!(device.is_empty(), "{device:?}");
}

#[tokio::test]
async fn glasses_without_a_camera_send_no_video() {
    let mut stage = Stage::new().await;
    stage.device.wears("Even Realities G1").await;
    let (_film, mut film) = stage.app(FILM, &["CAMERA"], Started::Opened).await;
    stage.settle(&mut film).await;
    let start = json!({ "type": "rtmp_stream_request", "rtmpUrl": "rtmp://x.example/live" });
    let (app, device) = stage.exchange(&mut film, start).await;
    assert!(device.is_empty(), "{device:?}");
    let status = of_type(&app, "rtmp_stream_status")[0];
    assert_eq!(status["errorDetails"], "Even Realities G1 has no camera");
}
