//! `/mcp/ws`: both eras on one socket, one message per frame.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message, client::IntoClientRequest as _};
use toolyard_protocol::mcp::meta;
use toolyard_testkit::AppBehavior;

use super::{
    client::{Ask, LEGACY, MODERN, hello, soon},
    ears::platform,
    line::Line,
};
use crate::{
    knock::knock,
    platform::{ECHO, Platform, echo_tool},
};

const ALIAS: &str = "com_example_echo__echo";

fn code(message: &Value) -> i64 {
    message["error"]["code"].as_i64().unwrap_or_else(|| panic!("{message}"))
}

fn discover(id: impl Into<Value>) -> Ask {
    Ask::modern("server/discover", json!({})).id(id)
}

#[tokio::test]
async fn the_subprotocol_is_agreed_on() {
    let p = Platform::start().await;
    let connect = async |protocols: Option<&str>| {
        let url = p.url.replace("http", "ws") + "/mcp/ws";
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("x-user-id", "ada".parse().unwrap());
        if let Some(protocols) = protocols {
            request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        }
        tokio_tungstenite::connect_async(request).await
    };
    for (asked, answered) in [(Some("mcp"), Some("mcp")), (Some("other, mcp"), Some("mcp")), (None, None)] {
        let (socket, response) = connect(asked).await.unwrap();
        let chosen = response.headers().get("sec-websocket-protocol").map(|value| value.to_str().unwrap());
        assert_eq!(chosen, answered);
        let answer = Line::over(socket).ask(discover(1)).await;
        assert_eq!(answer["result"]["resultType"], "complete");
    }
    // Without a common subprotocol none is confirmed.
    assert!(matches!(connect(Some("other")).await, Err(Error::Protocol(_))));
}

#[tokio::test]
async fn both_eras_speak_on_one_socket() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let mut line = Line::of(&p, "ada").await;
    // Without a handshake only modern requests are understood; a socket has no headers.
    assert_eq!(code(&line.ask(Ask::legacy("tools/list", json!({})).id("early")).await), -32600);
    assert_eq!(line.ask(discover("d")).await["result"]["supportedVersions"][0], MODERN);
    let list = line.ask(Ask::modern("tools/list", json!({})).id(1)).await;
    assert_eq!(list["result"]["tools"][0]["name"], ALIAS);

    let hands = line.ask(Ask::legacy("initialize", hello("2025-06-18")).id(2)).await;
    assert_eq!(hands["result"]["protocolVersion"], "2025-06-18");
    line.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    assert_eq!(
        code(&line.ask(Ask::legacy("initialize", hello(LEGACY)).id(3)).await),
        -32600,
        "once is enough"
    );
    assert_eq!(line.ask(Ask::legacy("ping", json!({})).id(4)).await["result"], json!({}));
    assert_eq!(code(&line.ask(Ask::modern("ping", json!({})).id(5)).await), -32601);
    assert_eq!(code(&line.ask(Ask::modern("initialize", hello(LEGACY)).id(6)).await), -32601);
    assert_eq!(code(&line.ask(Ask::legacy("server/discover", json!({})).id(7)).await), -32601);

    let call = json!({ "name": ALIAS, "arguments": { "text": "x" } });
    app.set_behavior(AppBehavior::Text(
        200,
        "application/json",
        "{\n\"content\":\r\n[{\"type\":\"text\",\n\"text\":\"a\\nb\"}] }".into(),
    ));
    let legacy = line.ask(Ask::legacy("tools/call", call.clone()).id("8")).await;
    assert_eq!(legacy["result"], json!({ "content": [{ "type": "text", "text": "a\nb" }] }));
    let modern = line.ask(Ask::modern("tools/call", call).id(8)).await;
    assert_eq!(
        (&modern["result"]["resultType"], &modern["result"]["content"][0]["text"]),
        (&json!("complete"), &json!("a\nb"))
    );
    assert!(line.unasked().is_empty(), "{:?}", line.unasked());
}

#[tokio::test]
async fn a_list_is_one_line_however_its_tools_were_written() {
    let p = Platform::start().await;
    let tool = "{\n\t\"name\": \"echo\",\r\n\t\"inputSchema\": {\n\"type\":\r\n\"object\" }\n}";
    let raw = format!("{{\"packageName\":\"{ECHO}\",\"tools\":[{tool}]}}");
    p.nobody().send(http::Method::POST, "/api/apps", Some(raw)).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let list = Line::of(&p, "ada").await.ask(Ask::modern("tools/list", json!({}))).await;
    assert_eq!(list["result"]["tools"][0]["inputSchema"], json!({ "type": "object" }));
}

#[tokio::test]
async fn invalid_messages_are_reported_and_the_socket_stays_open() {
    let p = Platform::start().await;
    let mut line = Line::of(&p, "ada").await;
    for (text, expected, id) in [
        ("{", -32700, None),
        ("[]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, None),
        (r#"{"id":7,"method":"ping"}"#, -32600, Some(json!(7))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":8,"method":"ping","params":[]}"#, -32602, Some(json!(8))),
    ] {
        line.frame(Message::text(text)).await;
        let answer = line.hear(|_| true).await;
        assert_eq!((code(&answer), answer.get("id").cloned()), (expected, id), "{text}");
    }
    let spoilt = [
        (discover(1).meta(meta::CLIENT_CAPABILITIES, Value::Null), -32602),
        (discover(1).meta(meta::PROTOCOL_VERSION, Value::Null), -32602),
        (discover(1).meta(meta::PROTOCOL_VERSION, json!("2027-01-01")), -32022),
        (Ask::modern("nothing", json!({})), -32601),
        (Ask::call("no_such__tool", json!({})), -32602),
        (Ask::modern("subscriptions/listen", json!({})), -32602),
    ];
    for (ask, expected) in spoilt {
        assert_eq!(code(&line.ask(ask).await), expected);
    }
    for nothing in [
        json!({ "jsonrpc": "2.0", "method": "notifications/x" }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
    ] {
        line.say(&nothing).await;
    }
    line.ask(discover("last")).await;
    assert!(line.unasked().is_empty(), "{:?}", line.unasked());
}

#[tokio::test]
async fn listens_on_one_socket_are_told_apart() {
    let p = platform(1).await;
    let mut line = Line::of(&p, "ada").await;
    let listen = |id: Value, filter: Value| {
        Ask::modern("subscriptions/listen", json!({ "notifications": filter })).id(id)
    };
    for id in [json!("a"), json!(1), json!("1")] {
        line.send(&listen(id.clone(), json!({ "toolsListChanged": true }))).await;
        let granted = line.told("notifications/subscriptions/acknowledged").await;
        assert_eq!(granted["params"]["_meta"][meta::SUBSCRIPTION_ID], id);
    }
    line.send(&listen(json!("prompts"), json!({ "promptsListChanged": true }))).await;
    line.told("notifications/subscriptions/acknowledged").await;
    assert_eq!(code(&line.ask(listen(json!("a"), json!({}))).await), -32600, "the id is in use");

    let told = async |line: &mut Line, expected: &[Value]| {
        let mut found = Vec::new();
        for _ in expected {
            let message = line.told("notifications/tools/list_changed").await;
            found.push(message["params"]["_meta"][meta::SUBSCRIPTION_ID].to_string());
        }
        found.sort();
        let mut expected: Vec<String> = expected.iter().map(Value::to_string).collect();
        expected.sort();
        assert_eq!(found, expected);
    };
    p.nobody().post("/api/apps", &json!({ "packageName": ECHO, "tools": [echo_tool()] })).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    told(&mut line, &[json!("a"), json!(1), json!("1")]).await;
    // One ends, the others stay.
    line.cancel(1).await;
    line.ask(discover("taken")).await;
    p.user("ada").delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    told(&mut line, &[json!("a"), json!("1")]).await;
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    told(&mut line, &[json!("a"), json!("1")]).await;
    assert!(line.unasked().is_empty(), "{:?}", line.unasked());
}

#[tokio::test]
async fn frames_are_texts_and_not_too_large() {
    let p = Platform::with(|config| config.server.socket_message_bytes = 10_000).await;
    let mut line = Line::of(&p, "ada").await;
    line.frame(Message::binary(discover(1).message().to_string().into_bytes())).await;
    assert_eq!(line.closed().await, Some(1003));
    assert!(line.unasked().is_empty());
    let mut line = Line::of(&p, "ada").await;
    let mut ask = discover(1);
    ask.params["x"] = "x".repeat(20_000).into();
    line.send(&ask).await;
    line.closed().await;
    assert!(line.unasked().is_empty());
}

#[tokio::test]
async fn concurrent_requests_on_a_socket_are_limited() {
    let p = Platform::with(|config| {
        (config.rates.user_burst, config.calls.in_flight_per_user) = (1_000, 1_000);
    })
    .await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Hang);
    let mut line = Line::of(&p, "ada").await;
    let call = |id: i32| Ask::call(ALIAS, json!({ "text": "x" })).id(id);
    for id in 0..256 {
        line.send(&call(id)).await;
    }
    soon(app.wait_requests("/tool", 256)).await;
    assert_eq!(code(&line.ask(call(256)).await), -32600);
    assert_eq!(code(&line.ask(call(7)).await), -32600);
    assert_eq!(code(&line.ask(discover("d")).await), -32600);
    // One that ends makes room.
    line.cancel(7).await;
    assert_eq!(line.ask(discover("d")).await["result"]["resultType"], "complete");
    assert_eq!(app.requests("/tool").len(), 256);
    drop(line);
    soon(app.wait_cancelled(256)).await;
}

#[tokio::test]
async fn an_id_that_is_in_use_cannot_be_used_again() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "done" }),
    ]));
    let mut line = Line::of(&p, "ada").await;
    let call = Ask::call(ALIAS, json!({ "text": "x" })).id(5);
    line.send(&call).await;
    soon(app.wait_requests("/tool", 1)).await;
    assert_eq!(code(&line.ask(call).await), -32600);
    app.let_line_through();
    assert_eq!(line.answer(5).await["result"]["content"][0]["text"], "done");
    assert_eq!(line.ask(discover(5)).await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn the_route_accepts_websockets_only() {
    let p = Platform::start().await;
    p.user("ada").get("/mcp/ws").await.expect(400);
    p.user("ada").post("/mcp/ws", &json!({})).await.expect(405);
    assert_eq!(knock(&p, "/mcp/ws", &[]).await.unwrap_err().0, 401);
}
