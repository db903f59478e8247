//! The format of responses: server info, caching hints, and when a response is a stream.

use serde_json::json;
use toolyard_protocol::mcp::meta;
use toolyard_testkit::AppBehavior;

use super::client::{Ask, LEGACY, MODERN};
use crate::platform::Platform;

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

#[tokio::test]
async fn discover_describes_the_server() {
    let p = Platform::start().await;
    let result = p.user("ada").modern("server/discover", json!({})).await.result();
    assert_eq!(result["supportedVersions"], json!([MODERN, LEGACY, "2025-06-18", "2025-03-26"]));
    assert_eq!(result["capabilities"]["tools"], json!({ "listChanged": true }));
    assert_eq!(result["_meta"][meta::SERVER_INFO]["name"], "toolyard");
    assert!(result["instructions"].as_str().is_some_and(|text| !text.is_empty()));
    // A handshake has the same content in its own format, without extensions.
    let session = p.user("ada").handshake(LEGACY).await;
    let mut capabilities = result["capabilities"].clone();
    capabilities.as_object_mut().unwrap().remove("extensions");
    assert_eq!(session.result["capabilities"], capabilities);
    assert_eq!(session.result["instructions"], result["instructions"]);
    assert_eq!(session.result["serverInfo"], result["_meta"][meta::SERVER_INFO]);
    assert_eq!(session.ask("server/discover", json!({})).await.refusal(), (200, -32601));
}

#[tokio::test]
async fn cacheable_results_have_a_lifetime_and_a_scope() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    for (method, member) in LISTS.into_iter().chain([("server/discover", "supportedVersions")]) {
        let result = p.user("ada").modern(method, json!({})).await.result();
        assert_eq!(
            (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
            (&json!("complete"), &json!(60_000), &json!("private")),
            "{method}"
        );
        let found = result[member].as_array().unwrap().len();
        let expected = match member {
            "tools" => 1,
            "supportedVersions" => 4,
            _ => 0,
        };
        assert_eq!(found, expected, "{method}");
        assert!(result.get("nextCursor").is_none());
    }
    // The cached list is the same the second time.
    for (method, _) in LISTS {
        let first = p.user("ada").modern(method, json!({})).await;
        assert_eq!(first.text, p.user("ada").modern(method, json!({})).await.text);
    }
}

#[tokio::test]
async fn responses_must_not_be_cached() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let ada = p.user("ada");
    let session = ada.handshake(LEGACY).await;
    let answers = [
        ada.modern("tools/list", json!({})).await,
        ada.modern("nothing", json!({})).await,
        ada.modern("initialize", json!({})).await,
        ada.ask(Ask::call("com_example_echo__echo", json!({ "text": "x" }))).await,
        ada.ask(Ask::legacy("initialize", super::client::hello(LEGACY))).await,
        ada.ask(Ask::legacy("tools/list", json!({}))).await,
        ada.ask_raw("tools/list", "{").await,
        ada.clone().header("content-type", "text/plain").ask(Ask::legacy("ping", json!({}))).await,
        session.ask("tools/list", json!({})).await,
        session.ask("nothing", json!({})).await,
        ada.get("/mcp").await,
        ada.delete("/mcp").await,
        p.nobody().modern("tools/list", json!({})).await.expect(401),
        p.nobody().get("/mcp").await.expect(401),
    ];
    for answer in answers {
        assert_eq!(answer.header("cache-control"), "no-store", "{answer:?}");
        let vary = answer.header("vary").to_lowercase();
        assert!(vary.contains("authorization") && vary.contains("x-user-id"), "{answer:?}");
    }
    let stream = session.get().await;
    let listen = Ask::modern("subscriptions/listen", json!({ "notifications": {} }));
    for stream in [stream, ada.stream(listen).await] {
        assert_eq!(stream.headers["cache-control"], "no-store");
        assert!(stream.headers["vary"].to_str().unwrap().contains("Authorization"));
    }
}

#[tokio::test]
async fn every_modern_result_has_a_type_and_no_legacy_one_of_a_call() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let session = p.user("ada").handshake(LEGACY).await;
    let call = json!({ "name": "com_example_echo__echo", "arguments": { "text": "x" } });
    for act in [
        AppBehavior::reply("ok"),
        AppBehavior::content(json!({ "n": 1 })),
        AppBehavior::Json(500, json!({ "status": "error", "message": "no" })),
        AppBehavior::Json(200, json!({ "content": [], "resultType": "input_required" })),
        AppBehavior::Json(200, json!({ "content": [{ "type": "text", "text": "\"resultType\"" }] })),
    ] {
        app.set_behavior(act.clone());
        let result = p.user("ada").run("com_example_echo__echo", json!({ "text": "x" })).await;
        assert_eq!(result["resultType"], "complete", "{act:?}");
        let result = session.ask("tools/call", call.clone()).await.result();
        assert!(result.get("resultType").is_none(), "{act:?}: {result}");
    }
    let complete =
        json!({ "ref": { "type": "ref/resource", "uri": "x://com.example.echo/y" }, "argument": {} });
    let nothing = json!({ "values": [], "hasMore": false });
    let result = p.user("ada").modern("completion/complete", complete.clone()).await.result();
    assert_eq!(result, json!({ "resultType": "complete", "completion": nothing }));
    let result = session.ask("completion/complete", complete).await.result();
    assert_eq!(result, json!({ "completion": nothing }));
}

#[tokio::test]
async fn a_response_is_json_unless_a_notification_precedes_it() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let ask =
        || Ask::call("com_example_echo__echo", json!({ "text": "x" })).meta("progressToken", json!("t"));
    // JSON of the app spans several lines; in a stream it must not.
    let spread = "{\n  \"content\": [\r\n { \"type\": \"text\",\n\"text\": \"a\\nb\" } ]\n}";
    app.set_behavior(AppBehavior::Text(200, "application/json", spread.to_owned()));
    let answer = p.user("ada").ask(ask()).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.result()["content"], json!([{ "type": "text", "text": "a\nb" }]));

    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 1 }),
        json!({ "type": "result", "success": true, "content": "done" }),
    ]));
    app.let_line_through();
    let mut events = p.user("ada").stream(ask()).await;
    assert_eq!(events.headers["content-type"], "text/event-stream");
    assert_eq!(events.headers["x-accel-buffering"], "no");
    assert_eq!(events.message().await["method"], "notifications/progress");
    app.let_line_through();
    let result = events.message().await;
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(1), &json!("done")));
    assert_eq!(events.next().await, None, "nothing comes after the answer");
}
