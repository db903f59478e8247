//! Calls on their way to an upstream and back: progress, log lines, traces, keys, mirrored parameters, failures.

use http::Method;
use serde_json::{Value, json};
use toolyard_core::pinning::PinMode;
use toolyard_protocol::mcp::meta;
use toolyard_testkit::upstream::{InjectedFault, OfferListKind, RequestMatch, UpstreamEra};

use super::world::{add, add_with, full, live, plain, text, tool, until};
use crate::{
    mcp::client::{Ask, LEGACY, soon},
    platform::Platform,
};

const ERAS: [UpstreamEra; 2] = [UpstreamEra::Modern, UpstreamEra::Legacy];

#[tokio::test]
async fn progress_comes_as_it_happens_under_the_callers_token() {
    for era in ERAS {
        let p = Platform::start().await;
        let upstream = plain(era).await;
        add(&p, "up", &upstream.url()).await;
        let session = p.user("ada").handshake(LEGACY).await;
        let (name, arguments) = ("mcp.up:steps", json!({ "count": 2 }));
        let modern = Ask::call(name, arguments.clone()).meta("progressToken", json!("mine"));
        let params = json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": "mine" } });
        let asks = [(p.user("ada"), modern), (session.person.clone(), Ask::legacy("tools/call", params))];
        for (who, ask) in asks {
            // The first step opens the stream, so it has to be released before.
            upstream.let_through(1);
            let mut events = who.stream(ask).await;
            let first = events.message().await;
            assert_eq!(first["method"], "notifications/progress", "{era:?}: {first}");
            assert_eq!(first["params"], json!({ "progressToken": "mine", "progress": 1.0, "total": 2.0 }));
            upstream.let_through(1);
            assert_eq!(events.message().await["params"]["progress"], 2.0);
            let last = events.message().await;
            assert_eq!(text(&last["result"]), "2 steps");
        }
        for seen in upstream.messages("tools/call") {
            let token = &seen.meta()["progressToken"];
            assert!(!token.is_null() && token != "mine", "a token of our own: {token}");
        }
    }
}

#[tokio::test]
async fn progress_reaches_callers_over_rest() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Modern).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await.header("accept", "text/event-stream");
    let body = json!({ "name": "mcp.up:steps", "arguments": { "count": 1 } });
    let response = ada.open(Method::POST, "/api/tools/execute", Some(body)).await;
    let mut lines = response.into_lines(10_000, 10_000);
    upstream.let_through(1);
    let mut said = Vec::new();
    while let Some(line) = soon(lines.next()).await.unwrap() {
        said.push(String::from_utf8(line.to_vec()).unwrap());
    }
    let said = said.join("\n");
    let (progress, result) = (said.find("event: progress").unwrap(), said.find("event: result").unwrap());
    assert!(progress < result && said.contains(r#""progress":1.0,"total":1.0"#), "{said}");
}

#[tokio::test]
async fn log_messages_reach_callers_who_set_a_level() {
    for era in ERAS {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let call = || Ask::call("mcp.up:test_tool_with_logging", json!({}));
        let lines = |said: Vec<Value>| {
            let logs = said.iter().filter(|one| one["method"] == "notifications/message");
            logs.map(|one| one["params"]["data"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let all = ["Tool execution started", "Tool processing data", "Tool execution completed"];
        let said = p.user("ada").stream(call().meta(meta::LOG_LEVEL, json!("info"))).await.rest().await;
        assert_eq!(text(&said.last().unwrap()["result"]), "Logged three times.");
        assert_eq!(lines(said), all, "{era:?}");
        let session = p.user("ada").handshake(LEGACY).await;
        let params = json!({ "name": "mcp.up:test_tool_with_logging", "arguments": {} });
        let legacy = || session.person.stream(Ask::legacy("tools/call", params.clone()));
        assert_eq!(lines(legacy().await.rest().await), all, "{era:?}");
        // Without a level, or with a higher one, there is only the response.
        for ask in [call(), call().meta(meta::LOG_LEVEL, json!("error"))] {
            p.user("ada").ask(ask).await.result();
        }
        session.ask("logging/setLevel", json!({ "level": "error" })).await.result();
        session.ask("tools/call", params.clone()).await.result();
    }
}

#[tokio::test]
async fn traces_continue_in_the_upstream() {
    for era in ERAS {
        let p = Platform::start().await;
        let upstream = plain(era).await;
        add(&p, "up", &upstream.url()).await;
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let parent = format!("00-{trace}-{span}-01");
        let ask = Ask::call("mcp.up:echo", json!({ "text": "x" }))
            .meta("traceparent", json!(parent))
            .meta("tracestate", json!("vendor=1,other=2"))
            .meta("baggage", json!("who=me"))
            .meta("vendor/private", json!("between us"));
        p.user("ada").ask(ask).await.result();
        let rest = live(&p, "ada").await.header("traceparent", &parent);
        rest.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
        p.user("ada").run("mcp.up:echo", json!({ "text": "x" })).await;
        let seen = upstream.messages("tools/call");
        let parents: Vec<_> = seen.iter().map(|seen| seen.meta()["traceparent"].as_str().unwrap()).collect();
        for told in &parents[..2] {
            assert!(told.starts_with(&format!("00-{trace}-")) && !told.contains(span), "{told}");
        }
        assert!(!parents[2].contains(trace), "a trace of its own");
        let meta = seen[0].meta();
        assert_eq!((&meta["tracestate"], &meta["baggage"]), (&json!("vendor=1,other=2"), &json!("who=me")));
        assert!(meta["vendor/private"].is_null(), "what is between client and platform stays there");
    }
}

#[tokio::test]
async fn a_call_under_an_idempotency_key_is_made_once() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Modern).await;
    add(&p, "up", &upstream.url()).await;
    let keyed = |text: &str| {
        Ask::call("mcp.up:echo", json!({ "text": text })).meta(meta::IDEMPOTENCY_KEY, json!("k"))
    };
    let ada = live(&p, "ada").await;
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hold);
    let (first, second, ()) = tokio::join!(ada.ask(keyed("a")), ada.ask(keyed("a")), async {
        upstream.wait_messages("tools/call", 1).await;
        upstream.let_through(1);
    });
    assert_eq!((text(&first.result()), text(&second.result())), ("a", "a"));
    upstream.clear_faults();
    let rest = ada.clone().header("idempotency-key", "k");
    assert_eq!(rest.call("mcp.up:echo", json!({ "text": "a" })).await.expect(200).json()["content"], "a");
    assert_eq!(upstream.messages("tools/call").len(), 1);
    assert_eq!(rest.call("mcp.up:echo", json!({ "text": "b" })).await.expect(409).code(), "CONFLICT");
    assert!(upstream.messages("tools/call")[0].meta()[meta::IDEMPOTENCY_KEY].is_null());
    // If nothing ran, the key is released.
    upstream.take_down().await;
    let other = ada.clone().header("idempotency-key", "other");
    let failed = other.call("mcp.up:echo", json!({ "text": "a" })).await;
    assert!(failed.json()["error"]["retryable"] == true, "{}", failed.text);
    upstream.bring_up().await;
    super::world::refresh(&p, "up").await;
    other.call("mcp.up:echo", json!({ "text": "a" })).await.expect(200);
}

#[tokio::test]
async fn mirrored_parameters_are_sent_in_headers() {
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    add_with(&p, "up", json!({ "url": upstream.url(), "rename": { "test_x_mcp_header": "regional" } })).await;
    let arguments = json!({ "region": "Zürich", "shard": 7 });
    let ask = Ask::call("mcp.up:regional", arguments.clone())
        .with("mcp-param-region", "=?base64?WsO8cmljaA==?=")
        .with("mcp-param-shard", "7");
    assert!(text(&p.user("ada").ask(ask).await.result()).contains("Zürich"));
    let rest = live(&p, "ada").await.call("mcp.up:regional", arguments.clone()).await.expect(200);
    assert!(rest.text.contains("shard=7"), "{}", rest.text);
    for seen in upstream.messages("tools/call") {
        assert_eq!(seen.header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
        assert_eq!(seen.header("mcp-param-shard"), Some("7"));
    }
    let lying = Ask::call("mcp.up:regional", arguments).with("mcp-param-region", "Bern");
    assert_eq!(p.user("ada").ask(lying).await.refusal(), (400, -32020));
    assert_eq!(upstream.messages("tools/call").len(), 2);
}

#[tokio::test]
async fn an_upstream_with_changed_mirrored_headers_is_listed_again() {
    let p = Platform::with(|config| config.definitions.upstreams = PinMode::Note).await;
    let upstream = plain(UpstreamEra::Modern).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    // Without a notification the tool requires a header now.
    let mut changed = tool("echo");
    changed["inputSchema"]["properties"] = json!({ "text": { "type": "string", "x-mcp-header": "Text" } });
    upstream.set_list(OfferListKind::Tools, vec![changed]);
    let first = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(502);
    assert_eq!((first.code().as_str(), &first.json()["error"]["retryable"]), ("NETWORK_ERROR", &json!(true)));
    until(async || ada.tools().await, |tools| tools.len() == 1).await;
    let second = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
    assert_eq!(second.json()["content"], "x");
    assert_eq!(upstream.messages("tools/call").last().unwrap().header("mcp-param-text"), Some("x"));
}

#[tokio::test]
async fn failures_of_upstreams_have_error_codes_and_texts_of_the_platform() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Modern).await;
    add_with(&p, "up", json!({ "url": upstream.url(), "callTimeoutMs": 100 })).await;
    let ada = live(&p, "ada").await;
    let failed = ada.call("mcp.up:fail", json!({})).await.expect(500);
    assert!(
        failed.code() == "EXECUTION_ERROR" && failed.text.contains("as it was told to"),
        "{}",
        failed.text
    );
    let result = ada.run("mcp.up:fail", json!({})).await;
    assert_eq!((&result["isError"], text(&result)), (&json!(true), "It failed, as it was told to."));
    // (what it does, code, status, whether to try again; `echo` says that it is read-only, `add` does not)
    for (fault, code, status, echo, add) in [
        (InjectedFault::error(-32603, "inner"), "EXECUTION_ERROR", 500, false, false),
        (InjectedFault::error(-32602, "odd"), "EXECUTION_ERROR", 500, false, false),
        (InjectedFault::error(-32601, "no"), "TOOL_NOT_HANDLED", 502, false, false),
        (InjectedFault::status(500), "HTTP_ERROR", 502, true, false),
        (InjectedFault::html(404), "HTTP_ERROR", 502, false, false),
        (InjectedFault::Hang, "TIMEOUT", 504, true, false),
        (InjectedFault::Die, "INVALID_RESPONSE", 502, false, false),
        (InjectedFault::DieMidway, "INVALID_RESPONSE", 502, false, false),
    ] {
        for (name, arguments, retryable) in
            [("echo", json!({ "text": "x" }), echo), ("add", json!({ "a": 1, "b": 2 }), add)]
        {
            upstream.inject_fault(RequestMatch::for_tool(name), fault.clone());
            let answer = ada.call(&format!("mcp.up:{name}"), arguments).await.expect(status);
            let about = format!("{fault:?} {name}: {}", answer.text);
            assert_eq!(answer.code(), code, "{about}");
            assert_eq!(answer.json()["error"]["retryable"], retryable, "{about}");
            // A successful call in between, so that the upstream is not marked as down.
            ada.call("mcp.up:fail", json!({})).await.expect(500);
        }
    }
    let bad = ada.call("mcp.up:echo", json!({ "text": 7 })).await.expect(400);
    assert_eq!(bad.code(), "INVALID_ARGUMENTS", "checked before it is sent");
}
