//! Dropping a request cancels it.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolyard_mcp_client::{McpClientError, ProtocolEra, RequestOptions, ToolCallParams};
use toolyard_testkit::upstream::{CancelSignal, InjectedFault, RequestMatch};

use crate::world::{ALL, Way, World, call, echo};

fn goodbye(way: Way, era: ProtocolEra) -> CancelSignal {
    if (way, era) == (Way::Http, ProtocolEra::Modern) { CancelSignal::Closed } else { CancelSignal::Notified }
}

#[tokio::test]
async fn dropping_a_request_cancels_it() {
    for (way, era) in ALL {
        let world = World::new().await;
        let client = world.connect(way, era).await;
        world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
        tokio::select! {
            answer = call(&client, "echo", json!({})) => panic!("{answer:?}"),
            _ = world.upstream.wait_messages("tools/call", 1) => {}
        }
        let cancelled = &world.upstream.wait_cancelled(1).await[0];
        assert_eq!((cancelled.name.as_str(), cancelled.how), ("echo", goodbye(way, era)), "{way:?} {era:?}");
        assert_eq!(cancelled.id, world.upstream.messages("tools/call")[0].id);
    }
}

#[tokio::test]
async fn a_deadline_cancels_too() {
    for (way, era) in ALL {
        let world = World::new().await;
        let client = world.connect(way, era).await;
        world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
        let deadline = Some(Instant::now() + Duration::from_millis(50));
        let options = RequestOptions { deadline, ..RequestOptions::default() };
        let late = client.call_tool(ToolCallParams::new("echo", None), options).await.unwrap_err();
        assert!(matches!(late, McpClientError::Timeout(_)), "{late}");
        assert_eq!(world.upstream.wait_cancelled(1).await[0].how, goodbye(way, era));
    }
}

#[tokio::test]
async fn a_request_without_a_deadline_has_one() {
    let world = World::new().await;
    let mut options = world.options(ProtocolEra::Modern);
    options.limits.request = Duration::from_millis(30);
    let client = world.connect_with(Way::Http, options).await;
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    let late = call(&client, "echo", json!({})).await.unwrap_err();
    assert_eq!(late.to_string(), "no answer within 30ms");
}

#[tokio::test]
async fn a_late_response_is_ignored() {
    let world = World::new().await;
    let client = world.connect(Way::WebSocket, ProtocolEra::Handshake).await;
    // This server responds although the request was cancelled.
    world.upstream.inject_fault(
        RequestMatch::for_tool("add"),
        InjectedFault::Message(json!({ "jsonrpc": "2.0", "id": 777, "result": {} })),
    );
    let params = json!({ "a": 1, "b": 2 });
    tokio::select! {
        answer = call(&client, "add", params) => panic!("{answer:?}"),
        _ = world.upstream.wait_messages("tools/call", 1) => {}
    }
    assert_eq!(echo(&client, "still here").await, "still here");
}

#[tokio::test]
async fn an_answered_request_is_not_cancelled() {
    for (way, era) in ALL {
        let world = World::new().await;
        let client = world.connect(way, era).await;
        echo(&client, "a").await;
        assert!(call(&client, "nothing", json!({})).await.is_err());
        client.close().await;
        assert!(world.upstream.messages("notifications/cancelled").is_empty(), "{way:?} {era:?}");
        assert!(world.upstream.cancelled().iter().all(|cancelled| cancelled.method != "tools/call"));
    }
}

#[tokio::test]
async fn requests_under_way_end_when_the_client_is_closed() {
    for (way, era) in ALL {
        let world = World::new().await;
        let client = world.connect(way, era).await;
        world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
        let closing = async {
            world.upstream.wait_messages("tools/call", 1).await;
            client.close().await;
        };
        let (answer, ()) = tokio::join!(call(&client, "echo", json!({})), closing);
        assert!(matches!(answer, Err(McpClientError::Closed(_))), "{answer:?}");
        world.quiet().await;
    }
}
