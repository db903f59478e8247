//! Events that a server sends without a request.

use std::time::Duration;

use serde_json::json;
use toolyard_mcp_client::{ChangeFilter, ProtocolEra, ServerEvent, UpstreamListKind};
use toolyard_testkit::upstream::{InjectedFault, OfferListKind, RequestMatch};

use crate::world::{ALL, Way, World, next};

#[tokio::test]
async fn changes_are_reported_in_both_eras() {
    for (way, era) in ALL {
        let world = World::rich().await;
        let client = world.connect(way, era).await;
        let mut events = client.subscribe_events();
        world.upstream.wait_listening(1).await;
        for (list, event) in [
            (OfferListKind::Tools, ServerEvent::ToolsChanged),
            (OfferListKind::Prompts, ServerEvent::PromptsChanged),
            (OfferListKind::Resources, ServerEvent::ResourcesChanged),
        ] {
            world.upstream.announce_list(list);
            assert_eq!(next(&mut events).await, Some(event), "{way:?} {era:?}");
        }
    }
}

#[tokio::test]
async fn single_resources_are_watched_as_wanted() {
    for (way, era) in ALL {
        let world = World::rich().await;
        let client = world.connect(way, era).await;
        world.upstream.wait_listening(1).await;
        let mut events = client.subscribe_events();
        let uri = "test://watched-resource".to_owned();
        client.set_change_filter(ChangeFilter { uris: [uri.clone()].into(), ..ChangeFilter::default() });
        let told = loop {
            // Until the new subscription is acknowledged, nothing arrives: the change is sent again.
            world.upstream.announce_resource(&uri);
            if let Ok(told) = tokio::time::timeout(Duration::from_millis(20), events.next()).await {
                break told;
            }
        };
        assert_eq!(told, Some(ServerEvent::ResourceUpdated(uri)), "{way:?} {era:?}");
    }
}

#[tokio::test]
async fn without_a_filter_no_stream_is_opened() {
    for era in [ProtocolEra::Modern, ProtocolEra::Handshake] {
        let world = World::new().await;
        let mut options = world.options(era);
        options.watch = ChangeFilter::none();
        let client = world.connect_with(Way::Http, options).await;
        client.list_items(UpstreamListKind::Tools).await.unwrap();
        client.close().await;
        assert!(
            world.upstream.messages("GET").is_empty()
                && world.upstream.messages("subscriptions/listen").is_empty()
        );
    }
}

#[tokio::test]
async fn a_broken_stream_is_reopened_and_the_gap_is_reported() {
    for (way, era) in [
        (Way::Http, ProtocolEra::Modern),
        (Way::Http, ProtocolEra::Handshake),
        (Way::WebSocket, ProtocolEra::Modern),
    ] {
        let world = World::new().await;
        let client = world.connect(way, era).await;
        world.upstream.wait_listening(1).await;
        client.list_items(UpstreamListKind::Tools).await.unwrap();
        let mut events = client.subscribe_events();
        let method = if era == ProtocolEra::Modern { "subscriptions/listen" } else { "GET" };
        let opened = world.upstream.messages(method).len();
        world.upstream.end_listening();
        world.upstream.wait_messages(method, opened + 1).await;
        // What changed in between is unknown.
        assert_eq!(next(&mut events).await, Some(ServerEvent::ToolsChanged), "{way:?} {era:?}");
        if way == Way::Http {
            world.upstream.wait_listening(1).await;
            world.upstream.cut_listening();
            world.upstream.wait_messages(method, opened + 2).await;
        }
    }
}

#[tokio::test]
async fn a_refused_subscription_is_not_repeated() {
    let world = World::new().await;
    world
        .upstream
        .inject_fault(RequestMatch::for_method("subscriptions/listen"), InjectedFault::error(-32601, "no"));
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    world.upstream.wait_messages("subscriptions/listen", 1).await;
    for _ in 0..3 {
        client.list_items(UpstreamListKind::Tools).await.unwrap();
    }
    assert_eq!(world.upstream.messages("subscriptions/listen").len(), 1);
}

#[tokio::test]
async fn a_lost_session_is_found_by_the_standing_stream() {
    let world = World::rich().await;
    let uri = "test://watched-resource".to_owned();
    let mut options = world.options(ProtocolEra::Handshake);
    options.watch = ChangeFilter { uris: [uri.clone()].into(), ..ChangeFilter::default() };
    let client = world.connect_with(Way::Http, options).await;
    world.upstream.wait_messages("resources/subscribe", 1).await;
    world.upstream.wait_listening(1).await;
    world.upstream.forget_sessions();
    // A new session, with the subscriptions of the old one.
    world.upstream.wait_messages("initialize", 2).await;
    world.upstream.wait_messages("resources/subscribe", 2).await;
    world.upstream.wait_listening(1).await;
    drop(client);
}

#[tokio::test]
async fn a_slow_receiver_gets_a_missed_event() {
    let world = World::new().await;
    let client = world.connect(Way::WebSocket, ProtocolEra::Handshake).await;
    let (mut slow, mut quick) = (client.subscribe_events(), client.subscribe_events());
    world.upstream.wait_listening(1).await;
    for _ in 0..65 {
        world.upstream.announce_list(OfferListKind::Tools);
        assert_eq!(next(&mut quick).await, Some(ServerEvent::ToolsChanged));
    }
    assert_eq!(next(&mut slow).await, Some(ServerEvent::Missed));
    assert_eq!(next(&mut slow).await, Some(ServerEvent::ToolsChanged));
}

#[tokio::test]
async fn the_last_event_is_the_end() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    let mut events = client.subscribe_events();
    client.close().await;
    let last = format!("{:?}", next(&mut events).await);
    assert_eq!(last, "Some(Closed(Requested))");
    assert_eq!(next(&mut events).await, None);
    assert_eq!(format!("{:?}", next(&mut client.subscribe_events()).await), last);
}

#[tokio::test]
async fn a_handler_runs_until_its_guard_is_dropped() {
    let world = World::new().await;
    let client = world.connect(Way::WebSocket, ProtocolEra::Handshake).await;
    let (told, mut changes) = tokio::sync::mpsc::channel(8);
    let guard = client.on_tool_list_changed(move || {
        let told = told.clone();
        async move { told.send(json!(1)).await.unwrap() }
    });
    world.upstream.wait_listening(1).await;
    world.upstream.announce_list(OfferListKind::Tools);
    assert!(changes.recv().await.is_some());
    drop(guard);
    assert!(changes.recv().await.is_none());
}
