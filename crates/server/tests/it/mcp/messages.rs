//! Messages: ids, invalid messages, invalid bodies.

use http::Method;
use serde_json::{Value, json};

use super::client::{Ask, MODERN};
use crate::platform::Platform;

/// A modern request with this id, which is put in as it is.
fn discover(id: &str) -> String {
    let mut ask = Ask::modern("server/discover", json!({})).message();
    ask["id"] = "ID".into();
    ask.to_string().replace("\"ID\"", id)
}

#[tokio::test]
async fn request_ids_are_returned_unchanged() {
    let p = Platform::start().await;
    let long = format!("\"{}\"", "a".repeat(254));
    let ids = [
        "0",
        "1",
        "-7",
        "1.50",
        "1e3",
        "123456789012345678901234567890",
        "\"\"",
        "\"1\"",
        "\"\\u00fc\\n\"",
        &long,
    ];
    for id in ids {
        let answer = p.user("ada").ask_raw("server/discover", &discover(id)).await.expect(200);
        let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{");
        assert!(answer.text.starts_with(&start), "{}", answer.text);
        let refused = p.user("ada").ask_raw("server/other", &discover(id)).await.expect(400);
        let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{");
        assert!(refused.text.starts_with(&start), "{}", refused.text);
    }
}

#[tokio::test]
async fn an_invalid_message_is_refused_with_its_id_if_it_has_one() {
    let p = Platform::start().await;
    let deep = "[".repeat(200_000);
    let deep_params = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}1{}}}"#,
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    let too_long = discover(&format!("\"{}\"", "a".repeat(255)));
    for (body, code, id) in [
        ("", -32700, None),
        ("{", -32700, None),
        ("not JSON", -32700, None),
        (&deep, -32600, None),
        // Not the members in their order either.
        (r#"["2.0",1,"server/discover",{}]"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700, None),
        ("null", -32600, None),
        ("5", -32600, None),
        ("{}", -32600, None),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, Some(json!(1))),
        (r#"{"id":"a","method":"ping"}"#, -32600, Some(json!("a"))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, Some(json!(7))),
        (r#"{"jsonrpc":"2.0","id":7,"method":"a","result":{}}"#, -32600, Some(json!(7))),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, None),
        (&too_long, -32600, None),
        (&deep_params, -32602, Some(json!(1))),
    ] {
        let shown: String = body.chars().take(60).collect();
        let answer = p.user("ada").ask_raw("ping", body).await;
        assert_eq!(answer.refusal(), (400, code), "{shown}: {}", answer.text);
        assert_eq!(answer.json().get("id").cloned(), id, "{shown}: {}", answer.text);
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn batches_are_refused_in_both_eras() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let one = Ask::call("com_example_echo__echo", json!({ "text": "x" }));
    for batch in [json!([]), json!([one.message()]), json!([one.message(), one.id(2).message()])] {
        for session in ["2025-03-26", "2025-11-25"] {
            let session = p.user("ada").handshake(session).await;
            let answer = session.person.post("/mcp", &batch).await;
            assert_eq!(answer.refusal(), (400, -32600), "{}", answer.text);
        }
        let answer = p.user("ada").ask_raw("tools/call", &batch.to_string()).await;
        assert_eq!(answer.refusal(), (400, -32600), "{}", answer.text);
        assert!(answer.json().get("id").is_none());
    }
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn responses_of_clients_are_accepted_even_if_unexpected() {
    let p = Platform::start().await;
    for body in [
        json!({ "jsonrpc": "2.0", "id": "nobody-asked", "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 5, "result": null }),
        json!({ "jsonrpc": "2.0", "id": "x", "error": { "code": -1, "message": "no" } }),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -1, "message": "no" } }),
    ] {
        assert_eq!(p.user("ada").post("/mcp", &body).await.expect(202).text, "", "{body}");
    }
}

#[tokio::test]
async fn a_client_without_a_handshake_sends_no_responses() {
    let p = Platform::start().await;
    let body = json!({ "jsonrpc": "2.0", "id": "x", "result": {} });
    let modern = p.user("ada").header("mcp-protocol-version", MODERN);
    let refused = modern.post("/mcp", &body).await;
    assert_eq!(refused.refusal(), (400, -32600), "{}", refused.text);
    assert!(
        refused.json().get("id").is_none() && refused.text.contains("inputResponses"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_body_is_json_and_not_too_large() {
    let p = Platform::with(|config| config.server.body_bytes = 2_000).await;
    let send = async |kind: &str, body: &str| {
        let ada = p.user("ada").header("content-type", kind).header("mcp-protocol-version", MODERN);
        let ada = ada.header("mcp-method", "server/discover");
        ada.send(Method::POST, "/mcp", Some(body.to_owned())).await
    };
    let body = discover("1");
    for kind in
        ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/x+json"]
    {
        send(kind, &body).await.result();
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", ""] {
        let answer = send(kind, &body).await;
        assert_eq!(answer.refusal(), (400, -32600), "{kind}");
        assert!(answer.text.contains("Content-Type") && answer.json().get("id").is_none(), "{}", answer.text);
    }
    let mut ask = Ask::modern("server/discover", json!({})).message();
    ask["params"]["x"] = "x".repeat(2_000).into();
    let answer = send("application/json", &ask.to_string()).await;
    assert_eq!(answer.refusal(), (413, -32600));
    assert!(answer.text.contains("2000 bytes"), "{}", answer.text);
    ask["params"]["x"] = Value::Null;
    send("application/json", &ask.to_string()).await.result();
}
