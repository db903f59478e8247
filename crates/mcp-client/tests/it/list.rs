//! Lists: complete, in pages, and broken.

use serde_json::{Value, json};
use std::time::Duration;
use toolyard_mcp_client::{McpClient, McpClientError, ProtocolEra, UpstreamListKind, UpstreamListing};
use toolyard_testkit::upstream::{
    InjectedFault, OfferListKind, RequestMatch, UpstreamOptions as Upstream, quirks,
};

use crate::world::{ALL, Way, World, value};

fn names(listing: &UpstreamListing) -> Vec<Value> {
    listing.items.iter().map(|item| value(item)["name"].clone()).collect()
}

async fn paged(page_size: usize) -> World {
    World::with(Upstream { page_size: Some(page_size), ttl_ms: 5000, ..Upstream::default() }).await
}

async fn client_with(
    world: &World,
    change: impl FnOnce(&mut toolyard_mcp_client::ClientLimits),
) -> McpClient {
    let mut options = world.options(ProtocolEra::Modern);
    change(&mut options.limits);
    world.connect_with(Way::Http, options).await
}

#[tokio::test]
async fn every_page_is_read() {
    for (way, era) in ALL {
        let world = paged(1).await;
        let listing = world.connect(way, era).await.list_items(UpstreamListKind::Tools).await.unwrap();
        assert_eq!(names(&listing), ["echo", "add", "fail", "steps"], "{way:?} {era:?}");
        assert_eq!(listing.incomplete, None);
        if era == ProtocolEra::Modern {
            assert_eq!(listing.ttl, Some(Duration::from_millis(5000)));
        }
    }
}

#[tokio::test]
async fn every_kind_is_read() {
    let world = World::rich().await;
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    for (kind, list) in [
        (UpstreamListKind::Tools, OfferListKind::Tools),
        (UpstreamListKind::Prompts, OfferListKind::Prompts),
        (UpstreamListKind::Resources, OfferListKind::Resources),
        (UpstreamListKind::Templates, OfferListKind::Templates),
    ] {
        let items: Vec<Value> =
            client.list_items(kind).await.unwrap().items.iter().map(|item| value(item)).collect();
        assert_eq!(items, world.upstream.list_items(list), "{kind:?}");
    }
}

#[tokio::test]
async fn bad_items_do_not_lose_good_ones() {
    let world = World::new().await;
    let items = [quirks::bad_tools(), vec![quirks::tool_with_unknown_fields()]].concat();
    world.upstream.set_list(OfferListKind::Tools, items.clone());
    for (way, era) in ALL {
        let client = world.connect(way, era).await;
        let read: Vec<Value> =
            client.list_tools().await.unwrap().items.iter().map(|item| value(item)).collect();
        assert_eq!(read, items, "{way:?} {era:?}");
    }
}

#[tokio::test]
async fn a_later_page_that_breaks_keeps_the_earlier_ones() {
    for fault in [
        InjectedFault::status(500),
        InjectedFault::not_json(),
        InjectedFault::wrong_shape(),
        InjectedFault::Result(json!({ "tools": "none" })),
        InjectedFault::error(-32602, "bad cursor"),
        InjectedFault::Die,
    ] {
        let world = paged(2).await;
        world.upstream.inject_fault(RequestMatch::for_method("tools/list").on_page(2), fault.clone());
        let listing = world
            .connect(Way::Http, ProtocolEra::Modern)
            .await
            .list_items(UpstreamListKind::Tools)
            .await
            .unwrap();
        assert_eq!(names(&listing), ["echo", "add"], "{fault:?}");
        assert!(listing.incomplete.unwrap().starts_with("a later page could not be read"), "{fault:?}");
    }
}

#[tokio::test]
async fn a_first_page_without_a_list_is_an_error() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    for fault in [
        InjectedFault::wrong_shape(),
        InjectedFault::Result(json!({})),
        InjectedFault::Result(json!({ "tools": null })),
        InjectedFault::Result(json!({ "resultType": "input_required" })),
        InjectedFault::not_json(),
        InjectedFault::status(204),
    ] {
        world.upstream.inject_fault(RequestMatch::for_method("tools/list"), fault.clone());
        let read = client.list_items(UpstreamListKind::Tools).await;
        assert!(matches!(read, Err(McpClientError::Malformed(_))), "{fault:?} {read:?}");
    }
    world.upstream.clear_faults();
    let undeclared = client.list_items(UpstreamListKind::Prompts).await;
    assert!(matches!(undeclared, Err(McpClientError::Rpc(error)) if error.code == -32601));
}

#[tokio::test]
async fn pages_items_and_bytes_are_bounded() {
    let world = paged(1).await;
    let pages = client_with(&world, |limits| limits.list_pages = 2)
        .await
        .list_items(UpstreamListKind::Tools)
        .await
        .unwrap();
    assert_eq!((pages.items.len(), pages.incomplete.as_deref()), (2, Some("there are more than 2 pages")));
    let items = client_with(&world, |limits| limits.list_items = 3)
        .await
        .list_items(UpstreamListKind::Tools)
        .await
        .unwrap();
    assert_eq!((items.items.len(), items.incomplete.as_deref()), (3, Some("there are more than 3 items")));
    let bytes = client_with(&world, |limits| limits.list_bytes = 300)
        .await
        .list_items(UpstreamListKind::Tools)
        .await
        .unwrap();
    assert_eq!(
        (bytes.items.len(), bytes.incomplete.as_deref()),
        (1, Some("the items have more than 300 bytes"))
    );
    let exact = client_with(&world, |limits| (limits.list_pages, limits.list_items) = (4, 4)).await;
    assert_eq!(exact.list_items(UpstreamListKind::Tools).await.unwrap().incomplete, None);
}

#[tokio::test]
async fn pages_that_go_round_in_a_circle_end() {
    let world = World::new().await;
    let page = json!({ "tools": [{ "name": "a" }], "nextCursor": "again" });
    world.upstream.inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::Result(page));
    let listing = world
        .connect(Way::Http, ProtocolEra::Modern)
        .await
        .list_items(UpstreamListKind::Tools)
        .await
        .unwrap();
    assert_eq!(names(&listing), ["a", "a"]);
    assert_eq!(listing.incomplete.as_deref(), Some("the server repeated a page cursor"));
}
