//! `/api/me`, which the console reads first, and the models of glasses.

use serde_json::{Value, json};
use toolyard_server::{auth::Role, config::SpeakBy};

use crate::{
    identity::app_of,
    platform::{ECHO, Platform, tokens_only},
};

#[tokio::test]
async fn in_dev_mode_the_default_is_the_operator_and_a_header_names_the_user() {
    // Depends on what is installed on this machine.
    let p = Platform::with(|config| config.speech.speak = SpeakBy::Off).await;
    let nobody = p.nobody().get("/api/me").await.expect(200).json();
    let expected = json!({ "name": "dev", "role": "operator", "userId": null, "authMode": "dev",
        "account": null, "session": null, "version": env!("CARGO_PKG_VERSION"), "plugins": { "enabled": false, "curates": false },
        "speech": { "speak": false, "transcribe": false } });
    assert_eq!(nobody, expected);
    let ada = p.user("Ada").get("/api/me").await.expect(200).json();
    assert_eq!(
        (&ada["name"], &ada["userId"], &ada["role"]),
        (&json!("ada"), &json!("ada"), &json!("operator"))
    );
    let unreadable = p.as_with(&[("x-user-id", "a b")]).get("/api/me").await.expect(400);
    assert_eq!(unreadable.code(), "INVALID_REQUEST");
    assert!(!p.state.sessions.is_live(&"ada".parse().unwrap()), "asking opens no session");
}

#[tokio::test]
async fn in_token_mode_the_token_identifies_the_person() {
    let p = Platform::with(|config| {
        crate::plugins::curating(config);
        tokens_only(config);
    })
    .await;
    assert_eq!(p.nobody().get("/api/me").await.expect(401).code(), "UNAUTHORIZED");
    p.user("ada").get("/api/me").await.expect(401);
    let ends = jiff::Timestamp::from_second(toolyard_core::ports::Clock::now(&*p.clock).as_second() + 3_600)
        .unwrap();
    for (role, word) in [
        (Role::User, "user"),
        (Role::Developer, "developer"),
        (Role::Curator, "curator"),
        (Role::Operator, "operator"),
    ] {
        let me = p.bearer(&p.token("ada", role)).get("/api/me").await.expect(200).json();
        assert_eq!((&me["name"], &me["role"], &me["userId"]), (&json!("ada"), &json!(word), &json!("ada")));
        assert_eq!(
            (&me["authMode"], &me["plugins"]),
            (&json!("token"), &json!({ "enabled": true, "curates": true }))
        );
        let told: jiff::Timestamp = me["tokenEndsAt"].as_str().unwrap().parse().unwrap();
        assert_eq!(told, ends);
    }
    let root = p.bearer(&p.token("root", Role::Operator)).header("x-user-id", "bob");
    let me = root.get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["userId"]), (&json!("root"), &json!("bob")));
    p.bearer(&p.token("ada", Role::User)).header("x-user-id", "bob").get("/api/me").await.expect(403);
    // A developer's name need not be a valid user id.
    let odd = p.bearer(&p.token("The Build", Role::Developer)).get("/api/me").await.expect(200).json();
    assert_eq!((&odd["name"], &odd["userId"]), (&json!("The Build"), &Value::Null));
}

#[tokio::test]
async fn an_app_key_is_not_a_person() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    assert_eq!(p.bearer(&key).get("/api/me").await.expect(403).code(), "FORBIDDEN");
    p.bearer(&key).header("x-user-id", "ada").get("/api/me").await.expect(403);
}

#[tokio::test]
async fn the_models_of_glasses_are_listed_in_a_fixed_order() {
    let p = Platform::with(tokens_only).await;
    let devices = p.nobody().get("/api/devices").await.expect(200).json();
    let names: Vec<&str> = devices["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["modelName"].as_str().unwrap())
        .collect();
    assert_eq!(names, toolyard_protocol::device::profile_names().collect::<Vec<_>>());
    assert_eq!(devices["models"][3]["hasCamera"], true, "Mentra Live");
}
