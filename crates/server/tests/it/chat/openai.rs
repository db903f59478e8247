//! The same turn for OpenAI's clients.

use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, offered, results, script, weather, with, with_model};
use crate::platform::{Answer as Response, Person, tokens_only};

const PATH: &str = "/v1/chat/completions";

fn asks(more: Value) -> Value {
    with(json!({ "model": "local/scripted", "messages": [{ "role": "user", "content": "hi" }] }), more)
}

fn function() -> Value {
    json!({ "type": "function", "function": weather() })
}

async fn whole(who: &Person<'_>, body: Value) -> Value {
    let answer = who.post(PATH, &body).await.expect(200);
    assert_eq!(answer.header("x-toolyard-model"), "local/scripted");
    answer.json()
}

/// The events of a stream, each with the keys that clients need.
async fn events(who: &Person<'_>, body: Value) -> Vec<Value> {
    let answer = who.post(PATH, &with(body, json!({ "stream": true }))).await.expect(200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    events_in(&answer.text)
}

fn events_in(text: &str) -> Vec<Value> {
    let text = text.strip_suffix("data: [DONE]\n\n").unwrap_or_else(|| panic!("{text}"));
    let events: Vec<Value> = text
        .split("\n\n")
        .filter(|event| !event.is_empty() && !event.starts_with(':'))
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    let id = &events[0]["id"];
    assert!(id.as_str().unwrap().starts_with("chatcmpl_"), "{id}");
    for event in events.iter().filter(|event| event.get("error").is_none()) {
        assert_eq!((&event["id"], &event["object"]), (id, &json!("chat.completion.chunk")), "{event}");
        assert!(event["created"].is_i64() && event["choices"].is_array(), "{event}");
    }
    assert_eq!(events[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    events
}

fn said(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect()
}

#[tokio::test]
async fn responses_without_a_stream() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::pieces(["Hel", "lo"]).with_usage(3, 2)]);
    let mut answer = whole(&p.user("ada"), asks(json!({ "max_tokens": 9, "temperature": 0.5 }))).await;
    assert!(answer["id"].take().as_str().unwrap().starts_with("chatcmpl_"));
    assert_eq!(
        answer,
        json!({ "id": null, "object": "chat.completion", "created": 1_767_323_045, "model": "local/scripted",
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hello" }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 } })
    );
    let asked = &model.requests()[0].body;
    assert_eq!((&asked["max_tokens"], &asked["temperature"]), (&json!(9), &json!(0.5)));
}

#[tokio::test]
async fn streams_with_and_without_usage() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::pieces(["Hel", "lo"]).with_usage(3, 2));
    let told = events(&p.user("ada"), asks(json!({}))).await;
    assert_eq!(
        (said(&told).as_str(), &told.last().unwrap()["choices"][0]["finish_reason"]),
        ("Hello", &json!("stop"))
    );
    assert!(told.iter().all(|event| event.get("usage").is_none()));
    let told = events(&p.user("ada"), asks(json!({ "stream_options": { "include_usage": true } }))).await;
    let last = told.last().unwrap();
    assert_eq!(
        (&last["choices"], &last["usage"]),
        (&json!([]), &json!({ "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 }))
    );
}

#[tokio::test]
async fn server_tools_run_inside_the_turn_and_are_not_shown() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!("hello")));
    for streamed in [false, true] {
        let call =
            ScriptedReply::text("Let me see.").and_call(ECHO_ALIAS, json!({ "text": "x" })).with_usage(5, 5);
        script(&model, [call, ScriptedReply::text("It said hello.").with_usage(7, 1)]);
        let body = asks(json!({ "stream_options": { "include_usage": true } }));
        let (text, usage, raw) = if streamed {
            let told = events(&p.user("ada"), body).await;
            (said(&told), told.last().unwrap()["usage"].clone(), json!(told).to_string())
        } else {
            let answer = whole(&p.user("ada"), body).await;
            let text = answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
            (text, answer["usage"].clone(), answer.to_string())
        };
        // Texts of two steps are separated.
        assert_eq!((text.as_str(), &usage["total_tokens"]), ("Let me see.\n\nIt said hello.", &json!(18)));
        assert!(!raw.contains("tool_calls"), "{raw}");
    }
    assert_eq!((app.requests("/tool").len(), results(&model.requests()[1])), (2, vec!["hello".to_owned()]));
}

#[tokio::test]
async fn calls_of_the_callers_tools_are_returned() {
    let (p, model) = with_model(|_| {}).await;
    let both = || {
        ScriptedReply::call("weather", json!({ "city": "Oslo" }))
            .and_call("weather", json!({ "city": "Rome" }))
    };
    model.set_default_reply(both());
    let body = asks(json!({ "tools": [function()], "tool_choice": "required" }));
    let answer = whole(&p.user("ada"), body.clone()).await;
    let choice = &answer["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &json!(null))
    );
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["function"], json!({ "name": "weather", "arguments": "{\"city\":\"Oslo\"}" }));
    assert_eq!((calls[0].get("index"), &calls[0]["type"]), (None, &json!("function")));
    assert_eq!(
        (&model.requests()[0].body["tool_choice"], offered(&model.requests()[0])),
        (&json!("required"), vec!["weather".to_owned()])
    );

    let told = events(&p.user("ada"), body).await;
    let deltas: Vec<_> = told
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["tool_calls"].as_array())
        .flatten()
        .collect();
    let places: Vec<_> = deltas.iter().map(|call| call["index"].as_u64().unwrap()).collect();
    assert_eq!((places, deltas[0]["id"] == deltas[1]["id"]), (vec![0, 1], false));
    assert_eq!(told.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn the_turn_continues_with_the_callers_results() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::text("Grey."));
    let call =
        json!({ "id": "c1", "type": "function", "function": { "name": "weather", "arguments": "{}" } });
    let messages = json!([{ "role": "user", "content": "Oslo?" }, { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "c1", "content": "grey" }]);
    whole(&p.user("ada"), asks(json!({ "messages": messages, "tools": [function()] }))).await;
    assert_eq!(results(&model.requests()[0]), ["grey"]);
}

#[tokio::test]
async fn a_call_of_a_model_that_must_not_call_is_dropped() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    for streamed in [false, true] {
        for tool in [ECHO_ALIAS, "weather", "nothing"] {
            script(&model, [ScriptedReply::text("It is grey.").and_call(tool, json!({ "text": "x" }))]);
            let body = asks(json!({ "tools": [function()], "tool_choice": "none" }));
            let (text, finish, raw) = if streamed {
                let told = events(&p.user("ada"), body).await;
                let finish = told.last().unwrap()["choices"][0]["finish_reason"].clone();
                (said(&told), finish, json!(told).to_string())
            } else {
                let answer = whole(&p.user("ada"), body).await;
                let choice = &answer["choices"][0];
                let text = choice["message"]["content"].as_str().unwrap().to_owned();
                (text, choice["finish_reason"].clone(), answer.to_string())
            };
            assert_eq!((text.as_str(), &finish), ("It is grey.", &json!("stop")), "{tool}");
            assert!(!raw.contains("tool_calls"), "{raw}");
        }
        // If there is no other text, this is returned.
        script(&model, [ScriptedReply::call("weather", json!({ "city": "Oslo" }))]);
        let body = asks(json!({ "tools": [function()], "tool_choice": "none", "stream": streamed }));
        let (kind, text) = refused(p.user("ada").post(PATH, &body).await, 502);
        assert!(kind == "server_error" && text.contains("although tools are switched off"), "{kind} {text}");
    }
    assert_eq!(app.requests("/tool").len(), 0);
}

#[tokio::test]
async fn a_tool_that_is_refused_is_named_as_the_caller_sent_it() {
    let (p, model) =
        with_model(|config| (config.chat.client_tools, config.chat.client_tool_depth) = (3, 2)).await;
    let (_app, _device) = p.echo().await;
    let tool = |name: &str, parameters: Value| json!({ "type": "function", "function": { "name": name, "description": "d", "parameters": parameters } });
    let plain = || json!({ "type": "object" });
    let deep = json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string" } } } });
    for (tools, param, why) in [
        (vec![tool(ECHO_ALIAS, plain())], "tools[0]", "a tool of the server has that name"),
        (vec![function(), tool("a.b", plain())], "tools[1]", "the name must be 1 to 64 letters"),
        (vec![function(), tool("x", plain()), function()], "tools[2]", "there are two of that name"),
        (vec![function(), tool("deep", deep)], "tools[1]", "parameters.properties.a.items: deeper than 2"),
        (vec![function(), tool("odd", json!({ "type": "object", "minProperties": "x" }))], "tools[1]", "odd"),
        (vec![function(); 4], "tools", "4 tools; at most 3"),
    ] {
        let body = asks(json!({ "tools": tools }));
        let error = p.user("ada").post(PATH, &body).await.expect(400).json()["error"].clone();
        let text = error["message"].as_str().unwrap();
        assert!(text.contains(why) && !text.contains("clientTools"), "{text}");
        assert!(text.starts_with(param), "{text}");
        let place = error["param"].as_str().unwrap();
        assert!(place == param || place.starts_with(&format!("{param}.function")), "{place}");
        if let Some(index) = param.strip_prefix("tools[").and_then(|rest| rest[..1].parse::<usize>().ok()) {
            let name = tools[index]["function"]["name"].as_str().unwrap();
            assert!(text.contains(name), "{name}: {text}");
        }
    }
    assert!(model.requests().is_empty());
}

/// An error in OpenAI's format: its type and text.
fn refused(answer: Response, status: u16) -> (String, String) {
    let answer = answer.expect(status);
    let error = &answer.json()["error"];
    assert!(error.get("param").is_some() && error.get("code").is_some(), "{error}");
    (error["type"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn refusals_have_the_form_that_these_clients_read() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    let ada = p.user("ada");
    let clash =
        json!({ "type": "function", "function": { "name": ECHO_ALIAS, "parameters": { "type": "object" } } });
    for (body, status, why) in [
        (json!({}), 400, "messages: missing"),
        (asks(json!({ "n": 2 })), 400, "only one response"),
        (asks(json!({ "tools": [{ "type": "web_search" }] })), 400, "tools[0].type"),
        (asks(json!({ "tools": [clash] })), 400, "a tool of the server has that name"),
        (asks(json!({ "model": "nowhere/model" })), 404, "nowhere"),
        (asks(json!({ "model": "gpt-5" })), 404, "gpt-5"),
    ] {
        for stream in [false, true] {
            let (kind, text) =
                refused(ada.post(PATH, &with(body.clone(), json!({ "stream": stream }))).await, status);
            assert!(kind == "invalid_request_error" && text.contains(why), "{kind} {text}");
        }
    }
    assert_eq!(
        refused(ada.send(http::Method::POST, PATH, Some("{".to_owned())).await, 400).0,
        "invalid_request_error"
    );
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_model_that_fails_before_its_first_word_has_a_status() {
    for (answer, status, kind) in [
        (ScriptedReply::error(401, json!({ "error": { "message": "bad key" } })), 503, "server_error"),
        (
            ScriptedReply::error(400, json!({ "error": { "message": "too long" } })),
            400,
            "invalid_request_error",
        ),
        (
            ScriptedReply::error(429, json!({ "error": {} })).with_header("retry-after", "3600"),
            429,
            "rate_limit_error",
        ),
    ] {
        let (p, model) = with_model(|_| {}).await;
        model.set_default_reply(answer);
        for stream in [false, true] {
            let answer = p.user("ada").post(PATH, &asks(json!({ "stream": stream }))).await;
            let wait = answer.header("retry-after").to_owned();
            let (is, text) = refused(answer, status);
            assert_eq!((is.as_str(), wait == "3600"), (kind, status == 429));
            assert_eq!(text.contains("try again in 60 min"), status == 429, "{text}");
        }
    }
    let (p, model) = with_model(|_| {}).await;
    drop(model);
    assert_eq!(refused(p.user("ada").post(PATH, &asks(json!({}))).await, 503).0, "server_error");
}

#[tokio::test]
async fn a_model_that_breaks_off_says_so_in_the_stream() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::text("Well").and_hold().and_cut());
    let response = p.user("ada").open(http::Method::POST, PATH, Some(asks(json!({ "stream": true })))).await;
    assert_eq!(response.status.as_u16(), 200, "something was said");
    model.release(1);
    let told = events_in(std::str::from_utf8(&response.bytes(1 << 20).await.unwrap()).unwrap());
    assert_eq!(said(&told), "Well");
    assert!(told.last().unwrap()["error"]["message"].as_str().unwrap().contains("scripted"), "{told:?}");
    model.release(10);
    assert_eq!(refused(p.user("ada").post(PATH, &asks(json!({}))).await, 502).0, "server_error");
}

#[tokio::test]
async fn chat_completions_require_a_credential() {
    let (p, model) = with_model(tokens_only).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    for who in [p.nobody(), p.bearer("sk-whatever"), p.user("ada")] {
        assert_eq!(refused(who.post(PATH, &asks(json!({}))).await, 401).0, "authentication_error");
        assert_eq!(refused(who.get("/v1/models").await, 401).0, "authentication_error");
    }
    let token = p.token("ada", Role::User);
    whole(&p.bearer(&token), asks(json!({}))).await;
    p.bearer(&token).get("/v1/models").await.expect(200);
}

#[tokio::test]
async fn in_dev_mode_the_user_header_overrides_the_key() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let both = p.bearer("sk-whatever").header("x-user-id", "ada");
    whole(&both, asks(json!({}))).await;
    assert_eq!(offered(&model.requests()[0]), [ECHO_ALIAS]);
    p.bearer("sk-whatever").post(PATH, &asks(json!({}))).await.expect(401);
}

#[tokio::test]
async fn models_are_listed_with_the_default_first() {
    let (p, model) = with_model(|_| {}).await;
    model.serve_path(
        "/v1/models",
        json!({ "object": "list", "data": [{ "id": "other" }, { "id": "scripted" }] }),
    );
    let list = p.user("ada").get("/v1/models").await.expect(200).json();
    assert_eq!(
        list,
        json!({ "object": "list", "data": [
            { "id": "local/scripted", "object": "model", "created": 0, "owned_by": "local" },
            { "id": "local/other", "object": "model", "created": 0, "owned_by": "local" }] })
    );
}
