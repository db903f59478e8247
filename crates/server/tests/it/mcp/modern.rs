//! What a request without a handshake must contain.

use http::Method;
use serde_json::{Value, json};
use toolyard_protocol::mcp::meta;

use super::client::{Ask, LEGACY, MODERN};
use crate::platform::{Answer, Platform};

const ALIAS: &str = "com_example_echo__echo";

fn list() -> Ask {
    Ask::modern("tools/list", json!({}))
}

fn call() -> Ask {
    Ask::call(ALIAS, json!({ "text": "hi" }))
}

/// A refusal carries the id of its request.
fn refused(answer: &Answer, status: u16, code: i64, about: &str) {
    assert_eq!(answer.refusal(), (status, code), "{about}: {}", answer.text);
    assert_eq!(answer.json()["id"], 1, "{about}: {}", answer.text);
    assert!(answer.json()["result"].is_null(), "{about}: {}", answer.text);
    assert!(!answer.json()["error"]["message"].as_str().unwrap().is_empty(), "{about}");
}

#[tokio::test]
async fn meta_with_version_and_capabilities_is_required() {
    let p = Platform::start().await;
    let ada = p.user("ada");
    for (about, ask) in [
        ("no params", list().params(Value::Null)),
        ("no _meta", list().params(json!({}))),
        ("an empty _meta", list().params(json!({ "_meta": {} }))),
        ("_meta is a list", list().params(json!({ "_meta": [] }))),
        ("_meta is null", list().params(json!({ "_meta": null }))),
        ("no version", list().meta(meta::PROTOCOL_VERSION, Value::Null)),
        ("the version is a number", list().meta(meta::PROTOCOL_VERSION, json!(20260728))),
        ("no capabilities", list().meta(meta::CLIENT_CAPABILITIES, Value::Null)),
        ("the capabilities are a list", list().meta(meta::CLIENT_CAPABILITIES, json!([]))),
        ("the params are a list", list().params(json!([]))),
        ("a log level that is none", list().meta(meta::LOG_LEVEL, json!("loud"))),
    ] {
        refused(&ada.ask(ask).await, 400, -32602, about);
    }
    // Only `_meta` shows that it is modern; the header is missing.
    let ask = list().meta(meta::CLIENT_CAPABILITIES, Value::Null).without("mcp-protocol-version");
    refused(&ada.ask(ask).await, 400, -32602, "only a version in _meta");
    ada.ask(list().meta(meta::CLIENT_INFO, json!({ "name": "t" }))).await.result();
    ada.ask(list().meta(meta::LOG_LEVEL, json!("debug"))).await.result();
}

#[tokio::test]
async fn headers_must_match_the_body() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let ada = p.user("ada");
    let encoded = |text: &[u8]| {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        format!("=?base64?{}?=", STANDARD.encode(text))
    };
    for (header, others) in [
        ("mcp-protocol-version", ["2027-01-01", LEGACY]),
        ("mcp-method", ["tools/list", "Tools/Call"]),
        ("mcp-name", ["com.example.echo:echo", "COM_EXAMPLE_ECHO__ECHO"]),
    ] {
        let about = |what: &str| format!("{header}: {what}");
        refused(&ada.ask(call().without(header)).await, 400, -32020, &about("missing"));
        let value = match header {
            "mcp-protocol-version" => MODERN,
            "mcp-method" => "tools/call",
            _ => ALIAS,
        };
        refused(&ada.ask(call().with(header, value)).await, 400, -32020, &about("twice"));
        for other in others {
            refused(&ada.ask(call().instead(header, other)).await, 400, -32020, &about(other));
        }
        for bad in ["=?base64?!!?=", "=?base64?/w==?=", "=?base64??=", ""] {
            refused(&ada.ask(call().instead(header, bad)).await, 400, -32020, &about(bad));
        }
        ada.ask(call().instead(header, &encoded(value.as_bytes()))).await.result();
        ada.ask(call().instead(header, &format!(" \t{value}  "))).await.result();
    }
    assert_eq!(app.requests("/tool").len(), 6, "what was refused did not run");
}

#[tokio::test]
async fn prompts_and_resources_are_named_in_a_header_as_well() {
    let p = Platform::start().await;
    let ada = p.user("ada");
    let get = Ask::modern("prompts/get", json!({ "name": "größe" }));
    let read = Ask::modern("resources/read", json!({ "uri": "test://a b" }));
    for ask in [get, read] {
        let about = ask.method.clone();
        // With the right name, the method decides.
        refused(&ada.ask(ask.clone()).await, 200, -32602, &about);
        refused(&ada.ask(ask.clone().without("mcp-name")).await, 400, -32020, &about);
        refused(&ada.ask(ask.instead("mcp-name", "other")).await, 400, -32020, &about);
    }
    // What the body does not name cannot differ from the header.
    let nameless = Ask::modern("tools/call", json!({})).with("mcp-name", "any");
    refused(&ada.ask(nameless).await, 200, -32602, "no name");
}

#[tokio::test]
async fn an_unsupported_version_is_refused_with_the_supported_ones() {
    let p = Platform::start().await;
    let long = "9".repeat(500);
    for version in ["2027-01-01", "2024-11-05", LEGACY, "soon", &long] {
        let ask = list().meta(meta::PROTOCOL_VERSION, json!(version));
        let answer = p.user("ada").ask(ask.instead("mcp-protocol-version", version)).await;
        refused(&answer, 400, -32022, version);
        let shown: String = version.chars().take(40).collect();
        let data = json!({ "supported": [MODERN, LEGACY, "2025-06-18", "2025-03-26"], "requested": shown });
        assert_eq!(answer.json()["error"]["data"], data);
    }
}

#[tokio::test]
async fn unknown_and_removed_methods_are_not_found() {
    let p = Platform::start().await;
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "notifications/initialized",
        "tasks/list",
        "tools",
        "",
    ] {
        let params = json!({ "protocolVersion": LEGACY, "level": "info", "uri": "a:b" });
        let answer = p.user("ada").modern(method, params).await;
        refused(&answer, 404, -32601, method);
        assert_eq!(answer.header("mcp-session-id"), "", "{method}");
    }
    let long = "x".repeat(5_000);
    let answer = p.user("ada").modern(&long, json!({})).await;
    refused(&answer, 404, -32601, "a long method");
    assert!(answer.text.len() < 500, "{}", answer.text);
}

#[tokio::test]
async fn notifications_are_accepted_without_a_response() {
    let p = Platform::start().await;
    for told in ["notifications/cancelled", "notifications/roots/list_changed", "notifications/x"] {
        let message = json!({ "jsonrpc": "2.0", "method": told, "params": { "requestId": 1 } });
        for person in [p.user("ada"), p.user("ada").header("mcp-protocol-version", MODERN)] {
            let answer = person.post("/mcp", &message).await.expect(202);
            assert_eq!(answer.text, "", "{told}");
        }
    }
}

#[tokio::test]
async fn only_post_is_allowed() {
    let p = Platform::start().await;
    let ada = p.user("ada").header("mcp-protocol-version", MODERN);
    for method in [Method::GET, Method::DELETE] {
        let answer = ada.send(method.clone(), "/mcp", None).await.expect(405);
        assert_eq!(answer.header("allow"), "POST");
        assert!(answer.json().get("id").is_none(), "{}", answer.text);
    }
    // A session does not change that.
    let session = p.user("ada").handshake(LEGACY).await;
    let both = session.person.clone().header("mcp-protocol-version", MODERN);
    both.send(Method::GET, "/mcp", None).await.expect(405);
    both.send(Method::DELETE, "/mcp", None).await.expect(405);
    session.ask("ping", json!({})).await.result();
    p.user("ada").put("/mcp", &json!({})).await.expect(405);
}
