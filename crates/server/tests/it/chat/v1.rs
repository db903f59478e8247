//! The data stream v1, for AI SDK 4 and hustle-incognito.

use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, check::Line, lines, offered, results, script, weather, with, with_model};
use crate::platform::tokens_only;

fn asks(text: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": text }] })
}

fn codes(lines: &[Line]) -> String {
    lines.iter().map(|(code, _)| *code).collect()
}

fn line(lines: &[Line], code: char) -> &Value {
    &lines.iter().rfind(|(own, _)| *own == code).unwrap_or_else(|| panic!("no {code}: {lines:#?}")).1
}

#[tokio::test]
async fn a_tool_of_the_client_ends_the_answer() {
    let (p, model) = with_model(|_| {}).await;
    script(
        &model,
        [ScriptedReply::text("Checking").and_call("weather", json!({ "city": "Oslo" })).with_usage(10, 5)],
    );
    let told = lines(&p.user("ada"), with(asks("Oslo?"), json!({ "clientTools": [weather()] }))).await;
    assert_eq!(codes(&told), "f0bcc9ed");
    let called = line(&told, '9');
    assert_eq!((&called["toolName"], &called["args"]), (&json!("weather"), &json!({ "city": "Oslo" })));
    let usage = json!({ "promptTokens": 10, "completionTokens": 5 });
    assert_eq!(
        *line(&told, 'e'),
        json!({ "finishReason": "tool-calls", "usage": usage, "isContinued": false })
    );
    assert_eq!(*line(&told, 'd'), json!({ "finishReason": "tool-calls", "usage": usage }));
}

/// The first format of client tools: the call as it was streamed, and its result as a message of its own.
#[tokio::test]
async fn a_call_can_be_sent_back_as_it_was_streamed() {
    let (p, model) = with_model(|_| {}).await;
    script(
        &model,
        [ScriptedReply::call("weather", json!({ "city": "Oslo" })), ScriptedReply::text("It is grey.")],
    );
    let ada = p.user("ada");
    let told = lines(&ada, with(asks("Oslo?"), json!({ "clientTools": [weather()] }))).await;
    let pending = line(&told, '9').clone();
    let messages = json!([{ "role": "user", "content": "Oslo?" }, { "role": "assistant", "content": "", "toolCalls": [pending] },
        { "role": "tool", "content": json!({ "sky": "grey" }).to_string(), "toolCallId": pending["toolCallId"] }]);
    let told = lines(&ada, json!({ "messages": messages, "clientTools": [weather()] })).await;
    assert_eq!(
        (line(&told, '0'), line(&told, 'd')["finishReason"].as_str()),
        (&json!("It is grey."), Some("stop"))
    );
    let asked = model.requests().pop().unwrap();
    assert_eq!(results(&asked), [r#"{"sky":"grey"}"#]);
    let called = &asked.body["messages"][2]["tool_calls"][0]["function"];
    assert_eq!(*called, json!({ "name": "weather", "arguments": r#"{"city":"Oslo"}"# }));
}

#[tokio::test]
async fn a_server_tool_and_text_are_two_steps_with_summed_usage() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!({ "sum": 2 })));
    script(
        &model,
        [
            ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })).with_usage(10, 5),
            ScriptedReply::text("done").with_usage(20, 1),
        ],
    );
    let told = lines(&p.user("ada"), asks("go")).await;
    assert_eq!(codes(&told), "fbcc92aef0ed");
    assert_eq!(line(&told, 'a')["result"], json!({ "sum": 2 }));
    assert_eq!(line(&told, '2')[0]["app"], "Echo");
    let usage = json!({ "promptTokens": 30, "completionTokens": 6 });
    assert_eq!(*line(&told, 'd'), json!({ "finishReason": "stop", "usage": usage }));
}

#[tokio::test]
async fn a_tool_that_fails_is_a_result_and_no_error_of_the_chat() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Json(
        200,
        json!({ "success": false, "error": { "code": "X", "message": "no ink" } }),
    ));
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("Sorry.")]);
    let told = lines(&p.user("ada"), asks("go")).await;
    assert_eq!(line(&told, 'a')["result"], json!({ "error": "no ink" }));
    assert_eq!(line(&told, 'd')["finishReason"], "stop");
}

#[tokio::test]
async fn progress_and_reasoning_have_lines_of_their_own() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 1, "total": 2 }),
        json!({ "type": "result", "success": true, "content": "done" }),
    ]));
    app.let_line_through();
    app.let_line_through();
    let thinks = ScriptedReply::new().and_reasoning("hm").and_call(ECHO_ALIAS, json!({ "text": "x" }));
    script(&model, [thinks, ScriptedReply::text("ok")]);
    let told = lines(&p.user("ada"), asks("go")).await;
    let progress = told.iter().find(|(_, value)| value[0]["type"] == "progress").unwrap();
    assert_eq!((progress.0, &progress.1[0]["progress"]), ('2', &json!(1.0)));
    assert_eq!(*line(&told, 'g'), json!("hm"));
}

#[tokio::test]
async fn an_answer_never_ends_on_a_finished_tool() {
    let (p, model) = with_model(|config| config.chat.steps = 3).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })));
    let told = lines(&p.user("ada"), asks("go")).await;
    assert!(codes(&told).ends_with("ef0ed"), "{}", codes(&told));
    assert_eq!(
        (line(&told, '0').as_str().unwrap().contains("too many steps"), &line(&told, 'd')["finishReason"]),
        (true, &json!("other"))
    );
}

#[tokio::test]
async fn a_call_that_was_cut_off_does_not_make_the_client_ask_again() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::call("weather", json!({ "city": "Oslo" })).with_stop_reason("length")]);
    let told = lines(&p.user("ada"), with(asks("Oslo?"), json!({ "clientTools": [weather()] }))).await;
    assert!(!codes(&told).contains('9'), "{}", codes(&told));
    assert_eq!(line(&told, 'd')["finishReason"], "length");
}

#[tokio::test]
async fn an_invalid_call_is_never_streamed_as_a_call() {
    let (p, model) = with_model(|_| {}).await;
    script(
        &model,
        [
            ScriptedReply::call("weather", json!({ "city": 5 })).and_call("gone", json!({})),
            ScriptedReply::new().and_call_in_pieces("weather", ["{oops"]),
            ScriptedReply::call("weather", json!({ "city": "Oslo" })),
        ],
    );
    let told = lines(&p.user("ada"), with(asks("Oslo?"), json!({ "clientTools": [weather()] }))).await;
    // These clients run every call in the stream.
    let called: Vec<_> =
        told.iter().filter(|(code, _)| *code == '9').map(|(_, value)| &value["args"]).collect();
    assert_eq!(called, [&json!({ "city": "Oslo" })]);
    let failed = told.iter().filter(|(code, value)| *code == 'a' && value["result"]["error"].is_string());
    assert_eq!((failed.count(), results(&model.requests()[2]).len()), (3, 3));
    assert_eq!(line(&told, 'd')["finishReason"], "tool-calls");
}

#[tokio::test]
async fn an_error_in_the_middle_is_the_last_line() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::text("Well").and_hold().and_error(json!({ "message": "overloaded" }))]);
    model.release(1);
    let told = lines(&p.user("ada"), asks("go")).await;
    assert_eq!(told.last().unwrap().0, '3', "{told:?}");
}

#[tokio::test]
async fn text_that_is_json_is_split_into_parts_that_are_not() {
    let (p, model) = with_model(|_| {}).await;
    script(&model, [ScriptedReply::pieces(["[]", "{\"a\":1}", "[not", "5"])]);
    let told = lines(&p.user("ada"), asks("go")).await;
    let texts: String =
        told.iter().filter(|(code, _)| *code == '0').map(|(_, text)| text.as_str().unwrap()).collect();
    assert_eq!(texts, "[]{\"a\":1}[not5");
}

/// What hustle-incognito sends.
fn hustle(more: Value) -> Value {
    let body = json!({ "id": "chat-v", "messages": [{ "role": "user", "content": "time?" }], "vaultId": "v",
        "externalWalletAddress": "", "slippageSettings": { "lpSlippage": 5, "swapSlippage": 5, "pumpSlippage": 5 },
        "safeMode": true, "currentPath": null, "attachments": [], "selectedToolCategories": [],
        "clientTools": [weather()] });
    with(body, more)
}

#[tokio::test]
async fn a_key_in_the_body_is_a_credential() {
    let (p, model) = with_model(tokens_only).await;
    model.set_default_reply(ScriptedReply::text("noon"));
    let nobody = p.nobody().header("x-mcp-mode", "true");
    nobody.post("/api/chat", &hustle(json!({}))).await.expect(401);
    nobody.post("/api/chat", &hustle(json!({ "apiKey": "k" }))).await.expect(401);
    nobody.post("/api/chat", &hustle(json!({ "apiKey": "" }))).await.expect(401);
    // Without permission the problems of the request are not reported.
    nobody.post("/api/chat", &json!({ "messages": 5 })).await.expect(401);
    assert!(model.requests().is_empty());
    let token = p.token("ada", Role::User);
    let told = lines(&nobody, hustle(json!({ "apiKey": token }))).await;
    assert_eq!((*line(&told, '0')).as_str(), Some("noon"));
    // A header overrides the body.
    p.bearer("wrong").post("/api/chat", &hustle(json!({ "apiKey": token }))).await.expect(401);
}

#[tokio::test]
async fn hustle_incognito_rounds_continue_the_conversation() {
    let (p, model) = with_model(|_| {}).await;
    model.set_default_reply(ScriptedReply::text("Noon."));
    let flat = json!({ "role": "assistant", "content": "", "parts": [{ "type": "text", "text": "" },
        { "type": "tool-invocation", "toolCallId": "c9", "toolName": "weather", "state": "output-available", "input": { "city": "Oslo" }, "output": { "sky": "grey" } }] });
    let older = json!({ "role": "assistant", "content": "", "toolInvocations": [{ "state": "result", "step": 0, "toolCallId": "c9",
        "toolName": "weather", "args": { "city": "Oslo" }, "result": "{\"sky\":\"grey\"}" }] });
    for round in [flat, older] {
        let user = json!({ "role": "user", "content": "Oslo?" });
        let told = lines(&p.user("ada"), hustle(json!({ "messages": [user, round] }))).await;
        assert_eq!(codes(&told), "f0ed");
        assert_eq!(results(model.requests().last().unwrap()), ["{\"sky\":\"grey\"}"]);
    }
}

#[tokio::test]
async fn hustle_incognito_may_select_tools() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo_like(json!({ "tools": [
        { "name": "echo", "description": "Says it again", "inputSchema": { "type": "object" }, "mentraExtensions": { "category": "media" } },
        { "name": "shout", "description": "Says it loud", "inputSchema": { "type": "object" } }] })).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let (echo, shout) = ("com_example_echo__echo", "com_example_echo__shout");
    for (more, tools) in [
        (json!({}), vec![echo, shout]),
        (json!({ "exactToolNames": ["com.example.echo:shout"] }), vec![echo, shout]),
        (json!({ "exactToolNames": ["com.example.echo:shout"], "ignoreOtherTools": true }), vec![shout]),
        (json!({ "excludedTools": [shout] }), vec![echo]),
        (json!({ "selectedToolCategories": ["media"] }), vec![echo]),
        (json!({ "selectedToolCategories": ["media"], "excludedTools": [echo] }), vec![]),
        (json!({ "exactToolNames": ["gone"], "ignoreOtherTools": true }), vec![]),
    ] {
        lines(&p.user("ada"), hustle(with(more.clone(), json!({ "clientTools": [] })))).await;
        let mut seen = offered(model.requests().last().unwrap());
        seen.sort();
        assert_eq!(seen, tools, "{more}");
    }
}
