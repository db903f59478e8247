//! Formats in which a line is a message: JSON that an app or a model writes with line breaks is sent as one line through every
//! door.

use http::Method;
use serde_json::{Value, json};
use toolyard_testkit::{
    AppBehavior, FakeApp,
    model::ScriptedReply,
    upstream::{InjectedFault, RequestMatch, UpstreamEra},
};

use crate::{
    chat::{ECHO_ALIAS, asks, chunks_in, lines_in, one, weather, with, with_model},
    mcp::client::Ask,
    platform::{ECHO, Platform},
    plugins,
    upstreams::world::{add, live, plain},
};

/// What people and programs indent with, and the two line breaks that readers of lines know.
const BREAKS: [&str; 3] = ["\n", "\r\n", "\r"];

/// JSON as a pretty printer writes it.
fn pretty(value: &Value, line_break: &str) -> String {
    format!("{value:#}").replace('\n', line_break)
}

fn structured() -> Value {
    json!({ "list": [1, { "deep": "a\nb" }], "text": "\"quoted\" \\ \u{2028}", "none": null })
}

/// The app responds with blocks other than text and with structured content, all of it indented.
fn answers_indented(app: &FakeApp, line_break: &str) {
    let content = json!([{ "type": "resource_link", "uri": "todo://1", "name": "one" }]);
    let body = json!({ "content": content, "structuredContent": structured() });
    app.set_behavior(AppBehavior::Text(200, "application/json", pretty(&body, line_break)));
}

/// The data of server-sent events. Checks that every field is expected and every datum complete.
fn events_in(text: &str) -> Vec<Value> {
    assert!(!text.contains('\r'), "{text:?}");
    let mut data = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
        match line.split_once(": ").unwrap_or_else(|| panic!("no field: {line:?} in {text}")) {
            ("data", "[DONE]") | ("event" | "id", _) => {}
            ("data", datum) => data.push(serde_json::from_str(datum).unwrap_or_else(|_| panic!("{datum:?}"))),
            (field, _) => panic!("{field:?} in {text}"),
        }
    }
    data
}

#[tokio::test]
async fn events_of_ai_sdk_5_chats_are_one_line_each() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    for line_break in BREAKS {
        answers_indented(&app, line_break);
        let arguments = pretty(&json!({ "text": "x\ny" }), line_break);
        let city = pretty(&json!({ "city": "Oslo" }), line_break);
        model.queue_replies([
            ScriptedReply::new().and_call_in_pieces(ECHO_ALIAS, [arguments.as_str()]),
            ScriptedReply::new().and_call_in_pieces("weather", [city.as_str()]),
        ]);
        let body = with(asks("hi"), json!({ "clientTools": [weather()] }));
        let answer = p.user("ada").post("/api/chat", &body).await.expect(200);
        events_in(&answer.text);
        let chunks = chunks_in(&answer.text);
        assert_eq!(one(&chunks, "tool-output-available")["output"], structured());
        let inputs: Vec<_> = chunks
            .iter()
            .filter(|chunk| chunk["type"] == "tool-input-available")
            .map(|c| &c["input"])
            .collect();
        assert_eq!(inputs, [&json!({ "text": "x\ny" }), &json!({ "city": "Oslo" })]);
    }
}

#[tokio::test]
async fn events_of_ai_sdk_4_chats_are_one_line_each() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    for line_break in BREAKS {
        answers_indented(&app, line_break);
        let arguments = pretty(&json!({ "text": "x" }), line_break);
        model.queue_replies([
            ScriptedReply::new().and_call_in_pieces(ECHO_ALIAS, [arguments.as_str()]),
            ScriptedReply::text("Done."),
        ]);
        let body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
        let answer = p.user("ada").post("/api/chat", &body).await.expect(200);
        assert!(!answer.text.contains('\r'), "{:?}", answer.text);
        let lines = lines_in(&answer.text);
        let result = lines.iter().find(|(code, _)| *code == 'a').unwrap();
        assert_eq!(result.1["result"], structured());
    }
}

#[tokio::test]
async fn events_of_chat_completions_are_one_line_each() {
    let (p, model) = with_model(|_| {}).await;
    for line_break in BREAKS {
        let city = pretty(&json!({ "city": "Oslo" }), line_break);
        model.queue_replies([ScriptedReply::new().and_call_in_pieces("weather", [city.as_str()])]);
        let function = json!({ "type": "function", "function": weather() });
        let body =
            json!({ "messages": [{ "role": "user", "content": "hi" }], "tools": [function], "stream": true });
        let answer = p.user("ada").post("/v1/chat/completions", &body).await.expect(200);
        let events = events_in(&answer.text);
        let called = events.iter().find_map(|event| event["choices"][0]["delta"]["tool_calls"].as_array());
        let arguments = called.unwrap()[0]["function"]["arguments"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({ "city": "Oslo" }));
    }
}

#[tokio::test]
async fn events_of_responses_are_one_line_each() {
    let (p, model) = with_model(|_| {}).await;
    for line_break in BREAKS {
        let city = pretty(&json!({ "city": "Oslo" }), line_break);
        model.queue_replies([ScriptedReply::new().and_call_in_pieces("weather", [city.as_str()])]);
        let function = with(weather(), json!({ "type": "function" }));
        let body = json!({ "input": "hi", "tools": [function], "stream": true });
        let answer = p.user("ada").post("/v1/responses", &body).await.expect(200);
        let events = events_in(&answer.text);
        let called = &events.last().unwrap()["response"]["output"][0];
        let arguments: Value = serde_json::from_str(called["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, json!({ "city": "Oslo" }));
    }
}

#[tokio::test]
async fn events_of_rest_calls_are_one_line_each() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let ada = p.user("ada").header("accept", "text/event-stream");
    let body = json!({ "name": format!("{ECHO}:echo"), "arguments": { "text": "x" } });
    for line_break in BREAKS {
        answers_indented(&app, line_break);
        let answer = ada.post("/api/tools/execute", &body).await.expect(200);
        let events = events_in(&answer.text);
        assert_eq!((events.len(), &events[0]["success"]), (1, &json!(true)), "{}", answer.text);
        assert_eq!(events[0]["content"], structured());
        // A failure with more than its text.
        let failure = json!({ "success": false, "error": { "code": "X", "message": "no\nluck", "data": structured() } });
        app.set_behavior(AppBehavior::Text(200, "application/json", pretty(&failure, line_break)));
        let events = events_in(&ada.post("/api/tools/execute", &body).await.expect(200).text);
        assert_eq!((events.len(), &events[0]["success"]), (1, &json!(false)));
    }
}

#[tokio::test]
async fn events_of_mcp_calls_are_one_line_each() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    for line_break in BREAKS {
        // Progress opens the stream. Lines have no line breaks inside of them, but a lone CR is none to every reader.
        let result = json!({ "type": "result", "success": true, "structuredContent": structured() });
        let result = if line_break == "\r" { pretty(&result, "\r") } else { result.to_string() };
        let lines =
            format!("{}\n{result}\n", json!({ "type": "progress", "progress": 1, "message": "a\r\nb" }));
        app.set_behavior(AppBehavior::Text(200, "application/x-ndjson", lines));
        let ask = Ask::call(ECHO_ALIAS, json!({ "text": "x" })).meta("progressToken", json!("t"));
        let message = ask.message().to_string();
        let answer =
            p.user("ada").header("mcp-name", ECHO_ALIAS).ask_raw("tools/call", &message).await.expect(200);
        let events = events_in(&answer.text);
        let last = &events.last().unwrap()["result"];
        assert_eq!((events.len(), &last["structuredContent"]), (2, &structured()), "{}", answer.text);
    }
}

#[tokio::test]
async fn events_of_watched_calls_are_one_line_each() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let response = p.user("ada").open(Method::GET, "/api/calls/stream", None).await;
    let mut lines = response.into_lines(10_000, 100_000);
    answers_indented(&app, "\r\n");
    p.call_echo().await.expect(200);
    let mut seen = String::new();
    while let Some(line) = lines.next().await.unwrap() {
        seen.push_str(std::str::from_utf8(&line).unwrap());
        seen.push('\n');
        if seen.contains("data: ") {
            break;
        }
    }
    assert_eq!(events_in(&seen)[0]["outcome"], "OK");
}

#[tokio::test]
async fn results_of_upstreams_are_one_line() {
    let (p, model) = with_model(|_| {}).await;
    for (era, line_break) in [
        (UpstreamEra::Modern, "\n"),
        (UpstreamEra::Modern, "\r\n"),
        (UpstreamEra::Legacy, "\r\n"),
        (UpstreamEra::Legacy, "\r"),
    ] {
        let upstream = plain(era).await;
        let id = format!("up{}", line_break.len()) + if era == UpstreamEra::Modern { "m" } else { "l" };
        add(&p, &id, &upstream.url()).await;
        let ada = live(&p, "ada").await;
        // Servers that follow MCP repeat structured content as a text; the structured one is shown.
        let repeated = json!([{ "type": "text", "text": pretty(&structured(), line_break) }]);
        let result = json!({ "content": repeated, "structuredContent": structured() });
        upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Indented(result, line_break));
        let body = json!({ "name": format!("mcp.{id}:echo"), "arguments": { "text": "x" } });
        let watched = ada.header("accept", "text/event-stream");
        let events = events_in(&watched.post("/api/tools/execute", &body).await.expect(200).text);
        assert_eq!((events.len(), &events[0]["success"]), (1, &json!(true)), "{events:?}");
        let alias = format!("mcp_{id}__echo");
        model.queue_replies([
            ScriptedReply::call(&alias, json!({ "text": "x" })),
            ScriptedReply::text("Done."),
        ]);
        let answer = p.user("ada").post("/api/chat", &asks("hi")).await.expect(200);
        events_in(&answer.text);
        let chunks = chunks_in(&answer.text);
        assert_eq!(one(&chunks, "tool-output-available")["output"], structured());
    }
}

#[tokio::test]
async fn results_of_plugins_and_client_schemas_are_one_line() {
    let (p, model) = with_model(plugins::curating).await;
    let _device = p.device("ada").await;
    let code = r#"return args.text ? "a\r\nb\nc\rd" : { text: "a\r\nb", list: [1, "\u2028"] };"#;
    let manifest = plugins::plugin("com.example.x", "say", code);
    plugins::install(&p.user("ada"), &plugins::signed(&manifest, 1)).await.expect(201);
    for (arguments, line_break) in [(json!({ "text": true }), "\r\n"), (json!({}), "\r")] {
        let body = json!({ "name": "plugin.com.example.x:say", "arguments": arguments });
        let watched = p.user("ada").header("accept", "text/event-stream");
        let events = events_in(&watched.post("/api/tools/execute", &body).await.expect(200).text);
        assert_eq!((events.len(), &events[0]["success"]), (1, &json!(true)), "{events:?}");
        // A request that is indented, with the schema of a client's tool in it, and a call that is passed on to it.
        let mut tool = weather();
        tool["description"] = json!("Says\r\nthe weather");
        let city = pretty(&json!({ "city": "Os\nlo" }), line_break);
        model.queue_replies([ScriptedReply::new().and_call_in_pieces("weather", [city.as_str()])]);
        let request = pretty(&with(asks("hi"), json!({ "clientTools": [tool] })), line_break);
        let answer = p.user("ada").send(Method::POST, "/api/chat", Some(request)).await.expect(200);
        events_in(&answer.text);
        let chunks = chunks_in(&answer.text);
        assert_eq!(one(&chunks, "tool-input-available")["input"], json!({ "city": "Os\nlo" }));
    }
}
