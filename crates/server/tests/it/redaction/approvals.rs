//! Calls with secrets that the user has to approve: the question has placeholders, the tool gets the secrets.

use serde_json::{Value, json};
use toolyard_testkit::AppBehavior;

use super::{PASSWORD, Stage, WIPE, contains, database_url, github_token, placeholder_in, stored_bytes};

/// The question about a call that a model makes, and its id.
async fn question(stage: &Stage, placeholder: &str) -> (String, Value) {
    stage.ada().run(WIPE, json!({ "password": placeholder })).await;
    let list = stage.ada().get("/api/approvals?state=pending").await.expect(200).json();
    let asked = list["approvals"][0].clone();
    (asked["id"].as_str().unwrap().to_owned(), asked)
}

async fn approve(stage: &Stage, asked: &Value) -> Value {
    let id = asked["id"].as_str().unwrap();
    let body = json!({ "answer": "approve", "argumentsDigest": asked["argumentsDigest"] });
    stage.ada().post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    stage.ada().get(&format!("/api/approvals/{id}/outcome?wait=30")).await.json()
}

#[tokio::test]
async fn the_question_shows_a_placeholder_and_the_approved_call_gets_the_secret() {
    let stage = Stage::start(|_| {}).await;
    let placeholder = placeholder_in(&stage.model_reads(&database_url()).await);
    let (_, asked) = question(&stage, &placeholder).await;
    assert_eq!(asked["summary"]["lines"], json!([{ "label": "password", "value": placeholder }]));
    assert!(!asked.to_string().contains(PASSWORD));
    let (_, again) = question(&stage, &placeholder).await;
    assert_eq!(again["id"], asked["id"], "the same call is the same question");

    stage.vault_says(&format!("wiped with {PASSWORD}"));
    let done = approve(&stage, &asked).await;
    assert_eq!(stage.vault_received(), json!({ "password": PASSWORD }));
    assert_eq!(done["content"], format!("wiped with {PASSWORD}"), "the user reads it over REST");
    let bytes = stored_bytes(&stage.p);
    assert!(!contains(&bytes, PASSWORD), "neither arguments nor outcome are stored with it");
    let result = stage.ada().run(WIPE, json!({ "password": placeholder })).await;
    assert!(!result.to_string().contains(PASSWORD), "{result}");
}

#[tokio::test]
async fn a_person_gets_the_secret_that_an_approved_call_returns() {
    let stage = Stage::start(|_| {}).await;
    stage.vault_says(&github_token());
    let waiting = stage.ada().call(WIPE, json!({ "password": "x" })).await.expect(202).json();
    let id = waiting["pending"]["id"].as_str().unwrap();
    stage.ada().post(&format!("/api/approvals/{id}"), &json!({ "answer": "approve" })).await.expect(200);
    stage.vault.wait_requests("/tool", 1).await;
    let again = loop {
        let again = stage.ada().call(WIPE, json!({ "password": "x" })).await;
        if again.status != 202 {
            break again;
        }
    };
    assert_eq!(again.expect(200).json()["content"], github_token());
    assert!(!contains(&stored_bytes(&stage.p), &github_token()));
}

#[tokio::test]
async fn after_a_restart_an_approved_call_whose_secret_is_gone_does_not_run() {
    let stage = Stage::start(|_| {}).await;
    let placeholder = placeholder_in(&stage.model_reads(&github_token()).await);
    let (id, _) = question(&stage, &placeholder).await;
    let stage = stage.restart().await;
    let runs = stage.vault.requests("/tool").len();
    let asked = stage.ada().get(&format!("/api/approvals/{id}")).await.expect(200).json();
    let outcome = approve(&stage, &asked).await;
    assert_eq!(outcome["error"]["code"], "INVALID_ARGUMENTS", "{outcome}");
    assert!(outcome["error"]["message"].as_str().unwrap().contains("is no longer available"), "{outcome}");
    assert_eq!(stage.ada().get(&format!("/api/approvals/{id}")).await.json()["state"], "void");
    assert_eq!(stage.vault.requests("/tool").len(), runs);
}

#[tokio::test]
async fn rules_look_at_the_secret_itself() {
    let stage = Stage::start(|config| {
        let rule = json!({ "tools": [WIPE], "decision": "deny",
            "arguments": [{ "pointer": "/password", "equals": github_token() }] });
        config.approvals.rules = vec![serde_json::from_value(rule).unwrap()];
    })
    .await;
    let placeholder = placeholder_in(&stage.model_reads(&github_token()).await);
    stage.vault.set_behavior(AppBehavior::reply("wiped"));
    let refused = stage.ada().run(WIPE, json!({ "password": placeholder })).await.to_string();
    assert!(refused.contains("does not allow this call"), "{refused}");
}
