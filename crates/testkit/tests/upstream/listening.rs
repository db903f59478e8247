//! Change notifications reach subscribers, and no one else.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, FixtureSet, OfferListKind, UpstreamOptions};

use crate::client::{Session, modern, modern_headers, open, piece};

fn event(piece: &str) -> Value {
    let data = piece.lines().find_map(|line| line.strip_prefix("data: ")).expect("an event has data");
    serde_json::from_str(data).unwrap()
}

async fn conformance() -> FakeUpstream {
    FakeUpstream::start_with(UpstreamOptions {
        fixtures: FixtureSet::Conformance,
        ..UpstreamOptions::default()
    })
    .await
}

#[tokio::test]
async fn the_modern_era_listens_by_a_request() {
    let upstream = conformance().await;
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://watched-resource"] });
    let message = modern(77, "subscriptions/listen", json!({ "notifications": wanted }));
    let headers = modern_headers(&message);
    let mut stream = open("POST", &upstream.url(), &headers, &message.to_string()).await.unwrap();
    let first = event(&piece(&mut stream).await.unwrap());
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], wanted);

    upstream.wait_listening(1).await;
    upstream.announce_list(OfferListKind::Prompts);
    upstream.announce_resource("test://static-text");
    upstream.announce_list(OfferListKind::Tools);
    let next = event(&piece(&mut stream).await.unwrap());
    assert_eq!(next["method"], "notifications/tools/list_changed", "others were not asked for");
    assert_eq!(next["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 77);
    upstream.announce_resource("test://watched-resource");
    assert_eq!(event(&piece(&mut stream).await.unwrap())["params"]["uri"], "test://watched-resource");

    upstream.end_listening();
    let last = event(&piece(&mut stream).await.unwrap());
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(77), &json!("complete")));
    assert_eq!(piece(&mut stream).await, None);
}

#[tokio::test]
async fn a_listening_stream_can_be_cut() {
    let upstream = conformance().await;
    let message = modern(1, "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let headers = modern_headers(&message);
    let mut stream = open("POST", &upstream.url(), &headers, &message.to_string()).await.unwrap();
    piece(&mut stream).await.unwrap();
    upstream.wait_listening(1).await;
    upstream.cut_listening();
    assert_eq!(piece(&mut stream).await, None);
    let cancelled = upstream.wait_cancelled(1).await.remove(0);
    assert_eq!(cancelled.method, "subscriptions/listen");
    assert_eq!(upstream.listening_count(), 0);
}

#[tokio::test]
async fn the_legacy_era_listens_by_get() {
    let upstream = conformance().await;
    let session = Session::open(&upstream.url()).await;
    let mut stream = open("GET", &upstream.url(), &session.headers(), "").await.unwrap();
    upstream.wait_listening(1).await;
    assert!(piece(&mut stream).await.unwrap().starts_with(':'));
    upstream.announce_resource("test://watched-resource");
    session.ask(1, "resources/subscribe", json!({ "uri": "test://watched-resource" })).await.unwrap();
    upstream.announce_list(OfferListKind::Tools);
    assert_eq!(event(&piece(&mut stream).await.unwrap())["method"], "notifications/tools/list_changed");
    upstream.announce_resource("test://watched-resource");
    assert_eq!(event(&piece(&mut stream).await.unwrap())["method"], "notifications/resources/updated");
    upstream.forget_sessions();
    assert_eq!(piece(&mut stream).await, None);
}

#[tokio::test]
async fn an_answer_waits_for_who_comes_back() {
    let upstream = conformance().await;
    let session = Session::open(&upstream.url()).await;
    let parked = session.ask(4, "tools/call", json!({ "name": "test_reconnection" })).await.unwrap();
    let event_id = parked.text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert!(!parked.text.contains("result"));
    let headers = [session.headers(), vec![("last-event-id", event_id.as_str())]].concat();
    let mut stream = open("GET", &upstream.url(), &headers, "").await.unwrap();
    let mut text = String::new();
    while let Some(more) = piece(&mut stream).await {
        text.push_str(&more);
    }
    assert_eq!(event(&text)["id"], 4);
}

#[tokio::test]
async fn a_tool_changes_the_list_for_real() {
    let upstream = conformance().await;
    let session = Session::open(&upstream.url()).await;
    let before = upstream.list_items(OfferListKind::Tools);
    for expected in [before.len() + 1, before.len()] {
        session.ask(1, "tools/call", json!({ "name": "test_trigger_tool_change" })).await.unwrap();
        assert_eq!(upstream.list_items(OfferListKind::Tools).len(), expected);
    }
}
