//! The error message of a failed call: shown to permitted users, limited in size, and kept for a day.

use serde_json::{Value, json};
use toolyard_core::limits::MAX_ERROR_MESSAGE_BYTES;
use toolyard_server::auth::Role;
use toolyard_testkit::AppBehavior;

use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, tokens_only},
};

const HOUR: i64 = 3_600;

async fn newest(who: &Person<'_>, query: &str) -> Value {
    who.get(&format!("/api/calls{query}")).await.expect(200).json()["calls"][0].clone()
}

/// Ada calls, and the app fails with this message.
async fn failed(p: &Platform, app: &toolyard_testkit::FakeApp, message: &str) {
    app.set_behavior(AppBehavior::Json(500, json!({ "status": "error", "message": message })));
    p.call_echo().await.expect(500);
}

#[tokio::test]
async fn the_message_of_the_app_is_shown_with_its_call() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    failed(&p, &app, "no milk in the fridge").await;
    let ada = p.user("ada");
    let call = newest(&ada, "").await;
    assert!(call["errorMessage"].as_str().unwrap().contains("no milk in the fridge"), "{call}");
    let one = ada.get(&format!("/api/calls/{}", call["id"].as_str().unwrap())).await.expect(200).json();
    assert_eq!(one, call);
    // Ids sort by time, and at one moment in any order.
    p.clock.advance(1);
    app.set_behavior(AppBehavior::reply("ok"));
    p.call_echo().await.expect(200);
    assert_eq!(newest(&ada, "").await.get("errorMessage"), None);
}

#[tokio::test]
async fn an_error_message_is_truncated_to_its_limit() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    failed(&p, &app, &"ü".repeat(MAX_ERROR_MESSAGE_BYTES)).await;
    let call = newest(&p.user("ada"), "").await;
    let message = call["errorMessage"].as_str().unwrap();
    assert!(message.len() <= MAX_ERROR_MESSAGE_BYTES && message.ends_with('…'), "{}", message.len());
    assert!(message.len() > MAX_ERROR_MESSAGE_BYTES - 8, "{}", message.len());
}

#[tokio::test]
async fn a_message_is_kept_for_a_day_and_its_call_for_longer() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    failed(&p, &app, "no milk").await;
    p.clock.advance(24 * HOUR - 1);
    assert!(newest(&p.user("ada"), "").await["errorMessage"].is_string());
    p.clock.advance(1);
    let call = newest(&p.user("ada"), "").await;
    assert_eq!((call.get("errorMessage"), &call["outcome"]), (None, &json!("EXECUTION_ERROR")));
}

#[tokio::test]
async fn no_error_message_is_stored_if_the_operator_disables_it() {
    let p = Platform::with(|config| config.ledger.error_message_hours = 0).await;
    let (app, _device) = p.echo().await;
    failed(&p, &app, "a secret of the app").await;
    assert_eq!(newest(&p.user("ada"), "").await.get("errorMessage"), None);
    let folder = p.data().parent().unwrap().to_owned();
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(8).any(|part| part == b"a secret"));
    }
}

#[tokio::test]
async fn developers_see_what_their_app_said_and_not_what_users_wrote() {
    let p = Platform::with(tokens_only).await;
    let (app, _) = app_of(&p, "dora", ECHO).await;
    let (ada, dora) = (p.bearer(&p.token("ada", Role::User)), p.bearer(&p.token("dora", Role::Developer)));
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    app.set_behavior(AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })));
    ada.call(&format!("{ECHO}:echo"), json!({ "text": "x" })).await.expect(500);
    assert!(newest(&dora, "?of=apps").await["errorMessage"].as_str().unwrap().contains("no milk"));
    p.clock.advance(1);
    ada.call(&format!("{ECHO}:echo"), json!({ "text": 5, "more": "my password" })).await.expect(400);
    for (who, query) in [(&dora, "?of=apps"), (&ada, "")] {
        let call = newest(who, query).await;
        assert_eq!((&call["outcome"], call.get("errorMessage")), (&json!("INVALID_ARGUMENTS"), None));
    }
}
