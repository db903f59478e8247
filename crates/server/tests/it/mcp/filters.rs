//! Filters of a modern stream: requested, granted, and applied.

use serde_json::{Value, json};
use toolyard_core::ports::Change;
use toolyard_protocol::mcp::meta;

use super::{
    client::{Ask, soon},
    ears::{MARK_URI, mark, platform, quiet},
};
use crate::platform::{ECHO, Platform, echo_tool};

fn listen(filter: Value) -> Ask {
    Ask::modern("subscriptions/listen", json!({ "notifications": filter }))
}

/// Changes ada's tools.
async fn change(p: &Platform) {
    p.nobody().post("/api/apps", &json!({ "packageName": ECHO, "tools": [echo_tool()] })).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
}

#[tokio::test]
async fn the_first_message_of_a_stream_names_the_granted_filters() {
    let p = platform(1).await;
    let known = "x://com.example.mark/any";
    for (asked, granted) in [
        (json!({}), json!({})),
        (json!({ "toolsListChanged": false }), json!({})),
        (json!({ "toolsListChanged": true }), json!({ "toolsListChanged": true })),
        (
            json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "later": 1 }),
            json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true }),
        ),
        (json!({ "resourceSubscriptions": [] }), json!({})),
        (
            json!({ "resourceSubscriptions": ["test://nobody/x", known, "nonsense", "x://com.other/y", known] }),
            json!({ "resourceSubscriptions": [known] }),
        ),
    ] {
        let mut events = p.user("ada").stream(listen(asked.clone()).id("l")).await;
        assert_eq!(events.headers["content-type"], "text/event-stream");
        assert_eq!(events.headers["x-accel-buffering"], "no");
        assert_eq!(
            events.message().await,
            json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "notifications": granted, "_meta": { meta::SUBSCRIPTION_ID: "l" } } }),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn only_requested_notifications_are_sent() {
    let p = platform(1).await;
    let ada = p.user("ada");
    let mut no_tools =
        ada.listen(1, json!({ "promptsListChanged": true, "resourceSubscriptions": [MARK_URI] })).await;
    let mut only_tools = ada.listen(2, json!({ "toolsListChanged": true })).await;
    let mut another =
        ada.listen(3, json!({ "resourceSubscriptions": ["test://com.example.mark/other"] })).await;
    mark(&p);
    change(&p).await;
    assert_eq!(
        only_tools.message().await["method"],
        "notifications/tools/list_changed",
        "the mark was not for it"
    );
    assert_eq!(no_tools.message().await["params"]["uri"], MARK_URI);
    quiet(&p, &mut no_tools).await;
    let (package, uri) = ("com.example.mark".parse().unwrap(), "test://other".into());
    p.state.stores.announcements.notify(&Change::ResourceUpdated {
        package,
        user: Some("ada".parse().unwrap()),
        uri,
    });
    assert_eq!(another.message().await["params"]["uri"], "test://com.example.mark/other");
}

#[tokio::test]
async fn notifications_of_other_users_are_not_sent() {
    let p = platform(1).await;
    let own = "test://com.example.mark/own";
    let mut events = p.user("ada").listen(1, json!({ "resourceSubscriptions": [MARK_URI, own] })).await;
    for (user, uri) in [("bob", "test://m"), ("ada", "test://own")] {
        let (package, user) = ("com.example.mark".parse().unwrap(), Some(user.parse().unwrap()));
        p.state.stores.announcements.notify(&Change::ResourceUpdated { package, user, uri: uri.into() });
    }
    assert_eq!(events.message().await["params"]["uri"], own, "bob's came before it");
}

#[tokio::test]
async fn every_notification_carries_the_request_id_unchanged() {
    let p = platform(1).await;
    let mut streams = Vec::new();
    let ids = ["0", "7", "1.50", "\"7\"", "\"\\u00fc\"", "123456789012345678901234567890"];
    for id in ids {
        let body = listen(json!({ "toolsListChanged": true })).id("ID").message().to_string();
        let ada = p.user("ada").header("mcp-protocol-version", super::client::MODERN);
        let ada = ada.header("mcp-method", "subscriptions/listen");
        let body = body.replace("\"ID\"", id);
        streams.push((id, ada.events(body).await));
    }
    let tag = |id: &str| format!("{{\"{}\":{id}}}", meta::SUBSCRIPTION_ID);
    let data = async |events: &mut super::client::Events| loop {
        let line = events.line().await.unwrap();
        if line.starts_with("data: ") {
            return line;
        }
    };
    for (id, events) in &mut streams {
        let line = data(events).await;
        assert!(line.contains("acknowledged") && line.contains(&tag(id)), "{line}");
    }
    change(&p).await;
    for (id, events) in &mut streams {
        let line = data(events).await;
        assert!(line.contains("tools/list_changed") && line.contains(&tag(id)), "{line}");
    }
}

#[tokio::test]
async fn an_invalid_filter_is_refused() {
    let p = platform(1).await;
    let many: Vec<String> = (0..257).map(|i| format!("x://com.example.mark/{i}")).collect();
    for params in [
        json!({}),
        json!({ "notifications": null }),
        json!({ "notifications": [] }),
        json!({ "notifications": true }),
        json!({ "notifications": { "toolsListChanged": "yes" } }),
        json!({ "notifications": { "resourceSubscriptions": "a:b" } }),
        json!({ "notifications": { "resourceSubscriptions": many } }),
    ] {
        let answer = p.user("ada").modern("subscriptions/listen", params.clone()).await;
        assert_eq!(answer.refusal(), (200, -32602), "{params}: {}", answer.text);
    }
    let mut events = p.user("ada").stream(listen(json!({ "resourceSubscriptions": many[..256] }))).await;
    let granted = soon(events.message()).await["params"]["notifications"]["resourceSubscriptions"].clone();
    assert_eq!(granted.as_array().unwrap().len(), 256);
}
