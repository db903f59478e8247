//! Approvals through MCP clients whose token the operator trusts.

use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::FakeApp;

use super::{
    approvals::{
        deletion, is_link, modern_deletion, opens_pages, pending, question_of, respond, retry, session_of,
        text,
    },
    client::{Ask, LEGACY},
};
use crate::{
    approvals::{DELETE, runs, start},
    platform::{Person, Platform, tokens_only},
};

fn shows_forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// What a client sends after the user filled in the form.
fn form(answer: &str) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

async fn made_token(who: &Person<'_>, body: Value) -> (String, String) {
    let made = who.post("/api/tokens", &body).await.expect(201).json();
    (made["token"].as_str().unwrap().to_owned(), made["info"]["id"].as_str().unwrap().to_owned())
}

/// A platform that trusts one token of Ada and one of an operator. Deleting forever is of high risk.
async fn trusting() -> (Platform, FakeApp, [String; 3]) {
    let rules = json!([{ "arguments": [{ "pointer": "/forever", "equals": true }], "decision": "ask", "risk": "high" }]);
    let (p, app, _device) =
        start(|config| config.approvals.rules = serde_json::from_value(rules).unwrap()).await;
    let p = p.restart_with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let (trusted, id) = made_token(&ada, json!({ "name": "desk" })).await;
    let (other, _) = made_token(&ada, json!({ "name": "agent" })).await;
    let root = p.bearer(&p.token("root", Role::Operator));
    let (operator, operator_id) = made_token(&root, json!({ "name": "desk", "role": "operator" })).await;
    let ids = [id, operator_id].map(|id| id.parse().unwrap());
    let p = p.restart_with(|config| config.approvals.mcp_clients = ids.to_vec()).await;
    (p, app, [trusted, other, operator])
}

#[tokio::test]
async fn a_trusted_client_answers_by_form() {
    let (p, app, [token, ..]) = trusting().await;
    let ada = p.bearer(&token);
    for revision in [LEGACY, "2025-06-18"] {
        let session = session_of(&ada, revision, json!({ "elicitation": {} })).await;
        let (mut events, question) = question_of(&session, deletion("milk")).await;
        assert!(question["params"].get("url").is_none(), "{question}");
        let field = &question["params"]["requestedSchema"]["properties"]["answer"];
        assert_eq!((&field["enum"], field.get("default")), (&json!(["yes", "no"]), None));
        let id = pending(&ada).await.remove(0);
        respond(&session, &question, form("yes")).await;
        assert_eq!(text(&events.message().await["result"]), "deleted");
        let shown = ada.get(&format!("/api/approvals/{id}")).await.json();
        assert_eq!((&shown["answer"]["surface"], &shown["answer"]["by"]), (&json!("mcp"), &json!("ada")));
        // A no is the user's answer; a declined or incomplete form is none.
        let (mut events, question) = question_of(&session, deletion("milk")).await;
        respond(&session, &question, form("no")).await;
        let denied = events.message().await;
        assert_eq!(denied["result"]["_meta"]["toolyard/error"]["code"], "DENIED", "{denied}");
    }
    assert_eq!(runs(&app), 2);
    let session = session_of(&ada, LEGACY, shows_forms()).await;
    for response in [json!({ "action": "decline" }), json!({ "action": "accept", "content": {} }), form("y")]
    {
        let (mut events, question) = question_of(&session, deletion("milk")).await;
        respond(&session, &question, response).await;
        is_link(&ada, &events.message().await["result"]).await;
    }
    assert_eq!(runs(&app), 2);
}

#[tokio::test]
async fn a_trusted_modern_client_answers_by_form() {
    let (p, app, [token, other, _]) = trusting().await;
    let ada = p.bearer(&token);
    let ask = || modern_deletion("milk", shows_forms());
    let asked = ada.ask(ask()).await.result();
    assert!(asked["inputRequests"]["approval"]["params"]["requestedSchema"].is_object(), "{asked}");
    // The same state with a token that is not trusted is no answer.
    let untrusted = p.bearer(&other).ask(retry(ask(), &asked, Some(form("yes")))).await.result();
    is_link(&ada, &untrusted).await;
    assert_eq!(runs(&app), 0);
    let done = ada.ask(retry(ask(), &asked, Some(form("yes")))).await.result();
    assert_eq!((text(&done), runs(&app)), ("deleted", 1));
}

#[tokio::test]
async fn other_tokens_other_people_and_high_risk_need_the_page() {
    let (p, app, [token, other, operator]) = trusting().await;
    let (ada, agent) = (p.bearer(&token), p.bearer(&other));
    let session = session_of(&agent, LEGACY, shows_forms()).await;
    is_link(&ada, &session.ask("tools/call", deletion("milk")).await.result()).await;
    let asked = agent.ask(modern_deletion("milk", opens_pages())).await.result();
    assert_eq!(asked["inputRequests"]["approval"]["params"]["mode"], "url");

    // An operator who acts for the user is not the user.
    let operator = p.bearer(&operator).header("x-user-id", "ada");
    let result = operator.ask(modern_deletion("milk", shows_forms())).await.result();
    assert!(text(&result).contains("/console/approvals/"), "{result}");

    let forever = json!({ "name": DELETE, "arguments": { "id": "milk", "forever": true } });
    let session = session_of(&ada, LEGACY, shows_forms()).await;
    let result = session.ask("tools/call", forever.clone()).await.result();
    assert!(text(&result).contains("/console/approvals/"), "{result}");
    let both = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut ask = Ask::modern("tools/call", forever);
    ask = ask.meta(toolyard_protocol::mcp::meta::CLIENT_CAPABILITIES, both);
    let asked = ada.ask(ask.clone()).await.result();
    let page = asked["inputRequests"]["approval"]["params"]["url"].as_str().unwrap();
    ada.ask(retry(ask, &asked, Some(json!({ "action": "decline", "content": { "answer": "yes" } }))))
        .await
        .result();
    let id = page.rsplit('/').next().unwrap();
    let body = json!({ "answer": "approve", "surface": "mcp" });
    let refused = ada.post(&format!("/api/approvals/{id}"), &body).await.expect(403);
    assert!(refused.text.contains("approvals page"), "{}", refused.text);
    assert_eq!((pending(&ada).await.len(), runs(&app)), (5, 0));
}
