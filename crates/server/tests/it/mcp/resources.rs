//! Prompts, resources and completion of an app that has none: every request has the right response.

use serde_json::json;
use toolyard_core::ports::Change;

use super::client::{LEGACY, Session};
use crate::platform::Platform;

/// A resource URI of the app, which has no resources.
const OF_THE_APP: &str = "test://com.example.echo/x";

fn update(p: &Platform, uri: &str) {
    let package = "com.example.echo".parse().unwrap();
    p.state.stores.announcements.notify(&Change::ResourceUpdated { package, user: None, uri: uri.into() });
}

async fn subscribe(session: &Session<'_>, method: &str, uri: &str) {
    assert_eq!(session.ask(method, json!({ "uri": uri })).await.result(), json!({}));
}

#[tokio::test]
async fn a_missing_resource_is_reported_in_the_format_of_the_era() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let session = p.user("ada").handshake(LEGACY).await;
    let long = format!("test://{}", "x".repeat(5_000));
    for uri in
        ["test://none", "nonsense", "", OF_THE_APP, "ui://com.example.echo/page", "test://com.other/x", &long]
    {
        let params = json!({ "uri": uri });
        let mut shown: String = uri.chars().take(400).collect();
        if shown != uri {
            shown.push('…');
        }
        let modern = p.user("ada").modern("resources/read", params.clone()).await;
        assert_eq!(modern.refusal(), (200, -32602), "{uri}: {}", modern.text);
        let legacy = session.ask("resources/read", params).await;
        assert_eq!(legacy.refusal(), (200, -32002), "{uri}: {}", legacy.text);
        for answer in [modern, legacy] {
            assert_eq!(answer.json()["error"]["data"], json!({ "uri": shown }), "{}", answer.text);
        }
    }
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn a_missing_prompt_is_unknown() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let session = p.user("ada").handshake(LEGACY).await;
    for name in ["none", "com.example.echo:echo", "com_example_echo__echo", ""] {
        let params = json!({ "name": name });
        let answers = [
            p.user("ada").modern("prompts/get", params.clone()).await,
            session.ask("prompts/get", params).await,
        ];
        for answer in answers {
            assert_eq!(answer.refusal(), (200, -32602), "{name}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn completion_needs_something_to_complete() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    for reference in [
        json!({ "type": "ref/prompt", "name": "none" }),
        json!({ "type": "ref/prompt" }),
        json!({ "type": "ref/resource", "uri": "test://none" }),
        json!({ "type": "ref/tool", "name": "echo" }),
        json!({}),
        json!([]),
    ] {
        let answer = p.user("ada").modern("completion/complete", json!({ "ref": reference })).await;
        assert_eq!(answer.refusal(), (200, -32602), "{reference}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_session_is_notified_until_it_unsubscribes() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let (session, other) = (p.user("ada").handshake(LEGACY).await, p.user("ada").handshake(LEGACY).await);
    subscribe(&session, "resources/subscribe", OF_THE_APP).await;
    subscribe(&session, "resources/subscribe", "test://com.example.echo/mark").await;
    subscribe(&other, "resources/subscribe", "test://com.example.echo/mark").await;
    let (mut events, mut others) = (session.get().await, other.get().await);
    let uri = |message: serde_json::Value| message["params"]["uri"].as_str().unwrap().to_owned();
    update(&p, "test://unwanted");
    update(&p, "test://x");
    assert_eq!(uri(events.message().await), OF_THE_APP);
    subscribe(&session, "resources/unsubscribe", OF_THE_APP).await;
    subscribe(&session, "resources/unsubscribe", "test://never").await;
    update(&p, "test://x");
    update(&p, "test://mark");
    for events in [&mut events, &mut others] {
        assert_eq!(uri(events.message().await), "test://com.example.echo/mark");
    }
}

#[tokio::test]
async fn subscriptions_per_session_are_limited() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let session = p.user("ada").handshake(LEGACY).await;
    for i in 0..256 {
        subscribe(&session, "resources/subscribe", &format!("{OF_THE_APP}{i}")).await;
    }
    let more = session.ask("resources/subscribe", json!({ "uri": OF_THE_APP })).await;
    assert_eq!(more.refusal(), (200, -32602), "{}", more.text);
    assert!(more.text.contains("256"), "{}", more.text);
    subscribe(&session, "resources/subscribe", &format!("{OF_THE_APP}7")).await;
    subscribe(&session, "resources/unsubscribe", &format!("{OF_THE_APP}7")).await;
    subscribe(&session, "resources/subscribe", OF_THE_APP).await;
}
