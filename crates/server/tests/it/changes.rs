//! The stream of changes: subscribers learn once which of their own lists changed.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, echo_tool, tokens_only},
};

/// The events of one stream.
struct Stream(toolyard_net::ResponseLines);

impl Stream {
    /// Opens the stream and waits until it is subscribed.
    async fn open(who: &Person<'_>) -> Self {
        let response = who.open(Method::GET, "/api/changes", None).await;
        let mut stream = Self(response.into_lines(64 * 1024, 1024 * 1024));
        assert_eq!(stream.next().await, json!({}), "it begins with `ready`");
        stream
    }

    async fn next(&mut self) -> Value {
        loop {
            let line = self.0.next().await.unwrap().unwrap();
            if let Some(data) = std::str::from_utf8(&line).unwrap().strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The lists that changed, until one of them is this.
    async fn until(&mut self, topic: &str) -> Vec<String> {
        loop {
            let topics: Vec<String> = serde_json::from_value(self.next().await["topics"].clone()).unwrap();
            if topics.iter().any(|one| one == topic) {
                return topics;
            }
        }
    }
}

#[tokio::test]
async fn the_stream_names_every_list_that_changed() {
    let p = Platform::start().await;
    let ada = p.user("ada");
    let mut stream = Stream::open(&ada).await;
    let app = json!({ "packageName": "com.example.new", "tools": [echo_tool()] });
    ada.post("/api/apps", &app).await.expect(201);
    stream.until("apps").await;
    ada.put("/api/installs/com.example.new", &json!({})).await.expect(204);
    let topics = stream.until("installs").await;
    assert!(topics.contains(&"tools".to_owned()), "{topics:?}");
    ada.put("/api/installs/com.example.new/assistant", &json!({})).await.expect(204);
    stream.until("installs").await;
    let token = ada.post("/api/tokens", &json!({ "name": "t" })).await.expect(201).json();
    stream.until("tokens").await;
    ada.delete(&format!("/api/tokens/{}", token["info"]["id"].as_str().unwrap())).await.expect(204);
    stream.until("tokens").await;
    ada.post("/api/upstreams", &json!({ "id": "u", "url": "http://127.0.0.1:9/mcp" })).await.expect(201);
    stream.until("upstreams").await;
    // That the upstream is unreachable is a second change.
    while ada.get("/api/upstreams/u").await.expect(200).json()["status"]["state"] != "down" {
        stream.until("upstreams").await;
    }
}

#[tokio::test]
async fn users_are_not_notified_about_lists_of_others() {
    let p = Platform::with(tokens_only).await;
    let (_app, _) = app_of(&p, "dora", ECHO).await;
    let (ada, bob) = (p.bearer(&p.token("ada", Role::User)), p.bearer(&p.token("bob", Role::User)));
    let mut stream = Stream::open(&ada).await;
    bob.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    bob.post("/api/tokens", &json!({ "name": "his" })).await.expect(201);
    // Her own change comes after those, and is the first that she is notified about.
    ada.post("/api/tokens", &json!({ "name": "hers" })).await.expect(201);
    assert_eq!(stream.next().await, json!({ "topics": ["tokens"] }));
}

#[tokio::test]
async fn a_change_stream_ends_with_its_token_and_streams_are_limited() {
    let p = Platform::with(tokens_only).await;
    let boss = p.bearer(&p.token("boss", Role::Operator));
    let made = boss.post("/api/tokens", &json!({ "name": "t", "user": "ada" })).await.expect(201).json();
    let ada = p.bearer(made["token"].as_str().unwrap());
    let mut open = Vec::new();
    for _ in 0..32 {
        open.push(Stream::open(&ada).await);
    }
    let refused = ada.get("/api/changes").await.expect(409);
    assert!(refused.text.contains("close one and retry"), "{}", refused.text);
    boss.delete(&format!("/api/tokens/{}", made["info"]["id"].as_str().unwrap())).await.expect(204);
    for stream in &mut open {
        while let Ok(Some(_)) = stream.0.next().await {}
    }
}
