//! Tools of apps: what an operator publishes is accepted; what the developer or the app's key publishes waits.

use serde_json::{Value, json};
use toolyard_core::pinning::PinMode;
use toolyard_server::auth::Role;

use super::world::{answer, listed_tool, only_change, waiting};
use crate::platform::{ECHO, Person, Platform, echo_tool, tokens_only};

const ALIAS: &str = "com_example_echo__echo";

fn changed_tool(description: &str) -> Value {
    let mut tool = echo_tool();
    tool["description"] = json!(description);
    json!({ "tools": [tool] })
}

async fn publish(person: &Person<'_>, description: &str) {
    person.post(&format!("/api/apps/{ECHO}/tools"), &changed_tool(description)).await.expect(200);
}

async fn description(person: &Person<'_>) -> Value {
    listed_tool(person, ALIAS).await["description"].clone()
}

#[tokio::test]
async fn a_developers_change_waits_for_users_and_an_operators_does_not() {
    let p = Platform::with(tokens_only).await;
    let operator = p.bearer(&p.token("op", Role::Operator));
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let ada = p.bearer(&p.token("ada", Role::User));
    let app = json!({ "packageName": ECHO, "name": "Echo", "kind": "tools-only", "publicUrl": "http://127.0.0.1:9",
        "tools": [echo_tool()] });
    let created = dora.post("/api/apps", &app).await.expect(201).json();
    for user in [&ada, &dora] {
        user.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    }
    assert_eq!(description(&ada).await, "Says it again");
    publish(&dora, "Says it twice").await;
    assert_eq!(description(&ada).await, "Says it again", "users keep what was accepted");
    assert_eq!(description(&dora).await, "Says it twice", "the owner gets the newest");
    let key = p.bearer(&format!("{ECHO}:{}", created["apiKey"].as_str().unwrap()));
    publish(&key, "Says it three times").await;
    assert_eq!(description(&ada).await, "Says it again");
    assert_eq!(description(&dora).await, "Says it three times");
    answer(&ada, &only_change(&ada).await, "accept").await.expect(204);
    assert_eq!(description(&ada).await, "Says it three times");
    assert_eq!(waiting(&operator).await, ["changed tool echo"]);
    publish(&operator, "Says it four times").await;
    assert_eq!((waiting(&operator).await, waiting(&ada).await), (Vec::new(), Vec::new()));
    for person in [&ada, &dora] {
        assert_eq!(description(person).await, "Says it four times");
    }
    let pins = operator.get(&format!("/api/definitions/pins/{ECHO}")).await.expect(200).json();
    assert_eq!((&pins["pins"][0]["origin"], &pins["pins"][0]["by"]), (&json!("published"), &json!("op")));
}

#[tokio::test]
async fn a_change_of_an_app_can_be_applied_with_a_note() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.definitions.apps = Some(PinMode::Note);
    })
    .await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let ada = p.bearer(&p.token("ada", Role::User));
    let app = json!({ "packageName": ECHO, "name": "Echo", "kind": "tools-only", "publicUrl": "http://127.0.0.1:9",
        "tools": [echo_tool()] });
    dora.post("/api/apps", &app).await.expect(201);
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    publish(&dora, "Says it twice").await;
    assert_eq!(description(&ada).await, "Says it twice");
    let pins = ada.get(&format!("/api/definitions/pins/{ECHO}")).await.expect(200).json();
    assert!(pins["notes"][0]["text"].as_str().unwrap().starts_with("changed and applied"), "{pins}");
    assert_eq!(pins["pins"][0]["origin"], "noted");
}
