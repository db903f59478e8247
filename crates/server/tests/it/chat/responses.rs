//! The same turn for clients of OpenAI's Responses API.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, offered, results, script, weather, with, with_model};
use crate::platform::{Person, tokens_only};

const PATH: &str = "/v1/responses";

fn asks(more: Value) -> Value {
    with(json!({ "model": "local/scripted", "input": "hi" }), more)
}

fn function() -> Value {
    with(weather(), json!({ "type": "function" }))
}

async fn whole(who: &Person<'_>, body: Value) -> Value {
    let answer = who.post(PATH, &body).await.expect(200);
    assert_eq!(answer.header("x-toolyard-model"), "local/scripted");
    let response = answer.json();
    check(&response);
    response
}

/// What every response has.
fn check(response: &Value) {
    assert!(response["id"].as_str().unwrap().starts_with("resp_"), "{response}");
    assert_eq!((&response["object"], &response["store"]), (&json!("response"), &json!(false)));
    for member in [
        "created_at",
        "status",
        "model",
        "output",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "text",
        "usage",
    ] {
        assert!(response.get(member).is_some(), "{member}: {response}");
    }
}

/// The events of a stream: named as their type, numbered without a gap, of one response.
fn events_in(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for event in text.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':')) {
        let (name, data) = event.split_once('\n').unwrap_or_else(|| panic!("{event}"));
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"], "{event}");
        assert_eq!(data["sequence_number"], events.len(), "{event}");
        events.push(data);
    }
    assert_eq!(
        (&events[0]["type"], &events[1]["type"]),
        (&json!("response.created"), &json!("response.in_progress"))
    );
    check(&events[0]["response"]);
    check(&events.last().unwrap()["response"]);
    assert_eq!(events[0]["response"]["id"], events.last().unwrap()["response"]["id"]);
    events
}

async fn events(who: &Person<'_>, body: Value) -> Vec<Value> {
    let answer = who.post(PATH, &with(body, json!({ "stream": true }))).await.expect(200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    events_in(&answer.text)
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap().strip_prefix("response.").unwrap()).collect()
}

/// Ids and times are made up.
fn plain(mut response: Value) -> Value {
    response["id"].take();
    for item in response["output"].as_array_mut().unwrap() {
        item["id"].take();
        item["call_id"].take();
    }
    response
}

#[tokio::test]
async fn a_whole_response() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::pieces(["Hel", "lo"]).with_usage(3, 2)]);
    let response =
        whole(&p.user("ada"), asks(json!({ "instructions": "Be brief.", "metadata": { "a": "b" } }))).await;
    let message = json!({ "type": "message", "id": null, "status": "completed", "role": "assistant",
        "content": [{ "type": "output_text", "text": "Hello", "annotations": [], "logprobs": [] }], "call_id": null });
    assert_eq!(plain(response.clone())["output"], json!([message]));
    assert_eq!(
        response["usage"],
        json!({ "input_tokens": 3, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 2,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 5 })
    );
    assert_eq!((&response["status"], &response["error"]), (&json!("completed"), &json!(null)));
    assert_eq!(
        (&response["instructions"], &response["metadata"]),
        (&json!("Be brief."), &json!({ "a": "b" }))
    );
    let system = model.requests()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.ends_with("Be brief."), "{system}");
}

#[tokio::test]
async fn a_stream_adds_up_to_the_whole_response() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!("hello")));
    let play = || {
        [
            ScriptedReply::text("Let me see.").and_call(ECHO_ALIAS, json!({ "text": "x" })).with_usage(5, 5),
            ScriptedReply::pieces(["It said", " hello."])
                .and_call("weather", json!({ "city": "Oslo" }))
                .with_usage(7, 1),
        ]
    };
    let body = || asks(json!({ "tools": [function()] }));
    script(&model, play());
    let response = whole(&p.user("ada"), body()).await;
    script(&model, play());
    let told = events(&p.user("ada"), body()).await;
    assert_eq!(
        kinds(&told),
        [
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "completed"
        ]
    );
    let last = &told.last().unwrap()["response"];
    assert_eq!(plain(last.clone()), plain(response.clone()));
    let done: Vec<&Value> = told
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(json!(done), last["output"]);
    // Server tools are not shown; calls of the caller's tools are.
    let kinds: Vec<&str> = done.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "message", "function_call"]);
    assert_eq!((&done[2]["name"], &done[2]["arguments"]), (&json!("weather"), &json!("{\"city\":\"Oslo\"}")));
    assert_eq!((&last["usage"]["total_tokens"], app.requests("/tool").len()), (&json!(18), 2));
}

#[tokio::test]
async fn items_come_back_and_the_conversation_continues() {
    let (p, model) = with_model(|_| {}).await;
    script(
        &model,
        [ScriptedReply::text("Let me look.")
            .and_call("weather", json!({ "city": "Oslo" }))
            .and_call("weather", json!({ "city": "Rome" }))],
    );
    let first = whole(&p.user("ada"), asks(json!({ "tools": [function()] }))).await;
    let mut input = vec![
        json!({ "role": "user", "content": "hi" }),
        json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
    ];
    let output = first["output"].as_array().unwrap().clone();
    let calls: Vec<Value> = output.iter().filter(|item| item["type"] == "function_call").cloned().collect();
    input.extend(output);
    for (call, sky) in calls.iter().zip(["grey", "blue"]) {
        input.push(json!({ "type": "function_call_output", "call_id": call["call_id"], "output": sky }));
    }
    script(&model, [ScriptedReply::text("Grey and blue.")]);
    let second = whole(&p.user("ada"), asks(json!({ "input": input, "tools": [function()] }))).await;
    assert_eq!(second["output"][0]["content"][0]["text"], "Grey and blue.");
    let asked = model.requests().pop().unwrap();
    assert_eq!(results(&asked), ["grey", "blue"]);
    let roles: Vec<&str> = asked.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(asked.body["messages"][2]["content"], "Let me look.");
}

#[tokio::test]
async fn a_response_that_ends_early_says_why() {
    let (p, model) = with_model(|config| config.chat.steps = 1).await;
    let (_app, _device) = p.echo().await;
    let call = || ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" }));
    for (answer, reason) in [
        (ScriptedReply::text("Half a").with_stop_reason("length"), "max_output_tokens"),
        (ScriptedReply::text("Half a").with_stop_reason("content_filter"), "content_filter"),
        (call(), "steps"),
    ] {
        script(&model, [answer.clone(), answer]);
        let response = whole(&p.user("ada"), asks(json!({}))).await;
        assert_eq!(
            (&response["status"], &response["incomplete_details"]["reason"]),
            (&json!("incomplete"), &json!(reason))
        );
        let told = events(&p.user("ada"), asks(json!({}))).await;
        let last = told.last().unwrap();
        assert_eq!(
            (&last["type"], &last["response"]["incomplete_details"]["reason"]),
            (&json!("response.incomplete"), &json!(reason))
        );
    }
}

#[tokio::test]
async fn a_model_that_fails_has_a_status_or_ends_the_stream() {
    let (p, model) = with_model(|_| {}).await;
    for stream in [false, true] {
        script(&model, [ScriptedReply::error(400, json!({ "error": { "message": "too long" } }))]);
        let answer = p.user("ada").post(PATH, &asks(json!({ "stream": stream }))).await.expect(400);
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    }
    script(&model, [ScriptedReply::text("Well").and_hold().and_cut()]);
    let response = p.user("ada").open(Method::POST, PATH, Some(asks(json!({ "stream": true })))).await;
    model.release(1);
    let told = events_in(std::str::from_utf8(&response.bytes(1 << 20).await.unwrap()).unwrap());
    let last = told.last().unwrap();
    assert_eq!((&last["type"], &last["response"]["status"]), (&json!("response.failed"), &json!("failed")));
    assert_eq!(last["response"]["error"]["code"], "server_error");
    assert_eq!(last["response"]["output"][0]["status"], "incomplete");
}

#[tokio::test]
async fn refusals_name_the_parameter() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    let clash = json!({ "type": "function", "name": ECHO_ALIAS, "parameters": { "type": "object" } });
    let odd =
        json!({ "type": "function", "name": "f", "parameters": { "type": "object", "minProperties": "x" } });
    let picks = json!({ "type": "function", "name": "nothing" });
    for (more, status, param) in [
        (json!({ "previous_response_id": "resp_1" }), 400, json!("previous_response_id")),
        (json!({ "tools": [{ "type": "web_search" }] }), 400, json!("tools[0].type")),
        (json!({ "tools": [{ "type": "mcp", "server_label": "x" }] }), 400, json!("tools[0].type")),
        (json!({ "tools": [clash] }), 400, json!("tools[0]")),
        (json!({ "tools": [odd] }), 400, json!("tools[0].parameters.minProperties")),
        (json!({ "tool_choice": picks }), 400, json!("tool_choice")),
        (json!({ "input": [{ "type": "item_reference", "id": "x" }] }), 400, json!("input[0].type")),
        (json!({ "model": "nowhere/model" }), 404, json!(null)),
    ] {
        let error = p.user("ada").post(PATH, &asks(more)).await.expect(status).json()["error"].clone();
        assert_eq!((&error["param"], &error["type"]), (&param, &json!("invalid_request_error")), "{error}");
    }
    assert!(model.requests().is_empty());
    p.user("ada").send(Method::POST, PATH, Some("{".to_owned())).await.expect(400);
}

#[tokio::test]
async fn responses_require_a_credential_and_a_disconnect_cancels_them() {
    let (p, model) = with_model(tokens_only).await;
    for who in [p.nobody(), p.bearer("sk-whatever"), p.user("ada")] {
        let error = who.post(PATH, &asks(json!({}))).await.expect(401).json()["error"].clone();
        assert_eq!(error["type"], "authentication_error");
    }
    let token = p.token("ada", Role::User);
    script(&model, [ScriptedReply::text("One").and_hold().and_text(" two")]);
    let left = model.abandoned();
    let response = p.bearer(&token).open(Method::POST, PATH, Some(asks(json!({ "stream": true })))).await;
    drop(response);
    model.wait_abandoned(left + 1).await;
    script(&model, [ScriptedReply::text("ok")]);
    whole(&p.bearer(&token), asks(json!({}))).await;
    assert!(offered(&model.requests()[0]).is_empty());
}
