//! Handshakes, and what a session can do.

use http::Method;
use serde_json::{Value, json};

use super::client::{Ask, LEGACY, MODERN, hello};
use crate::platform::Platform;

const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", LEGACY];

#[tokio::test]
async fn a_handshake_answers_with_the_clients_revision_or_the_newest_that_has_one() {
    let p = Platform::start().await;
    let answered = REVISIONS.map(|revision| (revision, revision)).into_iter();
    let others = ["2024-11-05", "2027-01-01", MODERN, "soon", ""].map(|other| (other, LEGACY));
    for (wished, got) in answered.chain(others) {
        let session = p.user("ada").handshake(wished).await;
        assert_eq!(session.result["protocolVersion"], got, "{wished}");
        assert_eq!(session.result["serverInfo"]["name"], "toolyard");
        assert!(
            session.id.bytes().all(|b| (0x21..=0x7e).contains(&b)) && session.id.len() > 32,
            "{}",
            session.id
        );
        assert_eq!(session.tell("notifications/initialized", json!({})).await, 202);
        assert_eq!(session.ask("ping", json!({})).await.result(), json!({}));
    }
}

#[tokio::test]
async fn a_handshake_is_one_by_its_method_whatever_its_headers_say() {
    let p = Platform::start().await;
    for revision in [MODERN, LEGACY, "2024-11-05", "soon"] {
        let ask = Ask::legacy("initialize", hello(LEGACY)).with("mcp-protocol-version", revision);
        let answer = p.user("ada").ask(ask.with("mcp-session-id", "an.old-one")).await;
        assert_eq!(answer.result()["protocolVersion"], LEGACY, "{revision}");
        assert_ne!(answer.header("mcp-session-id"), "");
    }
}

#[tokio::test]
async fn an_invalid_handshake_opens_no_session() {
    let p = Platform::start().await;
    for params in [
        Value::Null,
        json!({}),
        json!({ "protocolVersion": 20251125 }),
        json!({ "protocolVersion": LEGACY, "capabilities": [] }),
    ] {
        let answer = p.user("ada").ask(Ask::legacy("initialize", params.clone())).await;
        assert_eq!(answer.refusal(), (200, -32602), "{params}: {}", answer.text);
        assert_eq!((answer.json()["id"].clone(), answer.header("mcp-session-id")), (json!(1), ""));
    }
    // Unknown and too large capabilities are not stored in the id.
    let mut params = hello(LEGACY);
    params["capabilities"] = json!({ "elicitation": { "x": "y".repeat(20_000) }, "z": "z".repeat(20_000) });
    let answer = p.user("ada").ask(Ask::legacy("initialize", params)).await.expect(200);
    let id = answer.header("mcp-session-id").to_owned();
    assert!(id.len() < 1_000, "{} characters", id.len());
    p.user("ada").ask(Ask::legacy("ping", json!({})).with("mcp-session-id", &id)).await.result();
}

#[tokio::test]
async fn the_revision_may_be_named_again_and_must_be_one_that_we_speak() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    for revision in REVISIONS {
        let session = p.user("ada").handshake(revision).await;
        let list = |version: &str| session.person.clone().header("mcp-protocol-version", version);
        let ask = || Ask::legacy("tools/list", json!({}));
        // Missing is fine: older clients send none.
        assert_eq!(session.ask("tools/list", json!({})).await.result()["tools"].as_array().unwrap().len(), 1);
        for version in REVISIONS {
            list(version).ask(ask()).await.result();
        }
        for version in ["2024-11-05", "1999-01-01", ""] {
            let answer = list(version).ask(ask()).await;
            assert_eq!(answer.refusal(), (400, -32600), "{version}: {}", answer.text);
            assert_eq!(answer.json()["id"], 1);
            list(version).get("/mcp").await.expect(400);
            list(version).delete("/mcp").await.expect(400);
        }
        // A newer revision has no handshake, so the request lacks its required `_meta`.
        assert_eq!(list(MODERN).ask(ask()).await.refusal(), (400, -32602));
        assert_eq!(list("soon").ask(ask()).await.refusal(), (400, -32602));
        session.ask("ping", json!({})).await.result();
    }
}

#[tokio::test]
async fn errors_of_a_session_have_status_200() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let session = p.user("ada").handshake(LEGACY).await;
    for (method, params, code) in [
        ("nothing/here", json!({}), -32601),
        ("server/discover", json!({}), -32601),
        ("subscriptions/listen", json!({ "notifications": {} }), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": "no_such__tool" }), -32602),
        ("tools/list", json!({ "cursor": "nonsense" }), -32602),
        ("tools/list", json!({ "cursor": 5 }), -32602),
        ("prompts/get", json!({ "name": "none" }), -32602),
        ("prompts/get", json!({}), -32602),
        ("resources/read", json!({ "uri": "test://none" }), -32002),
        ("resources/read", json!({}), -32602),
        ("resources/subscribe", json!({ "uri": "test://none" }), -32002),
        ("completion/complete", json!({}), -32602),
        ("completion/complete", json!({ "ref": { "type": "ref/tool", "name": "x" } }), -32602),
        ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "x" } }), -32602),
        ("logging/setLevel", json!({}), -32602),
    ] {
        let answer = session.person.ask(Ask::legacy(method, params.clone()).id("x")).await;
        assert_eq!(answer.refusal(), (200, code), "{method} {params}: {}", answer.text);
        assert_eq!(answer.json()["id"], "x");
    }
}

#[tokio::test]
async fn the_level_of_log_lines_is_one_of_eight() {
    let p = Platform::start().await;
    let session = p.user("ada").handshake(LEGACY).await;
    for level in ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] {
        assert_eq!(session.ask("logging/setLevel", json!({ "level": level })).await.result(), json!({}));
    }
    for level in [json!("loud"), json!("DEBUG"), json!(""), json!(3), json!(null)] {
        let answer = session.ask("logging/setLevel", json!({ "level": level })).await;
        assert_eq!(answer.refusal(), (200, -32602), "{}", answer.text);
    }
}

#[tokio::test]
async fn an_ended_session_is_refused_everywhere() {
    let p = Platform::start().await;
    let (session, other) = (p.user("ada").handshake(LEGACY).await, p.user("ada").handshake(LEGACY).await);
    let (mut stream, mut others) = (session.get().await, other.get().await);
    let ended = session.person.delete("/mcp").await.expect(204);
    assert_eq!(ended.text, "");
    assert_eq!(stream.next().await, None, "its stream ends");
    let answer = session.ask("ping", json!({})).await;
    assert_eq!((answer.refusal(), answer.json()["id"].clone()), ((404, -32600), json!(1)));
    session.person.delete("/mcp").await.expect(404);
    session.person.get("/mcp").await.expect(404);
    assert_eq!(session.tell("notifications/initialized", json!({})).await, 404);
    other.ask("ping", json!({})).await.result();
    other.person.delete("/mcp").await.expect(204);
    assert_eq!(others.next().await, None);
}

#[tokio::test]
async fn requests_without_a_session_are_refused() {
    let p = Platform::start().await;
    let ada = p.user("ada");
    let answer = ada.ask(Ask::legacy("tools/list", json!({}))).await;
    assert_eq!((answer.refusal(), answer.json()["id"].clone()), ((400, -32600), json!(1)));
    assert!(answer.text.contains("initialize"), "{}", answer.text);
    for method in [Method::GET, Method::DELETE] {
        let answer = ada.send(method, "/mcp", None).await.expect(400);
        assert!(answer.json().get("id").is_none());
    }
}
