//! Photos: what the phone is sent, and what the app receives if there is no photo.

use serde_json::{Value, json};

use super::{Stage, Started, of_type};

const APP: &str = "com.example.camera";

#[tokio::test]
async fn the_phone_is_told_where_to_upload_and_with_which_token() {
    let mut stage = Stage::new().await;
    let (app, mut session) = stage.app(APP, &["CAMERA"], Started::Opened).await;
    let request = json!({ "type": "photo_request", "requestId": "p1", "size": "small", "compress": "none",
        "saveToGallery": true, "authToken": "sesame" });
    let (_, device) = stage.exchange(&mut session, request).await;
    let asked = of_type(&device, "photo_request")[0];
    assert_eq!(asked["webhookUrl"], format!("{}/photo-upload", app.url()));
    for (field, value) in [
        ("requestId", json!("p1")),
        ("appId", json!(APP)),
        ("packageName", json!(APP)),
        ("authToken", json!("sesame")),
        ("size", json!("small")),
        ("compress", json!("none")),
        ("saveToGallery", json!(true)),
    ] {
        assert_eq!(asked[field], value, "{field}");
    }
    let custom =
        json!({ "type": "photo_request", "requestId": "p2", "customWebhookUrl": "https://x.example/up" });
    let (_, device) = stage.exchange(&mut session, custom).await;
    let asked = of_type(&device, "photo_request")[0];
    assert_eq!((&asked["webhookUrl"], asked.get("customWebhookUrl")), (&json!("https://x.example/up"), None));
}

/// What the app receives on its socket and at its upload URL.
async fn failure(
    stage: &mut Stage,
    app: &toolyard_testkit::FakeApp,
    answer: &Value,
    times: usize,
    code: &str,
) {
    assert_eq!((&answer["success"], &answer["error"]["code"]), (&json!(false), &json!(code)), "{answer}");
    let reports = app.wait_requests("/photo-upload", times).await;
    let report = &reports[times - 1];
    assert!(report.headers.contains_key("x-toolyard-signature"), "{:?}", report.headers);
    assert_eq!(
        (&report.body["type"], &report.body["success"], &report.body["errorCode"], &report.body["requestId"]),
        (&json!("photo_error"), &json!(false), &json!(code), &answer["requestId"])
    );
    stage.device.say(json!({ "type": "ping" })).await;
    stage.device.hear("pong").await.unwrap();
}

#[tokio::test]
async fn a_failed_photo_is_reported_on_the_socket_and_at_the_upload_url() {
    let mut stage = Stage::new().await;
    let (app, mut session) = stage.app(APP, &["CAMERA"], Started::Opened).await;
    stage.settle(&mut session).await;
    // The phone reports a failure, in both formats.
    for (times, failed) in [
        json!({ "success": false, "errorCode": "CAMERA_BUSY", "errorMessage": "in use" }),
        json!({ "success": false, "error": { "code": "CAMERA_BUSY", "message": "in use" } }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut failed = failed;
        (failed["type"], failed["requestId"]) = (json!("photo_response"), json!("p1"));
        stage.exchange(&mut session, json!({ "type": "photo_request", "requestId": "p1" })).await;
        stage.device.say(failed).await;
        let answer = session.receive("photo_response").await.unwrap();
        assert_eq!(answer["error"]["message"], "in use");
        failure(&mut stage, &app, &answer, times + 1, "CAMERA_BUSY").await;
    }
    // A URL into a private network is not sent to the phone.
    let inside = json!({ "type": "photo_request", "requestId": "p2", "customWebhookUrl": "http://169.254.169.254/up" });
    let (heard, device) = stage.exchange(&mut session, inside).await;
    assert!(device.is_empty(), "{device:?}");
    let answer = of_type(&heard, "photo_response")[0].clone();
    failure(&mut stage, &app, &answer, 3, "UPLOAD_FAILED").await;
    // Glasses without a camera.
    stage.device.wears("Even Realities G1").await;
    let (heard, device) =
        stage.exchange(&mut session, json!({ "type": "photo_request", "requestId": "p3" })).await;
    assert!(of_type(&device, "photo_request").is_empty(), "{device:?}");
    let answer = of_type(&heard, "photo_response")[0].clone();
    failure(&mut stage, &app, &answer, 4, "CAMERA_INIT_FAILED").await;
}
