//! Subscriptions to resources: forwarded to the upstream, and only subscribers are notified.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, UpstreamEra};

use super::world::{add, add_with, full, plain};
use crate::{
    mcp::client::{Ask, Events, LEGACY, soon},
    platform::Platform,
};

const REMOTE: &str = "test://watched-resource";
const URI: &str = "test://mcp.up/watched-resource";
const OTHER: &str = "test://static-text";

/// The current subscriptions at the upstream, by its last requests.
fn watched(upstream: &FakeUpstream, era: UpstreamEra) -> Vec<Value> {
    match era {
        UpstreamEra::Modern => {
            let last = upstream.messages("subscriptions/listen").last().cloned();
            let uris = last.map(|last| last.params["notifications"]["resourceSubscriptions"].clone());
            uris.and_then(|uris| uris.as_array().cloned()).unwrap_or_default()
        }
        _ => upstream.messages("resources/subscribe").iter().map(|seen| seen.params["uri"].clone()).collect(),
    }
}

/// Waits until the upstream has these subscriptions.
async fn stands(upstream: &FakeUpstream, era: UpstreamEra, uris: &[&str]) {
    let wait = async {
        loop {
            if watched(upstream, era) == uris {
                return;
            }
            let method =
                if era == UpstreamEra::Modern { "subscriptions/listen" } else { "resources/subscribe" };
            upstream.wait_messages(method, upstream.messages(method).len() + 1).await;
        }
    };
    soon(wait).await;
}

/// Sends that a resource changed until it arrives: a new stream may not be open yet, and when it is, every resource on it
/// counts as changed.
async fn told(upstream: &FakeUpstream, remote: &str, events: &mut Events, uri: &str, beside: &[&str]) {
    let heard = async {
        loop {
            let message = events.message().await;
            assert_eq!(message["method"], "notifications/resources/updated", "{message}");
            let heard = message["params"]["uri"].as_str().unwrap().to_owned();
            if heard == uri {
                return;
            }
            assert!(beside.contains(&heard.as_str()), "{message}");
        }
    };
    let telling = async {
        loop {
            upstream.announce_resource(remote);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = soon(heard) => {}
        () = telling => {}
    }
}

#[tokio::test]
async fn a_listening_client_is_notified_about_the_resources_that_it_named() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let filter =
            json!({ "resourceSubscriptions": [URI, "test://mcp.up/static-text", "test://mcp.none/x"] });
        let ask = Ask::modern("subscriptions/listen", json!({ "notifications": filter }));
        let mut events = p.user("ada").stream(ask.id("l")).await;
        let granted = events.message().await["params"]["notifications"]["resourceSubscriptions"].clone();
        let mut granted: Vec<_> =
            granted.as_array().unwrap().iter().map(|uri| uri.as_str().unwrap()).collect();
        granted.sort_unstable();
        assert_eq!(granted, ["test://mcp.up/static-text", URI], "what nobody has is not granted");
        stands(&upstream, era, &[OTHER, REMOTE]).await;
        told(&upstream, REMOTE, &mut events, URI, &["test://mcp.up/static-text"]).await;
    }
}

#[tokio::test]
async fn a_session_is_notified_about_its_subscriptions() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let (session, other) = (p.user("ada").handshake(LEGACY).await, p.user("ada").handshake(LEGACY).await);
        let (mut events, mut others) = (session.get().await, other.get().await);
        session.ask("resources/subscribe", json!({ "uri": URI })).await.result();
        other.ask("resources/subscribe", json!({ "uri": "test://mcp.up/static-text" })).await.result();
        stands(&upstream, era, if era == UpstreamEra::Modern { &[OTHER, REMOTE] } else { &[REMOTE, OTHER] })
            .await;
        told(&upstream, REMOTE, &mut events, URI, &[]).await;
        // The other session is notified about its own resource only.
        told(&upstream, OTHER, &mut others, "test://mcp.up/static-text", &[]).await;
        let missing = session.ask("resources/subscribe", json!({ "uri": "test://mcp.none/x" })).await;
        assert_eq!(missing.refusal(), (200, -32002));
    }
}

#[tokio::test]
async fn subscriptions_are_restored_after_a_reconnect() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let session = p.user("ada").handshake(LEGACY).await;
        let mut events = session.get().await;
        session.ask("resources/subscribe", json!({ "uri": URI })).await.result();
        stands(&upstream, era, &[REMOTE]).await;
        // Another address is another connection, which needs new subscriptions.
        let moved = full(era).await;
        p.nobody().patch("/api/upstreams/up", &json!({ "url": moved.url() })).await.expect(200);
        stands(&moved, era, &[REMOTE]).await;
        told(&moved, REMOTE, &mut events, URI, &[]).await;
        // After its removal nothing is subscribed, even if it is added again under its name.
        p.nobody().delete("/api/upstreams/up").await.expect(204);
        let again = full(era).await;
        add(&p, "up", &again.url()).await;
        again.wait_listening(1).await;
        assert!(watched(&again, era).is_empty(), "{era:?}");
    }
}

#[tokio::test]
async fn an_upstream_without_subscriptions_is_no_error() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Legacy).await;
    add_with(&p, "up", json!({ "url": upstream.url() })).await;
    let session = p.user("ada").handshake(LEGACY).await;
    session.ask("resources/subscribe", json!({ "uri": "a:mcp.up/b" })).await.result();
    assert!(upstream.messages("resources/subscribe").is_empty());
}
