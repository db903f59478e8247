//! Requests: what is sent, what is returned, and what fails.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolyard_mcp_client::{
    McpClient, McpClientError, ProtocolEra, RequestOptions, ToolCallParams, UpstreamReply,
};
use toolyard_protocol::mcp::meta;
use toolyard_testkit::upstream::{InjectedFault, RequestMatch, quirks};

use crate::world::{ALL, Way, World, call, echo, http_to, next, raw, value};

#[tokio::test]
async fn results_come_back_as_they_were_sent() {
    let world = World::new().await;
    world
        .upstream
        .inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Result(quirks::unknown_content()));
    for (way, era) in ALL {
        let client = world.connect(way, era).await;
        assert_eq!(
            call(&client, "echo", json!({})).await.unwrap(),
            quirks::unknown_content(),
            "{way:?} {era:?}"
        );
    }
}

#[tokio::test]
async fn many_requests_are_under_way_at_once() {
    let world = World::new().await;
    for (way, era) in ALL {
        let client = world.connect(way, era).await;
        world.upstream.inject_fault(RequestMatch::for_tool("echo").times(20), InjectedFault::Hold);
        let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let all = futures_util::future::join_all(texts.iter().map(|text| echo(&client, text)));
        let before = world.upstream.messages("tools/call").len();
        let (answers, ()) = tokio::join!(all, async {
            world.upstream.wait_messages("tools/call", before + 20).await;
            world.upstream.let_through(20);
        });
        assert_eq!(answers, texts, "{way:?} {era:?}");
    }
}

#[tokio::test]
async fn every_modern_request_carries_the_client_identity() {
    let world = World::new().await;
    let mut options = world.options(ProtocolEra::Modern);
    options.capabilities = raw(json!({ "roots": {} }));
    let client = world.connect_with(Way::Http, options).await;
    echo(&client, "a").await;
    let given = RequestOptions {
        capabilities: Some(raw(json!({ "sampling": {} }))),
        log_level: Some("info".to_owned()),
        meta: vec![("traceparent".to_owned(), raw(json!("00-1-2-01")))],
        ..RequestOptions::default()
    };
    client
        .call_tool(ToolCallParams::new("echo", Some(&raw(json!({ "text": "größe" })))), given)
        .await
        .unwrap();
    let seen = world.upstream.messages("tools/call");
    for (seen, capabilities) in seen.iter().zip([json!({ "roots": {} }), json!({ "sampling": {} })]) {
        assert_eq!(seen.meta()[meta::PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(seen.meta()[meta::CLIENT_INFO]["name"], "toolyard");
        assert_eq!(seen.meta()[meta::CLIENT_CAPABILITIES], capabilities);
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(seen.header("mcp-method"), Some("tools/call"));
        assert_eq!(seen.header("mcp-name"), Some("echo"));
        assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(seen.header("mcp-session-id"), None);
    }
    assert_eq!(
        (&seen[0].meta()[meta::LOG_LEVEL], &seen[0].meta()["progressToken"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(seen[1].meta()[meta::LOG_LEVEL], "info");
    assert_eq!(seen[1].meta()["traceparent"], "00-1-2-01");
}

#[tokio::test]
async fn a_handshake_request_carries_only_what_it_was_given() {
    let world = World::new().await;
    let mut options = world.options(ProtocolEra::Handshake);
    options.capabilities = raw(json!({ "roots": {} }));
    let client = world.connect_with(Way::Http, options).await;
    echo(&client, "a").await;
    let seen = &world.upstream.messages("tools/call")[0];
    assert_eq!(seen.params, json!({ "name": "echo", "arguments": { "text": "a" } }));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!((seen.header("mcp-method"), seen.header("mcp-name")), (None, None));
    let opened = &world.upstream.messages("initialize")[0];
    assert_eq!(opened.params["capabilities"], json!({ "roots": {} }));
    assert_eq!(opened.params["clientInfo"]["name"], "toolyard");
    assert_eq!(opened.header("mcp-protocol-version"), None);
}

#[tokio::test]
async fn progress_is_passed_on_while_the_tool_works() {
    let world = World::new().await;
    for (way, era) in ALL {
        let client = world.connect(way, era).await;
        let (to, mut progress) = mpsc::channel(8);
        let options = RequestOptions { progress: Some(to), ..RequestOptions::default() };
        let count = raw(json!({ "count": 3 }));
        let steps = client.call_tool(ToolCallParams::new("steps", Some(&count)), options);
        let watching = async {
            for step in 1..=3 {
                world.upstream.let_through(1);
                let progress = progress.recv().await.unwrap();
                assert_eq!(
                    (progress.progress, progress.total),
                    (f64::from(step), Some(3.0)),
                    "{way:?} {era:?}"
                );
            }
        };
        let (answer, ()) = tokio::join!(steps, watching);
        let UpstreamReply::Complete(result) = answer.unwrap() else { panic!("input was asked for") };
        assert_eq!(value(&result)["content"][0]["text"], "3 steps");
        assert!(progress.recv().await.is_none());
    }
}

#[tokio::test]
async fn log_messages_go_to_the_request_over_http_and_to_the_client_elsewhere() {
    for (way, era) in ALL {
        let world = World::rich().await;
        let (to_client, mut of_client) = mpsc::channel(16);
        let mut options = world.options(era);
        options.logs = Some(to_client);
        let client = world.connect_with(way, options).await;
        if era == ProtocolEra::Handshake {
            let level = raw(json!({ "level": "debug" }));
            client.request("logging/setLevel", Some(&level), RequestOptions::default()).await.unwrap();
        }
        let (to_call, mut of_call) = mpsc::channel(16);
        let wants = RequestOptions {
            logs: Some(to_call),
            log_level: Some("debug".to_owned()),
            ..RequestOptions::default()
        };
        client.call_tool(ToolCallParams::new("test_tool_with_logging", None), wants).await.unwrap();
        let message = match way {
            Way::Http => of_call.recv().await.unwrap(),
            Way::WebSocket => of_client.recv().await.unwrap(),
        };
        assert_eq!(value(&message)["level"], "info", "{way:?} {era:?}");
    }
}

#[tokio::test]
async fn errors_tell_what_kind_they_are() {
    let world = World::new().await;
    for (way, era) in ALL {
        let client = world.connect(way, era).await;
        let unknown = call(&client, "nothing", json!({})).await.unwrap_err();
        assert!(matches!(&unknown, McpClientError::Rpc(error) if error.code == -32602), "{unknown}");
        let failed = call(&client, "fail", json!({})).await.unwrap();
        assert_eq!(failed["isError"], true);
    }
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    for (fault, expected) in [
        (InjectedFault::html(502), "the server answered 502 Bad Gateway: <h1>not here</h1>"),
        (InjectedFault::status(202), "the server's response cannot be read: 202 Accepted without a body"),
        (
            InjectedFault::Message(json!({ "jsonrpc": "2.0", "id": 999_999, "result": {} })),
            "the server's response cannot be read: it is not the response to this request",
        ),
        (
            InjectedFault::Result(json!({ "resultType": "task" })),
            "the server's response cannot be read: `resultType` is `task`, which `tools/call` cannot have here",
        ),
    ] {
        world.upstream.inject_fault(RequestMatch::for_tool("echo"), fault);
        assert_eq!(call(&client, "echo", json!({})).await.unwrap_err().to_string(), expected);
    }
    for fault in [InjectedFault::Die, InjectedFault::DieMidway] {
        world.upstream.inject_fault(RequestMatch::for_tool("echo"), fault);
        let lost = call(&client, "echo", json!({})).await.unwrap_err();
        assert!(matches!(lost, McpClientError::PerhapsSent(_)) && !lost.is_safe_to_retry(), "{lost}");
    }
    world.upstream.take_down().await;
    let refused = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(refused, McpClientError::NotSent(_)) && refused.is_safe_to_retry(), "{refused}");
}

#[tokio::test]
async fn an_unreachable_server_gets_no_request() {
    let world = World::new().await;
    let refused =
        McpClient::connect(http_to("http://127.0.0.1:9/mcp"), world.options(ProtocolEra::Either)).await;
    assert!(matches!(refused, Err(McpClientError::NotSent(_))));
}

#[tokio::test]
async fn a_socket_that_is_lost_takes_its_requests_with_it() {
    let world = World::new().await;
    let client = world.connect(Way::WebSocket, ProtocolEra::Modern).await;
    let mut events = client.subscribe_events();
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Die);
    let (lost, held) =
        tokio::join!(call(&client, "echo", json!({})), call(&client, "steps", json!({ "count": 1 })));
    assert!(matches!(lost, Err(McpClientError::PerhapsSent(_))), "{lost:?}");
    assert!(matches!(held, Err(McpClientError::PerhapsSent(_))), "{held:?}");
    let later = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(&later, McpClientError::NotSent(_) | McpClientError::Closed(_)), "{later}");
    assert!(client.is_closed());
    let closed = format!("{:?}", next(&mut events).await);
    assert!(closed.contains("the server closed the socket"), "{closed}");
    assert_eq!(next(&mut events).await, None);
}

#[tokio::test]
async fn required_input_is_a_reply() {
    let world = World::rich().await;
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    let options = || RequestOptions {
        capabilities: Some(raw(json!({ "elicitation": {} }))),
        ..RequestOptions::default()
    };
    let name = "test_input_required_result_request_state";
    let UpstreamReply::InputRequired(wanted) =
        client.call_tool(ToolCallParams::new(name, None), options()).await.unwrap()
    else {
        panic!("no input was asked for")
    };
    let wanted = value(&wanted);
    let (responses, state) = (
        raw(json!({ "confirm": { "action": "accept", "content": { "ok": true } } })),
        raw(wanted["requestState"].clone()),
    );
    let again = ToolCallParams {
        input_responses: Some(&responses),
        request_state: Some(&state),
        ..ToolCallParams::new(name, None)
    };
    let done = client.call_tool(again, options()).await.unwrap().into_complete().unwrap();
    assert!(value(&done)["content"][0]["text"].as_str().unwrap().starts_with("state-ok"));
    let seen = world.upstream.messages("tools/call");
    assert_ne!(seen[0].id, seen[1].id);
}

#[tokio::test]
async fn bad_requests_are_the_callers_fault() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    let params = raw(json!([1]));
    let refused = client.request("tools/call", Some(&params), RequestOptions::default()).await;
    assert!(matches!(refused, Err(McpClientError::Invalid(_))));
    let header = vec![("mcp-param-a".to_owned(), "a\nb".to_owned())];
    let options = RequestOptions { mirrored: header, ..RequestOptions::default() };
    assert!(matches!(client.request("x", None, options).await, Err(McpClientError::Invalid(_))));
    let mut options = world.options(ProtocolEra::Modern);
    options.capabilities = raw(json!(["roots"]));
    assert!(matches!(McpClient::connect(world.http(), options).await, Err(McpClientError::Invalid(_))));
}
