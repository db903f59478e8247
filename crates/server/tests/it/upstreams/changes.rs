//! Changing lists of upstreams: listeners are notified, and readers are not disturbed.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, OfferListKind, UpstreamEra};

use super::world::{add, create, live, names, plain, tool, until};
use crate::{
    mcp::client::{Events, LEGACY},
    platform::Platform,
};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

async fn platform() -> Platform {
    Platform::with(|config| config.mcp.debounce_ms = 1).await
}

/// An upstream of this era with all lists, added and with open listeners.
async fn listed(p: &Platform, era: UpstreamEra) -> FakeUpstream {
    let upstream = plain(era).await;
    upstream.set_list(OfferListKind::Prompts, vec![json!({ "name": "old" })]);
    upstream.set_list(OfferListKind::Resources, vec![json!({ "uri": "a:old", "name": "old" })]);
    add(p, "up", &upstream.url()).await;
    upstream.wait_listening(1).await;
    upstream
}

async fn told(events: &mut Events) -> String {
    events.message().await["method"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_list_change_is_sent_to_every_stream_and_visible_in_the_list() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = platform().await;
        let upstream = listed(&p, era).await;
        let ada = p.user("ada");
        let filter =
            json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
        let mut listen = ada.listen("l", filter).await;
        let session = ada.handshake(LEGACY).await;
        let mut get = session.get().await;
        for (list, item, method) in [
            (OfferListKind::Tools, tool("new"), TOOLS),
            (OfferListKind::Prompts, json!({ "name": "new" }), PROMPTS),
            (OfferListKind::Resources, json!({ "uri": "a:new", "name": "new" }), RESOURCES),
            (OfferListKind::Templates, json!({ "uriTemplate": "a:{x}", "name": "new" }), RESOURCES),
        ] {
            upstream.set_list(list, vec![item]);
            upstream.announce_list(list);
            assert_eq!(told(&mut listen).await, method, "{era:?}");
            assert_eq!(told(&mut get).await, method, "{era:?}");
        }
        assert_eq!(names(&ada, "tools/list").await, ["mcp_up__new"]);
        assert_eq!(names(&ada, "prompts/list").await, ["mcp_up__new"]);
        assert_eq!(names(&ada, "resources/list").await, ["a:mcp.up/new"]);
        assert_eq!(names(&ada, "resources/templates/list").await, ["a:mcp.up/{x}"]);
    }
}

#[tokio::test]
async fn adding_removing_and_filtering_an_upstream_notifies_clients() {
    let p = platform().await;
    let ada = p.user("ada");
    let mut listen = ada.listen("l", json!({ "toolsListChanged": true })).await;
    let upstream = plain(UpstreamEra::Modern).await;
    create(&p, "up", json!({ "url": upstream.url() })).await;
    assert_eq!(told(&mut listen).await, TOOLS, "listed by itself");
    p.nobody().patch("/api/upstreams/up", &json!({ "exclude": ["fail"] })).await.expect(200);
    assert_eq!(told(&mut listen).await, TOOLS);
    assert_eq!(names(&ada, "tools/list").await.len(), 3);
    p.nobody().delete("/api/upstreams/up").await.expect(204);
    assert_eq!(told(&mut listen).await, TOOLS);
    assert_eq!(names(&ada, "tools/list").await, [""; 0]);
}

#[tokio::test]
async fn a_list_changed_notice_without_a_change_is_not_forwarded() {
    let p = platform().await;
    let upstream = listed(&p, UpstreamEra::Modern).await;
    let mut listen =
        p.user("ada").listen("l", json!({ "toolsListChanged": true, "promptsListChanged": true })).await;
    let before = upstream.messages("tools/list").len();
    upstream.announce_list(OfferListKind::Tools);
    upstream.wait_messages("tools/list", before + 1).await;
    // A real change comes after it, and is the first notification.
    upstream.set_list(OfferListKind::Prompts, vec![json!({ "name": "new" })]);
    upstream.announce_list(OfferListKind::Prompts);
    assert_eq!(told(&mut listen).await, PROMPTS);
}

#[tokio::test]
async fn paging_through_a_changing_list_misses_no_unchanged_item() {
    let p = Platform::with(|config| config.mcp.page_size = 10).await;
    let upstream = plain(UpstreamEra::Modern).await;
    let many =
        |numbers: Vec<usize>| numbers.into_iter().map(|n| tool(&format!("tool{n}"))).collect::<Vec<_>>();
    upstream.set_list(OfferListKind::Tools, many((0..40).collect()));
    add(&p, "up", &upstream.url()).await;
    upstream.wait_listening(1).await;
    let ada = p.user("ada");
    let page = async |cursor: Option<&Value>| {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let page = ada.modern("tools/list", params).await.result();
        let names =
            page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), page["nextCursor"].clone())
    };
    let (mut seen, mut cursor) = page(None).await;
    let mut list: Vec<usize> = (0..40).collect();
    // Between the pages items are removed before, after and at the cursor, and one is added.
    for gone in [3, 19, 35] {
        list.retain(|number| *number != gone);
        list.insert(0, 100 + gone);
        upstream.set_list(OfferListKind::Tools, many(list.clone()));
        let status = super::world::refresh(&p, "up").await;
        assert_eq!(status["tools"], 40);
        let (more, next) = page(Some(&cursor)).await;
        seen.extend(more);
        cursor = next;
    }
    while !cursor.is_null() {
        let (more, next) = page(Some(&cursor)).await;
        seen.extend(more);
        cursor = next;
    }
    for stays in (0..40).filter(|number| ![3, 19, 35].contains(number)) {
        let name = format!("mcp_up__tool{stays}");
        assert!(seen.contains(&name), "{name} was missed");
    }
}

#[tokio::test]
async fn a_broken_change_stream_is_reopened_and_missed_changes_are_read() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = platform().await;
        let upstream = listed(&p, era).await;
        let ada = live(&p, "ada").await;
        upstream.set_list(OfferListKind::Tools, vec![tool("gap")]);
        // Not notified, because the stream is broken.
        upstream.cut_listening();
        until(async || ada.tools().await, |tools| tools == &["mcp.up:gap"]).await;
    }
}
