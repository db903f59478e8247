//! Negotiation of era and revision.

use serde_json::json;
use toolyard_mcp_client::{McpClient, McpClientError, ProtocolEra, UpstreamListKind};
use toolyard_protocol::mcp::McpRevision;
use toolyard_testkit::upstream::{
    InjectedFault, RequestMatch, UpstreamEra as Speaks, UpstreamOptions as Upstream,
};

use crate::world::{ALL, Way, World, echo, value};

async fn world(era: Speaks) -> World {
    World::with(Upstream { era, ..Upstream::default() }).await
}

#[tokio::test]
async fn the_modern_era_is_taken_where_the_server_knows_it() {
    for way in [Way::Http, Way::WebSocket] {
        for (speaks, revision) in [
            (Speaks::Both, McpRevision::V2026_07_28),
            (Speaks::Modern, McpRevision::V2026_07_28),
            (Speaks::Legacy, McpRevision::V2025_11_25),
            (Speaks::Only("2025-06-18"), McpRevision::V2025_06_18),
            (Speaks::Only("2025-03-26"), McpRevision::V2025_03_26),
        ] {
            let world = world(speaks).await;
            let client = world.connect(way, ProtocolEra::Either).await;
            assert_eq!(client.revision(), revision, "{way:?} {speaks:?}");
            assert_eq!(echo(&client, "hi").await, "hi");
            let opened = world.upstream.messages("initialize").len();
            assert_eq!(opened, usize::from(!revision.is_modern()), "{way:?} {speaks:?}");
        }
    }
}

#[tokio::test]
async fn a_server_describes_itself() {
    let world = World::new().await;
    for (way, era) in ALL {
        let server = world.connect(way, era).await.server();
        assert_eq!(value(server.info.as_ref().unwrap())["name"], "fixture-upstream", "{way:?} {era:?}");
        assert_eq!(server.instructions.as_deref(), Some("A server for tests."));
        assert!(server.has_list(UpstreamListKind::Tools) && !server.has_list(UpstreamListKind::Prompts));
        assert!(server.capabilities.get("logging").is_some());
    }
}

#[tokio::test]
async fn a_pinned_era_is_the_only_one_that_is_tried() {
    let modern = world(Speaks::Modern).await;
    assert!(McpClient::connect(modern.http(), modern.options(ProtocolEra::Handshake)).await.is_err());
    assert!(modern.upstream.messages("server/discover").is_empty());
    let legacy = world(Speaks::Legacy).await;
    assert!(McpClient::connect(legacy.http(), legacy.options(ProtocolEra::Modern)).await.is_err());
    assert!(legacy.upstream.messages("initialize").is_empty());
}

#[tokio::test]
async fn a_refused_version_is_replaced_by_one_of_both() {
    for (supported, revision) in [
        (json!(["2026-07-28", "2099-01-01"]), McpRevision::V2026_07_28),
        (json!(["2025-06-18"]), McpRevision::V2025_11_25),
    ] {
        let world = World::new().await;
        let refusal = InjectedFault::Error(-32022, "no".to_owned(), Some(json!({ "supported": supported })));
        world.upstream.inject_fault(RequestMatch::for_method("server/discover").times(1), refusal);
        let client = world.connect(Way::Http, ProtocolEra::Either).await;
        // A server that names a handshake revision gets a handshake with that one, and may still answer with its
        // newest.
        let asked = world.upstream.messages("initialize");
        let expected = if revision.is_modern() { vec![] } else { vec![json!("2025-06-18")] };
        assert_eq!(
            asked.iter().map(|seen| seen.params["protocolVersion"].clone()).collect::<Vec<_>>(),
            expected
        );
        assert!(client.revision() <= revision);
    }
}

#[tokio::test]
async fn unknown_revisions_are_refused_with_their_names() {
    let world = World::new().await;
    let answer =
        json!({ "protocolVersion": "2024-10-07", "capabilities": {}, "serverInfo": { "name": "old" } });
    world.upstream.inject_fault(RequestMatch::for_method("initialize"), InjectedFault::Result(answer));
    let refused = McpClient::connect(world.http(), world.options(ProtocolEra::Handshake)).await.unwrap_err();
    assert_eq!(refused.to_string(), "no common protocol revision: the server offers 2024-10-07");

    let discovered = json!({ "supportedVersions": ["2099-01-01"], "capabilities": {} });
    world
        .upstream
        .inject_fault(RequestMatch::for_method("server/discover"), InjectedFault::Result(discovered));
    let refused = McpClient::connect(world.http(), world.options(ProtocolEra::Either)).await.unwrap_err();
    assert!(matches!(refused, McpClientError::NoCommonRevision { offered } if offered == ["2099-01-01"]));
}

#[tokio::test]
async fn any_other_answer_to_the_probe_means_a_handshake() {
    for odd in [
        InjectedFault::error(-32601, "Method not found"),
        InjectedFault::error(-32000, "Server not initialized"),
        InjectedFault::Result(json!({})),
        InjectedFault::wrong_shape(),
        InjectedFault::not_json(),
        InjectedFault::html(404),
        InjectedFault::status(400),
        InjectedFault::status(500),
        InjectedFault::Die,
    ] {
        let world = World::new().await;
        world.upstream.inject_fault(RequestMatch::for_method("server/discover"), odd.clone());
        let client = world.connect(Way::Http, ProtocolEra::Either).await;
        assert_eq!(client.revision(), McpRevision::V2025_11_25, "{odd:?}");
    }
}

#[tokio::test]
async fn a_modern_refusal_of_the_probe_is_not_taken_for_an_old_server() {
    let world = World::new().await;
    world
        .upstream
        .inject_fault(RequestMatch::for_method("server/discover"), InjectedFault::error(-32020, "headers"));
    let refused = McpClient::connect(world.http(), world.options(ProtocolEra::Either)).await.unwrap_err();
    assert!(matches!(refused, McpClientError::Rpc(error) if error.code == -32020));
    assert!(world.upstream.messages("initialize").is_empty());
}

#[tokio::test]
async fn a_server_that_is_silent_on_the_probe_gets_a_handshake() {
    for way in [Way::Http, Way::WebSocket] {
        let world = World::new().await;
        world.upstream.inject_fault(RequestMatch::for_method("server/discover"), InjectedFault::Hang);
        let mut options = world.options(ProtocolEra::Either);
        options.limits.probe = std::time::Duration::from_millis(20);
        let client = world.connect_with(way, options).await;
        assert_eq!(client.revision(), McpRevision::V2025_11_25);
        assert_eq!(echo(&client, "hi").await, "hi");
        // The probe is not cancelled: there is nothing that a server of that era could cancel.
        assert!(world.upstream.messages("notifications/cancelled").is_empty());
    }
}

#[tokio::test]
async fn a_modern_server_that_starts_slowly_is_still_found() {
    for way in [Way::Http, Way::WebSocket] {
        let world = world(Speaks::Modern).await;
        world.upstream.inject_fault(RequestMatch::for_method("server/discover"), InjectedFault::Hold);
        let mut options = world.options(ProtocolEra::Either);
        options.limits.probe = std::time::Duration::from_millis(300);
        let late = async {
            world.upstream.wait_messages("initialize", 1).await;
            world.upstream.let_through(1);
        };
        let (client, ()) = tokio::join!(world.connect_with(way, options), late);
        assert_eq!(client.revision(), McpRevision::V2026_07_28, "{way:?}");
    }
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again() {
    let world = World::new().await;
    world.upstream.inject_fault(RequestMatch::for_method("server/discover"), InjectedFault::Die);
    let client = world.connect(Way::WebSocket, ProtocolEra::Either).await;
    assert_eq!(client.revision(), McpRevision::V2025_11_25);
    assert_eq!(world.upstream.methods()[..2], ["server/discover", "initialize"]);
}

#[tokio::test]
async fn connecting_is_bounded() {
    for way in [Way::Http, Way::WebSocket] {
        let world = World::new().await;
        world.upstream.inject_fault(RequestMatch::for_method("server/discover"), InjectedFault::Hang);
        world.upstream.inject_fault(RequestMatch::for_method("initialize"), InjectedFault::Hang);
        let mut options = world.options(ProtocolEra::Either);
        options.limits.probe = std::time::Duration::from_millis(5);
        options.limits.connect = std::time::Duration::from_millis(50);
        let refused = McpClient::connect(world.transport(way).await, options).await.unwrap_err();
        assert!(matches!(refused, McpClientError::Timeout(_)), "{refused}");
    }
}
