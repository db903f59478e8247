//! The rules for client tools: each violation is a 400 that names the tool and the reason.

use serde_json::{Map, Value, json};
use toolyard_testkit::model::ScriptedReply;

use super::{ECHO_ALIAS, asks, chunks, offered, weather, with, with_model};

fn tool(name: &str, parameters: Value) -> Value {
    json!({ "name": name, "description": "d", "parameters": parameters })
}

fn property(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "x": schema } })
}

#[tokio::test]
async fn each_invalid_client_tool_is_reported_with_its_reason() {
    let (p, model) = with_model(|config| {
        (config.chat.client_tools, config.chat.client_tool_depth, config.chat.client_tool_properties) =
            (3, 3, 2);
        config.chat.client_tool_bytes = 500;
    })
    .await;
    let (_app, _device) = p.echo().await;
    let object = || json!({ "type": "object" });
    let wide: Map<String, Value> = (0..3).map(|n| (format!("p{n}"), json!({}))).collect();
    let deep = property(property(property(json!({ "type": "string" }))));
    for (tools, tool_and_reason) in [
        (json!([tool("1a", object())]), ["clientTools.1a", "must begin with a letter"]),
        (json!([tool("a-b", object())]), ["clientTools.a-b", "letters, digits and _ only"]),
        (json!([tool("", object())]), ["clientTools.", "must begin with a letter"]),
        (json!([tool(&"a".repeat(65), object())]), ["clientTools.aaa", "at most 64"]),
        (json!([tool("a", object()), tool("a", object())]), ["clientTools.a", "two of that name"]),
        (json!([tool(ECHO_ALIAS, object())]), [ECHO_ALIAS, "a tool of the server has that name"]),
        (json!([tool("a", json!({ "type": "array" }))]), ["clientTools.a", "expected `object`"]),
        (
            json!([tool("a", property(json!({ "type": "date" })))]),
            ["clientTools.a", "expected one of string"],
        ),
        (
            json!([tool("a", property(json!({ "$ref": "#" })))]),
            ["clientTools.a", "references are not supported"],
        ),
        (json!([tool("a", property(json!(5)))]), ["clientTools.a", "expected a schema"]),
        (
            json!([tool("a", property(json!({ "type": "string", "pattern": "(" })))]),
            ["clientTools.a", "pattern"],
        ),
        (
            json!([tool("a", json!({ "type": "object", "properties": wide }))]),
            ["clientTools.a", "3 members; at most 2"],
        ),
        (json!([tool("a", deep)]), ["clientTools.a", "deeper than 3"]),
        (
            json!([tool("a", json!({ "type": "object", "title": "t".repeat(500) }))]),
            ["clientTools", "at most 500"],
        ),
        (
            json!([tool("a", object()), tool("b", object()), tool("c", object()), tool("d", object())]),
            ["clientTools", "at most 3"],
        ),
        (json!([{ "name": 5 }]), ["clientTools[0].name", "expected a text"]),
        (json!(["a"]), ["clientTools[0]", "expected"]),
    ] {
        let body = with(asks("x"), json!({ "clientTools": tools }));
        let told = p.user("ada").post("/api/chat", &body).await.expect(400).text;
        for part in tool_and_reason {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    assert!(model.requests().is_empty(), "nothing was asked");
}

#[tokio::test]
async fn a_client_tool_may_have_the_name_of_a_tool_that_the_user_does_not_see() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let body = with(asks("x"), json!({ "clientTools": [tool(ECHO_ALIAS, json!({ "type": "object" }))] }));
    p.user("ada").post("/api/chat", &body).await.expect(400);
    chunks(&p.user("bob"), body).await;
}

#[tokio::test]
async fn client_tools_may_be_sent_as_a_map() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let map = json!({ "chart": { "description": "d", "parameters": { "type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema" } } });
    chunks(&p.user("ada"), with(asks("x"), json!({ "tools": map, "clientTools": [weather()] }))).await;
    let mut names = offered(&model.requests()[0]);
    names.sort();
    assert_eq!(names, ["chart", ECHO_ALIAS, "weather"]);
    let schemas: Vec<_> = model.requests()[0].body["tools"].as_array().unwrap().clone();
    assert!(!schemas.iter().any(|tool| tool.to_string().contains("$schema")), "{schemas:?}");
    // An empty one selects nothing.
    chunks(&p.user("ada"), with(asks("x"), json!({ "tools": {} }))).await;
    assert_eq!(offered(&model.requests()[1]), [ECHO_ALIAS]);
}
