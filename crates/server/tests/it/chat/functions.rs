//! Function tools of OpenAI clients: their names, their references, and tool choice.

use serde_json::{Value, json};
use toolyard_testkit::model::ScriptedReply;

use super::{ECHO_ALIAS, offered, script, with, with_model};
use crate::platform::Person;

const PATH: &str = "/v1/chat/completions";

fn function(name: &str, parameters: Value) -> Value {
    json!({ "type": "function", "function": { "name": name, "description": "d", "parameters": parameters } })
}

fn asks(tools: Value, more: Value) -> Value {
    with(json!({ "messages": [{ "role": "user", "content": "hi" }], "tools": tools }), more)
}

async fn error(who: &Person<'_>, body: &Value) -> Value {
    who.post(PATH, body).await.expect(400).json()["error"].clone()
}

#[tokio::test]
async fn names_by_openais_rule_are_offered_called_and_answered() {
    let (p, model) = with_model(|_| {}).await;
    let longest = format!("9{}", "x".repeat(63));
    for name in ["get-weather", "1st", "_x", "A-9_", &longest] {
        let tools = json!([function(name, json!({ "type": "object" }))]);
        script(&model, [ScriptedReply::call(name, json!({})), ScriptedReply::text("Grey.")]);
        let answer = p.user("ada").post(PATH, &asks(tools.clone(), json!({}))).await.expect(200).json();
        let message = answer["choices"][0]["message"].clone();
        assert_eq!(message["tool_calls"][0]["function"]["name"], name, "{answer}");
        assert_eq!(offered(&model.requests().pop().unwrap()), [name]);
        let id = &message["tool_calls"][0]["id"];
        let messages = json!([{ "role": "user", "content": "hi" }, message, { "role": "tool", "tool_call_id": id, "content": "grey" }]);
        p.user("ada").post(PATH, &asks(tools, json!({ "messages": messages }))).await.expect(200);
        let asked = model.requests().pop().unwrap().body;
        assert_eq!(asked["messages"][2]["tool_calls"][0]["function"]["name"], name);
    }
    for name in ["", "a b", "a.b", "a:b", &"x".repeat(65)] {
        let told =
            error(&p.user("ada"), &asks(json!([function(name, json!({ "type": "object" }))]), json!({})))
                .await;
        assert_eq!(told["param"], "tools[0]", "{told}");
    }
}

/// The schema of nested pydantic models.
fn nested() -> Value {
    json!({ "$defs": {
            "Address": { "type": "object", "title": "Address", "properties": { "city": { "type": "string" } }, "required": ["city"] },
            "Node": { "type": "object", "properties": { "value": { "type": "integer" }, "next": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] } } } },
        "type": "object", "title": "Person", "additionalProperties": false,
        "properties": { "home": { "$ref": "#/$defs/Address" }, "others": { "type": "array", "items": { "$ref": "#/$defs/Address" } },
            "list": { "$ref": "#/$defs/Node" } }, "required": ["home"] })
}

#[tokio::test]
async fn references_inside_of_a_schema_work() {
    let (p, model) = with_model(|_| {}).await;
    let tools = json!([function("save", nested())]);
    // Arguments that do not fit what a reference leads to go back to the model.
    let good =
        json!({ "home": { "city": "Oslo" }, "list": { "value": 1, "next": { "value": 2, "next": null } } });
    script(
        &model,
        [
            ScriptedReply::call("save", json!({ "home": { "city": 5 } })),
            ScriptedReply::call("save", good.clone()),
        ],
    );
    let answer = p.user("ada").post(PATH, &asks(tools, json!({}))).await.expect(200).json();
    let called = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(serde_json::from_str::<Value>(called["arguments"].as_str().unwrap()).unwrap(), good);
    // The model reads a schema without references.
    let sent = model.requests()[0].body["tools"][0]["function"]["parameters"].clone();
    assert_eq!(sent["properties"]["home"]["properties"]["city"]["type"], "string", "{sent}");
    assert!(!sent.to_string().contains("$ref"), "{sent}");
    // A type that contains itself stands behind a reference.
    let at_root = json!({ "$ref": "#/$defs/Node", "$defs": nested()["$defs"] });
    script(&model, [ScriptedReply::text("ok")]);
    p.user("ada").post(PATH, &asks(json!([function("grow", at_root)]), json!({}))).await.expect(200);
}

#[tokio::test]
async fn references_that_lead_nowhere_or_too_far_are_refused() {
    let (p, model) = with_model(|_| {}).await;
    let at = |reference: &str| json!({ "type": "object", "properties": { "x": { "$ref": reference } } });
    // Each level doubles the next: a few lines that would expand beyond memory.
    let mut bomb = json!({ "type": "object", "$defs": { "d0": { "type": "string" } } });
    for n in 1..40 {
        let below = json!({ "$ref": format!("#/$defs/d{}", n - 1) });
        bomb["$defs"][format!("d{n}")] =
            json!({ "type": "object", "properties": { "a": below, "b": below } });
    }
    bomb["properties"] = json!({ "x": { "$ref": "#/$defs/d39" } });
    let endless = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/a" } },
        "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } });
    for parameters in
        [at("https://example.com/schema.json"), at("#/$defs/missing"), at("other.json#/x"), endless, bomb]
    {
        let told = error(&p.user("ada"), &asks(json!([function("f", parameters)]), json!({}))).await;
        assert!(told["param"].as_str().unwrap().starts_with("tools[0]"), "{told}");
        assert!(told["message"].as_str().unwrap().len() < 1_000, "{told}");
    }
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_choice_of_tools_narrows_what_is_offered() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let plain = || json!({ "type": "object" });
    let tools = json!([function("one", plain()), function("two", plain())]);
    let named = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let allowed = |mode: &str, names: &[&str]| {
        let list: Vec<Value> = names.iter().map(|name| named(name)).collect();
        json!({ "type": "allowed_tools", "allowed_tools": { "mode": mode, "tools": list } })
    };
    for (choice, names, sent) in [
        (json!("auto"), vec![ECHO_ALIAS, "one", "two"], json!(null)),
        (named("two"), vec!["two"], json!("required")),
        (named(ECHO_ALIAS), vec![ECHO_ALIAS], json!("required")),
        (allowed("auto", &["one"]), vec!["one"], json!(null)),
        (allowed("required", &["one", ECHO_ALIAS]), vec![ECHO_ALIAS, "one"], json!("required")),
    ] {
        let body = asks(tools.clone(), json!({ "tool_choice": choice }));
        p.user("ada").post(PATH, &body).await.expect(200);
        let asked = model.requests().pop().unwrap();
        assert_eq!(
            (offered(&asked), &asked.body["tool_choice"]),
            (names.iter().map(|n| (*n).to_owned()).collect(), &sent)
        );
    }
    for choice in [named("three"), allowed("auto", &["one", "three"])] {
        let told = error(&p.user("ada"), &asks(tools.clone(), json!({ "tool_choice": choice }))).await;
        assert_eq!(told["param"], "tool_choice", "{told}");
    }
}

#[tokio::test]
async fn one_call_at_a_time_where_the_caller_wants_it() {
    let (p, model) = with_model(|_| {}).await;
    let tools = json!([function("one", json!({ "type": "object" }))]);
    let both = || ScriptedReply::call("one", json!({})).and_call("one", json!({ "again": true }));
    script(&model, [both(), both()]);
    let calls = async |more: Value| {
        let answer = p.user("ada").post(PATH, &asks(tools.clone(), more)).await.expect(200).json();
        answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().len()
    };
    assert_eq!(calls(json!({})).await, 2);
    assert_eq!(calls(json!({ "parallel_tool_calls": false })).await, 1);
}
