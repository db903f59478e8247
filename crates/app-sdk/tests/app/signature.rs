//! With a signing secret the app accepts only requests of the platform.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_app_sdk::{AppServerBuilder, Clock, NoArguments, create_tool};
use toolyard_net::{SIGNATURE_HEADER, SigningKey, TIMESTAMP_HEADER};

use crate::{
    client::{ADA, call, json_of, post, request, send},
    fixture::{TestApp, builder},
};

const NOW: i64 = 1_767_323_045_678;
const TOLERANCE: i64 = 5 * 60 * 1000;

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(NOW).unwrap()
    }
}

fn app() -> AppServerBuilder {
    let tool = create_tool("ok", "", |_: NoArguments, _| async { Ok::<_, &str>("fine") }).build().unwrap();
    builder().clock(FixedClock).signing_secret("the-secret").register_tool(tool)
}

async fn signed(app: &TestApp, path: &str, body: &Value, secret: &str, time: i64) -> (StatusCode, Value) {
    let body = body.to_string();
    let request = request(&app.at(path))
        .header(TIMESTAMP_HEADER, time)
        .header(SIGNATURE_HEADER, SigningKey::new(secret).sign(time, body.as_bytes()));
    json_of(send(request, body).await).await
}

#[tokio::test]
async fn only_recent_signatures_of_the_platform_are_accepted() {
    let app = TestApp::start(app()).await;
    let call = call("ok", json!({}));
    for (secret, time, status) in [
        ("the-secret", NOW, 200),
        ("the-secret", NOW - TOLERANCE, 200),
        ("the-secret", NOW + TOLERANCE, 200),
        ("the-secret", NOW - TOLERANCE - 1, 401),
        ("the-secret", NOW + TOLERANCE + 1, 401),
        ("another-secret", NOW, 401),
    ] {
        let (got, answer) = signed(&app, "/tool", &call, secret, time).await;
        assert_eq!(got.as_u16(), status, "{secret} {time}");
        assert_eq!(answer["success"], status == 200);
        if status == 401 {
            assert_eq!(answer["error"]["code"], "UNAUTHORIZED");
        }
    }
}

#[tokio::test]
async fn every_post_needs_a_signature() {
    let app = TestApp::start(app()).await;
    for path in ["/tool", "/prompt", "/resource"] {
        let (status, answer) = post(&app.at(path), &call("ok", json!({}))).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("no signature"), "{answer}");
    }
    let stop = json!({ "type": "stop_request", "sessionId": "s-1", "userId": ADA });
    let settings = json!({ "userIdForSettings": ADA, "settings": [] });
    for (path, body) in [("/webhook", stop), ("/settings", settings)] {
        let (status, answer) = post(&app.at(path), &body).await;
        assert_eq!((status, &answer["status"]), (StatusCode::UNAUTHORIZED, &json!("error")), "{path}");
        let (status, answer) = signed(&app, path, &body, "the-secret", NOW).await;
        assert_eq!((status, &answer["status"]), (StatusCode::OK, &json!("success")), "{path}");
    }
}
