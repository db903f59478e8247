//! The bridge against a server whose every fault can be ordered, in both eras.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolyard_client_sdk::{
    Hooks as _, PluginTools, ToolContext,
    plugins::{
        self,
        mcp::{MAX_SERVERS, McpBridge, McpOptions, McpServer, ServerState},
    },
};
use toolyard_protocol::chat::ClientToolLimits;
use toolyard_testkit::{
    FakeUpstream,
    upstream::{FixtureSet, InjectedFault, OfferListKind, RequestMatch, UpstreamEra, UpstreamOptions},
};

use crate::world::{WAIT, call, call_in, check_rules, mcp_options, names, registered, until};

async fn upstream(era: UpstreamEra) -> FakeUpstream {
    FakeUpstream::start_with(UpstreamOptions { era, ..UpstreamOptions::default() }).await
}

fn bridge_to(upstream: &FakeUpstream) -> McpBridge {
    McpBridge::new([McpServer::url("up", upstream.url())], mcp_options())
}

fn state(bridge: &McpBridge, at: usize) -> ServerState {
    bridge.server_statuses()[at].state.clone()
}

fn down(bridge: &McpBridge, at: usize) -> String {
    match state(bridge, at) {
        ServerState::Down(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tools_of_both_eras_are_offered_and_answer() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let upstream = upstream(era).await;
        let bridge = bridge_to(&upstream);
        let tools = registered(&bridge).await.get();
        check_rules(&tools);
        assert_eq!(names(&tools), ["mcp_up_echo", "mcp_up_add", "mcp_up_fail", "mcp_up_steps"]);
        assert_eq!(tools[0].definition().description, "Says the text again.");
        assert_eq!(state(&bridge, 0), ServerState::Up);
        assert_eq!(call(&tools, "mcp_up_echo", json!({ "text": "hi" })).await.unwrap(), "hi");
        let sum = call(&tools, "mcp_up_add", json!({ "a": 1, "b": 2 })).await.unwrap();
        assert_eq!(sum, json!({ "text": "3", "structured": { "sum": 3.0 } }));
        let failed = call(&tools, "mcp_up_fail", json!({})).await.unwrap_err();
        assert_eq!(failed, "It failed, as it was told to.");
        let refused = call(&tools, "mcp_up_add", json!({ "a": "x" })).await.unwrap_err();
        assert!(refused.starts_with("the MCP server `up` refused: "), "{refused}");
        bridge.on_unregister().await;
    }
}

#[tokio::test]
async fn changes_of_the_list_are_followed_in_both_eras() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let upstream = upstream(era).await;
        let bridge = bridge_to(&upstream);
        let own = registered(&bridge).await;
        upstream.wait_listening(1).await;
        let fresh = json!({ "name": "fresh", "inputSchema": { "type": "object" } });
        let odd = json!({ "name": "odd", "inputSchema": { "type": "string" } });
        upstream.set_list(OfferListKind::Tools, vec![fresh, odd]);
        upstream.announce_list(OfferListKind::Tools);
        until("the new list", || names(&own.get()) == ["mcp_up_fresh"]).await;
        assert_eq!(bridge.set_aside()[0].tool, "odd");
        assert_eq!(call(&own.get(), "mcp_up_fresh", json!({ "x": 1 })).await.unwrap(), r#"{"x":1}"#);
    }
}

#[tokio::test]
async fn a_list_that_cannot_be_read_again_stays_as_it_was() {
    let upstream = upstream(UpstreamEra::Modern).await;
    let bridge = bridge_to(&upstream);
    let own = registered(&bridge).await;
    upstream.wait_listening(1).await;
    // The subscription itself may have had it read once more.
    let before = upstream.messages("tools/list").len();
    upstream.inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::error(-32603, "not now"));
    upstream.announce_list(OfferListKind::Tools);
    upstream.wait_messages("tools/list", before + 1).await;
    upstream.clear_faults();
    assert_eq!(own.get().len(), 4);
    let one = json!({ "name": "one", "inputSchema": { "type": "object" } });
    upstream.set_list(OfferListKind::Tools, vec![one]);
    upstream.announce_list(OfferListKind::Tools);
    until("the next list", || own.get().len() == 1).await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let upstream = upstream(era).await;
        let bridge = bridge_to(&upstream);
        let tools = registered(&bridge).await.get();
        let cx = ToolContext::detached("c", "mcp_up_steps");
        let (cancel, calling): (CancellationToken, _) =
            (cx.cancellation().clone(), call_in(&tools, json!({ "count": 2 }), &cx));
        let (answer, ()) = tokio::join!(calling, async {
            upstream.wait_messages("tools/call", 1).await;
            cancel.cancel();
        });
        assert_eq!(answer.unwrap_err(), "the call was cancelled");
        upstream.wait_cancelled(1).await;
    }
}

#[tokio::test]
async fn a_server_that_fails_does_not_affect_the_others() {
    let good = upstream(UpstreamEra::Both).await;
    let (silent, broken) = (upstream(UpstreamEra::Both).await, upstream(UpstreamEra::Both).await);
    for method in ["server/discover", "initialize"] {
        silent.inject_fault(RequestMatch::for_method(method), InjectedFault::Hang);
    }
    broken.inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::error(-32603, "out of order"));
    let servers = [
        McpServer::command("none", "/nowhere/program", [""; 0]),
        McpServer::url("silent", silent.url()),
        McpServer::url("good", good.url()),
        McpServer::url("broken", broken.url()),
        McpServer::url("good", good.url()),
        McpServer::url("wrong", "no url"),
    ];
    let options = McpOptions { connect_limit: Duration::from_millis(500), ..mcp_options() };
    let bridge = McpBridge::new(servers, options);
    let own = registered(&bridge).await;
    assert_eq!(own.get().len(), 4);
    assert_eq!(state(&bridge, 2), ServerState::Up);
    for (at, words) in [
        (0, "`/nowhere/program` could not be started"),
        (1, "no answer within 500ms"),
        (3, "out of order"),
        (4, "the same name"),
        (5, "URL"),
    ] {
        assert!(down(&bridge, at).contains(words), "{at}: {}", down(&bridge, at));
    }
}

#[tokio::test]
async fn if_all_servers_fail_the_plugin_is_refused_and_nothing_runs() {
    let bad = McpServer::command("bad", "/nowhere/program", [""; 0]);
    let bridge = McpBridge::new([bad.clone(), McpServer { name: "worse".to_owned(), ..bad }], mcp_options());
    let own = PluginTools::detached("mcp");
    let refused = bridge.on_register(&own).await.unwrap_err().0;
    assert!(
        refused.starts_with("no MCP server could be used: `bad`: ") && refused.contains("`worse`"),
        "{refused}"
    );
    assert!(own.get().is_empty());
}

#[tokio::test]
async fn a_bridge_without_servers_offers_nothing() {
    let bridge = McpBridge::new([], mcp_options());
    assert!(registered(&bridge).await.get().is_empty());
    assert_eq!(plugins::mcp([], mcp_options()).name(), "mcp");
}

#[tokio::test]
async fn the_number_of_servers_is_limited() {
    let upstream = upstream(UpstreamEra::Modern).await;
    let server = |n: usize| McpServer::url(format!("s{n}"), upstream.url());
    let options = McpOptions { limits: ClientToolLimits { tools: 1, ..Default::default() }, ..mcp_options() };
    let bridge = McpBridge::new((0..=MAX_SERVERS).map(server), options);
    assert_eq!(registered(&bridge).await.get().len(), 1);
    assert_eq!(state(&bridge, MAX_SERVERS - 1), ServerState::Up);
    assert!(down(&bridge, MAX_SERVERS).contains("more than 64 servers"));
}

#[tokio::test]
async fn tools_that_do_not_fit_are_set_aside_with_a_reason() {
    let upstream = upstream(UpstreamEra::Modern).await;
    let with = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
    upstream.set_list(
        OfferListKind::Tools,
        vec![
            with(
                "a.b",
                json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/x" } },
                "$defs": { "x": { "type": "integer" } } }),
            ),
            with("tree", json!({ "type": "object", "properties": { "x": { "$ref": "#" } } })),
            with("twice", json!({ "type": "object" })),
            with("twice", json!({ "type": "object" })),
            json!("nonsense"),
        ],
    );
    let bridge = bridge_to(&upstream);
    let tools = registered(&bridge).await.get();
    check_rules(&tools);
    assert!(
        tools[0].name().starts_with("mcp_up_a_b_") && tools[1].name() == "mcp_up_twice" && tools.len() == 2
    );
    assert_eq!(call(&tools, tools[0].name(), json!({ "x": 5 })).await.unwrap(), r#"{"x":5}"#);
    let aside: Vec<_> = bridge.set_aside().into_iter().map(|aside| (aside.tool, aside.reason)).collect();
    for (tool, words) in [
        ("tree", "refers to itself"),
        ("tools[4]", "not a valid tool definition"),
        ("mcp_up_twice", "a tool of that name already"),
    ] {
        assert!(aside.iter().any(|(of, why)| of == tool && why.contains(words)), "{tool}: {aside:?}");
    }
    assert_eq!(aside.len(), 3);
}

#[tokio::test]
async fn calls_have_a_time_limit_and_results_a_size() {
    let upstream = upstream(UpstreamEra::Modern).await;
    let options =
        McpOptions { call_limit: Duration::from_millis(100), max_result_bytes: 100, ..mcp_options() };
    let bridge = McpBridge::new([McpServer::url("up", upstream.url())], options);
    let tools = registered(&bridge).await.get();
    let long = call(&tools, "mcp_up_echo", json!({ "text": "x".repeat(200) })).await.unwrap();
    assert!(long.as_str().unwrap().ends_with("(cut: the first 100 of 200 bytes; ask for less)"), "{long}");
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    let late = call(&tools, "mcp_up_echo", json!({ "text": "x" })).await.unwrap_err();
    assert_eq!(late, "the MCP server `up` did not answer within 100ms; the tool may or may not have run");
}

#[tokio::test]
async fn an_elicitation_is_an_error() {
    let options = UpstreamOptions {
        era: UpstreamEra::Modern,
        fixtures: FixtureSet::Conformance,
        ..UpstreamOptions::default()
    };
    let upstream = FakeUpstream::start_with(options).await;
    let ask = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" });
    upstream.inject_fault(RequestMatch::for_tool("test_simple_text"), InjectedFault::Result(ask));
    let bridge = bridge_to(&upstream);
    let tools = registered(&bridge).await.get();
    let error = call(&tools, "mcp_up_test_simple_text", json!({})).await.unwrap_err();
    assert_eq!(error, "the MCP server `up` wants to ask the user something, which is not possible here");
}

#[tokio::test]
async fn a_server_behind_a_url_may_go_and_come_back() {
    let upstream = upstream(UpstreamEra::Legacy).await;
    let bridge = bridge_to(&upstream);
    let tools = registered(&bridge).await.get();
    upstream.take_down().await;
    let error = call(&tools, "mcp_up_echo", json!({ "text": "x" })).await.unwrap_err();
    assert!(error.starts_with("the MCP server `up` cannot be reached, so the tool did not run"), "{error}");
    upstream.bring_up().await;
    assert_eq!(call(&tools, "mcp_up_echo", json!({ "text": "back" })).await.unwrap(), "back");
}

#[tokio::test]
async fn headers_are_sent_with_every_request_and_a_refusal_is_an_error() {
    let options = UpstreamOptions { bearer: Some("sesame".to_owned()), ..UpstreamOptions::default() };
    let upstream = FakeUpstream::start_with(options).await;
    let server = McpServer::url("up", upstream.url());
    let bridge = McpBridge::new([server.clone()], mcp_options());
    let refused = bridge.on_register(&PluginTools::detached("mcp")).await.unwrap_err().0;
    assert!(refused.contains("authorization"), "{refused}");
    let bridge = McpBridge::new([server.header("Authorization", "Bearer sesame")], mcp_options());
    let tools = registered(&bridge).await.get();
    assert_eq!(call(&tools, "mcp_up_echo", json!({ "text": "in" })).await.unwrap(), "in");
    upstream.change_options(|options| options.bearer = Some("other".to_owned()));
    let error = call(&tools, "mcp_up_echo", json!({ "text": "in" })).await.unwrap_err();
    assert!(error.contains("requires authorization"), "{error}");
}

#[tokio::test]
async fn tools_of_a_removed_plugin_fail_and_it_can_be_registered_again() {
    let upstream = upstream(UpstreamEra::Legacy).await;
    let bridge = bridge_to(&upstream);
    let tools = registered(&bridge).await.get();
    bridge.on_unregister().await;
    assert_eq!(upstream.session_count(), 0, "the session is given back");
    assert_eq!(state(&bridge, 0), ServerState::Idle);
    let error = call(&tools, "mcp_up_echo", json!({ "text": "x" })).await.unwrap_err();
    assert_eq!(error, "the MCP bridge is not registered any more");
    let tools = registered(&bridge).await.get();
    assert_eq!(call(&tools, "mcp_up_echo", json!({ "text": "again" })).await.unwrap(), "again");
    drop(bridge);
    let error = call(&tools, "mcp_up_echo", json!({ "text": "x" })).await.unwrap_err();
    assert_eq!(error, "the MCP bridge is closed");
}

#[tokio::test]
async fn a_registration_that_is_given_up_leaves_nothing_running() {
    let upstream = upstream(UpstreamEra::Legacy).await;
    upstream.inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::Hang);
    let bridge = bridge_to(&upstream);
    let own = PluginTools::detached("mcp");
    tokio::select! {
        _ = bridge.on_register(&own) => panic!("it waits for the list"),
        _ = upstream.wait_messages("tools/list", 1) => {}
    }
    until("the session is given back", || upstream.session_count() == 0).await;
    assert!(own.get().is_empty());
    tokio::time::timeout(WAIT, bridge.on_unregister()).await.unwrap();
}
