//! Successful calls: results are passed unchanged, with their metadata.

use http::Method;
use serde_json::{Value, json};
use toolyard_testkit::AppBehavior;

use super::client::{Ask, LEGACY};
use crate::platform::{ECHO, Platform, echo_tool};

const ALIAS: &str = "com_example_echo__echo";

fn call() -> Ask {
    Ask::call(ALIAS, json!({ "text": "x" }))
}

/// The results in both eras for a response of the app, as texts.
async fn both(p: &Platform) -> (String, String) {
    let session = p.user("ada").handshake(LEGACY).await;
    let legacy = session.ask("tools/call", json!({ "name": ALIAS, "arguments": { "text": "x" } })).await;
    let modern = p.user("ada").ask(call()).await.expect(200).text;
    let inside = |text: &str| {
        let text =
            text.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"result":"#).unwrap_or_else(|| panic!("{text}"));
        text.strip_suffix('}').unwrap().to_owned()
    };
    (inside(&modern), inside(&legacy.expect(200).text))
}

#[tokio::test]
async fn a_result_is_passed_unchanged() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let blocks = r#"[{"type":"image","data":"AA==","mimeType":"image/png","x" :1.50},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"a:b","text":"t"}},{"type":"resource_link","uri":"a:b","name":"n"},{"type":"new in 2027","z":12345678901234567890123}]"#;
    let bare = format!(
        r#"{{"zeta":[1, 2],"content":{blocks},"structuredContent":{{"b":1e3,"a":-0.0}},"_meta":{{"k":1}}}}"#
    );
    app.set_behavior(AppBehavior::Text(200, "application/json", bare.clone()));
    let (modern, legacy) = both(&p).await;
    assert_eq!(legacy, bare);
    assert_eq!(modern, bare.replacen('{', r#"{"resultType":"complete","#, 1));

    app.set_behavior(AppBehavior::Text(
        200,
        "application/json",
        format!(r#"{{"success":true,"content":{blocks}}}"#),
    ));
    let (modern, legacy) = both(&p).await;
    assert_eq!(legacy, format!(r#"{{"content":{blocks}}}"#));
    assert_eq!(modern, format!(r#"{{"resultType":"complete","content":{blocks}}}"#));
}

#[tokio::test]
async fn structured_content_has_a_text_beside_it_and_is_an_object_for_older_clients() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    for (answer, content, legacy_too) in [
        (r#"{"n":1.50,"a":[1]}"#, text(r#"{"n":1.50,"a":[1]}"#), true),
        ("[1,2]", text("[1,2]"), false),
        ("7", text("7"), false),
        ("true", text("true"), false),
    ] {
        let structured: Value = serde_json::from_str(answer).unwrap();
        app.set_behavior(AppBehavior::Text(
            200,
            "application/json",
            format!(r#"{{"success":true,"content":{answer}}}"#),
        ));
        let (modern, legacy) = both(&p).await;
        let (modern, legacy): (Value, Value) =
            (serde_json::from_str(&modern).unwrap(), serde_json::from_str(&legacy).unwrap());
        let expected =
            json!({ "resultType": "complete", "content": content, "structuredContent": structured });
        assert_eq!(modern, expected);
        assert_eq!(legacy["content"], content);
        assert_eq!(legacy.get("structuredContent"), legacy_too.then_some(&structured), "{answer}");
    }
    // The app's own text is kept.
    app.set_behavior(AppBehavior::Json(
        200,
        json!({ "success": true, "content": "seven", "structuredContent": [7] }),
    ));
    let (modern, legacy) = both(&p).await;
    let (modern, legacy): (Value, Value) =
        (serde_json::from_str(&modern).unwrap(), serde_json::from_str(&legacy).unwrap());
    assert_eq!((&modern["content"], &modern["structuredContent"]), (&text("seven"), &json!([7])));
    assert_eq!(legacy, json!({ "content": text("seven") }));
}

#[tokio::test]
async fn hints_for_the_assistant_are_in_meta() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let extensions = json!({ "suggestedFollowUps": ["more"] });
    let said = json!({ "content": [{ "type": "text", "text": "x" }], "_meta": { "k": 1 }, "mentraExtensions": extensions });
    app.set_behavior(AppBehavior::Json(200, said));
    let (modern, legacy) = both(&p).await;
    for result in [modern, legacy] {
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["_meta"], json!({ "toolyard/extensions": extensions, "k": 1 }));
        assert_eq!(result["content"][0]["text"], "x");
    }
}

#[tokio::test]
async fn arguments_are_passed_to_the_app_unchanged() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let arguments = r#"{"z": 1.50,"text":"\u00e9","a":[12345678901234567890123, -0.0 ]}"#;
    let body = call().message().to_string().replace(r#"{"text":"x"}"#, arguments);
    let ada = p.user("ada").header("mcp-name", ALIAS);
    ada.ask_raw("tools/call", &body).await.result();
    let seen = app.requests("/tool");
    assert_eq!(seen.len(), 1);
    let raw = String::from_utf8(seen[0].raw.to_vec()).unwrap();
    assert!(raw.contains(&format!(r#""arguments":{arguments}"#)), "{raw}");
    assert_eq!((&seen[0].body["name"], &seen[0].body["userId"]), (&json!("echo"), &json!("ada")));
    assert_eq!(seen[0].body.get("_meta"), None);
}

#[tokio::test]
async fn no_arguments_are_empty_arguments() {
    let p = Platform::start().await;
    let mut tool = echo_tool();
    tool["inputSchema"] = json!({ "type": "object", "additionalProperties": false });
    let (app, _device) = p.echo_like(json!({ "tools": [tool] })).await;
    for params in [
        json!({ "name": ALIAS }),
        json!({ "name": ALIAS, "arguments": null }),
        json!({ "name": ALIAS, "arguments": {} }),
    ] {
        let result = p.user("ada").modern("tools/call", params).await.result();
        assert_eq!(result["content"][0]["text"], "ok");
    }
    assert!(app.requests("/tool").iter().all(|seen| seen.body["arguments"] == json!({})));
}

#[tokio::test]
async fn an_idempotency_key_in_meta_makes_a_call_once() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let keyed = |key: Value| call().meta("toolyard/idempotencyKey", key);
    app.set_behavior(AppBehavior::reply("first"));
    let first = p.user("ada").ask(keyed(json!("k1"))).await.result();
    app.set_behavior(AppBehavior::reply("second"));
    assert_eq!(p.user("ada").ask(keyed(json!("k1"))).await.result(), first);
    let session = p.user("ada").handshake(LEGACY).await;
    let mut params = json!({ "name": ALIAS, "arguments": { "text": "x" } });
    params["_meta"] = json!({ "toolyard/idempotencyKey": "k1" });
    assert_eq!(session.ask("tools/call", params).await.result()["content"][0]["text"], "first");
    assert_eq!(app.requests("/tool").len(), 1);
    assert_eq!(app.requests("/tool")[0].headers["idempotency-key"], "k1");

    let other = Ask::call(ALIAS, json!({ "text": "y" })).meta("toolyard/idempotencyKey", json!("k1"));
    let result = p.user("ada").ask(other).await.result();
    assert_eq!(
        (&result["isError"], &result["_meta"]["toolyard/error"]["code"]),
        (&json!(true), &json!("CONFLICT"))
    );
    for bad in [json!(""), json!("ü"), json!("a\nb"), json!("k".repeat(256))] {
        let answer = p.user("ada").ask(keyed(bad)).await;
        assert_eq!(answer.refusal(), (200, -32602), "{}", answer.text);
        assert!(answer.text.contains("toolyard/idempotencyKey"), "{}", answer.text);
    }
    p.user("ada").ask(keyed(json!("k".repeat(255)))).await.result();
    assert_eq!(app.requests("/tool").len(), 2);
}

#[tokio::test]
async fn the_trace_in_meta_reaches_the_app_and_the_ledger_knows_the_door() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    p.user("ada").ask(call().meta("traceparent", json!(parent))).await.result();
    p.user("ada").ask(call().meta("traceparent", json!("nonsense"))).await.result();
    let seen = app.requests("/tool");
    let traces: Vec<_> = seen.iter().map(|seen| seen.headers["traceparent"].to_str().unwrap()).collect();
    assert!(
        traces[0].starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && traces[0] != parent,
        "{traces:?}"
    );
    assert!(!traces[1].contains("4bf92f3577b34da6a3ce929d0e0e4736") && traces[1].len() == 55, "{traces:?}");

    let session = p.user("ada").handshake(LEGACY).await;
    session.ask("tools/call", json!({ "name": format!("{ECHO}:echo"), "arguments": { "text": "x" } })).await;
    let calls = p.user("ada").send(Method::GET, "/api/calls", None).await.expect(200).json();
    let calls = calls["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 3);
    for call in calls {
        assert_eq!(
            (&call["door"], &call["tool"], &call["caller"], &call["outcome"]),
            (&json!("mcp"), &json!("com.example.echo:echo"), &json!("user"), &json!("OK"))
        );
    }
    let traced = calls.iter().filter(|call| call["traceId"] == "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(traced.count(), 1);
}
