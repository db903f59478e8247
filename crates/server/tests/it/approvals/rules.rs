//! What runs without a question: rules, choices, remembered answers and grants.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::{DELETE, NOTES, delete, delete_tool, outcome, pending_id, runs, start};
use crate::platform::tokens_only;

#[tokio::test]
async fn users_choose_always_ask_and_never_within_the_operators_floor() {
    let rules = json!([{ "tools": ["*:delete"], "arguments": [{ "pointer": "/forever", "equals": true }],
        "decision": "ask", "floor": true }]);
    let (p, app, _device) =
        start(|config| config.approvals.rules = serde_json::from_value(rules).unwrap()).await;
    let ada = p.user("ada");
    let choose = async |choice: Value| ada.put(&format!("/api/approvals/choices/{DELETE}"), &choice).await;
    choose(json!({ "choice": "always", "days": 7 })).await.expect(200);
    delete(&p, "a").await.expect(200);
    let forever = ada.call(DELETE, json!({ "id": "a", "forever": true })).await;
    let id = pending_id(forever);
    let remember = json!({ "answer": "approve", "remember": { "scope": "tool" } });
    let refused = ada.post(&format!("/api/approvals/{id}"), &remember).await.expect(400);
    assert!(refused.text.contains("operator"), "a floor cannot be lowered: {}", refused.text);

    p.clock.advance(8 * 24 * 60 * 60);
    let lapsed = delete(&p, "a").await.expect(202).json();
    let id = lapsed["pending"]["id"].as_str().unwrap();
    assert_eq!(ada.get(&format!("/api/approvals/{id}")).await.json()["reason"], "lapsed");

    choose(json!({ "choice": "never" })).await.expect(200);
    assert_eq!(delete(&p, "b").await.expect(403).code(), "DENIED");
    choose(json!({ "choice": "ask" })).await.expect(200);
    pending_id(delete(&p, "b").await);
    ada.delete(&format!("/api/approvals/choices/{DELETE}")).await.expect(204);
    assert_eq!(ada.get("/api/approvals/choices").await.json(), json!({ "choices": [] }));
    choose(json!({ "choice": "always", "days": 0 })).await.expect(400);
    ada.put("/api/approvals/choices/com.example.notes:none", &json!({ "choice": "ask" })).await.expect(404);
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn rules_see_defaults_and_a_later_choice_to_be_asked_overrides_a_remembered_yes() {
    let rules = json!([{ "arguments": [{ "pointer": "/forever", "equals": false }], "decision": "ask" },
        { "decision": "allow" }]);
    let (p, _app, _device) =
        start(|config| config.approvals.rules = serde_json::from_value(rules).unwrap()).await;
    let ada = p.user("ada");
    let id = pending_id(delete(&p, "a").await);
    let body = json!({ "answer": "approve", "remember": { "scope": "tool" } });
    ada.post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    outcome(&p, &id).await.expect(200);
    delete(&p, "b").await.expect(200);
    p.clock.advance(1);
    ada.put(&format!("/api/approvals/choices/{DELETE}"), &json!({ "choice": "ask" })).await.expect(200);
    pending_id(delete(&p, "b").await);
}

#[tokio::test]
async fn always_ends_when_the_definition_changes() {
    let (p, _app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    ada.put(&format!("/api/approvals/choices/{DELETE}"), &json!({ "choice": "always" })).await.expect(200);
    delete(&p, "a").await.expect(200);
    let mut tool = delete_tool();
    tool["description"] = "Deletes every note".into();
    p.nobody().post(&format!("/api/apps/{NOTES}/tools"), &json!({ "tools": [tool] })).await.expect(200);
    pending_id(delete(&p, "a").await);
}

#[tokio::test]
async fn a_yes_is_remembered_for_the_tool_or_for_the_same_arguments_until_revoked() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let id = pending_id(delete(&p, "a").await);
    let body = json!({ "answer": "approve", "remember": { "scope": "arguments", "days": 1 } });
    ada.post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    outcome(&p, &id).await.expect(200);
    delete(&p, "a").await.expect(200);
    pending_id(delete(&p, "b").await);
    p.clock.advance(25 * 60 * 60);
    let id = pending_id(delete(&p, "a").await);

    let body = json!({ "answer": "approve", "remember": { "scope": "tool" } });
    ada.post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    outcome(&p, &id).await.expect(200);
    delete(&p, "c").await.expect(200);
    let grants = ada.get("/api/approvals/grants").await.json();
    assert_eq!(grants["grants"].as_array().unwrap().len(), 2);
    ada.delete(&format!("/api/approvals/grants/{id}")).await.expect(204);
    ada.delete(&format!("/api/approvals/grants/{id}")).await.expect(404);
    pending_id(delete(&p, "c").await);
    assert_eq!(runs(&app), 4);

    let id = pending_id(delete(&p, "d").await);
    for body in [
        json!({ "answer": "approve", "remember": { "scope": "conversation" } }),
        json!({ "answer": "deny", "remember": { "scope": "tool" } }),
        json!({ "answer": "approve", "remember": { "scope": "tool", "days": 4000 } }),
        json!({ "answer": "approve", "note": "x".repeat(600) }),
        json!({ "answer": "perhaps" }),
    ] {
        ada.post(&format!("/api/approvals/{id}"), &body).await.expect(400);
    }
}

#[tokio::test]
async fn calls_can_be_allowed_in_advance_within_bounds() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let grant = json!({ "tool": DELETE, "days": 1, "uses": 2,
        "arguments": [{ "pointer": "/id", "in": ["a", "b"] }] });
    ada.post("/api/approvals/grants", &grant).await.expect(201);
    delete(&p, "a").await.expect(200);
    pending_id(delete(&p, "c").await);
    delete(&p, "b").await.expect(200);
    pending_id(delete(&p, "a").await);
    assert_eq!(runs(&app), 2);
    for bad in [
        json!({ "tool": DELETE, "days": 1, "uses": 0 }),
        json!({ "tool": DELETE, "days": 0, "uses": 1 }),
        json!({ "tool": DELETE, "days": 1, "uses": 1, "arguments": [{ "pointer": "id", "equals": 1 }] }),
        json!({ "tool": DELETE, "days": 1, "uses": 1,
            "arguments": [{ "pointer": "/id", "equals": "x".repeat(5_000) }] }),
    ] {
        ada.post("/api/approvals/grants", &bad).await.expect(400);
    }
}

#[tokio::test]
async fn the_operator_changes_the_policy_at_run_time_and_can_see_what_a_rule_would_do() {
    let (p, _app, _device) = start(|_| {}).await;
    let p = p.restart_with(tokens_only).await;
    let operator = p.bearer(&p.token("root", Role::Operator));
    let ada = p.bearer(&p.token("ada", Role::User));
    ada.call(&format!("{NOTES}:read"), json!({})).await.expect(200);
    let rule = json!({ "tools": [format!("{NOTES}:*")], "decision": "deny" });
    let preview = operator.post("/api/approvals/preview", &rule).await.expect(200).json();
    assert_eq!((&preview["calls"], &preview["stricter"]), (&json!(1), &json!(1)));
    assert_eq!(preview["tools"][0]["tool"], format!("{NOTES}:read"));
    ada.put("/api/approvals/policy", &json!({ "rules": [rule] })).await.expect(403);
    let bad = operator
        .put("/api/approvals/policy", &json!({ "rules": [{ "tools": ["x"], "decision": "ask" }] }))
        .await;
    assert!(bad.expect(400).text.contains("rules[0].tools"));
    operator.put("/api/approvals/policy", &json!({ "preset": "open", "rules": [rule] })).await.expect(200);
    assert_eq!(ada.call(&format!("{NOTES}:read"), json!({})).await.expect(403).code(), "DENIED");
    let shown = ada.get("/api/approvals/policy").await.expect(200).json();
    assert_eq!((&shown["preset"], &shown["source"]), (&json!("open"), &json!("stored")));
    operator.delete("/api/approvals/policy").await.expect(204);
    ada.call(&format!("{NOTES}:read"), json!({})).await.expect(200);
}
