//! Pages and searches, with a fake page server and a fake search engine.

use serde_json::{Value, json};
use toolyard_server::config::{SearchConfig, SearchProvider};
use toolyard_testkit::{AppBehavior, FakeApp, model::ScriptedModel};

use super::{bad, good, with_tools};
use crate::platform::{Device, Platform};

async fn searching(engine: &ScriptedModel, per_minute: u32) -> (Platform, Device) {
    engine.serve_path(
        "/search",
        json!({ "results": [{ "url": "https://a.example/", "title": "A", "content": "About a" }] }),
    );
    let url = engine.url();
    with_tools(|config| {
        config.builtin.search =
            Some(SearchConfig { provider: SearchProvider::Searxng, url: Some(url), key_env: None });
        config.builtin.searches_per_minute = per_minute;
    })
    .await
}

#[tokio::test]
async fn a_page_is_read() {
    let site = FakeApp::start("site").await;
    site.set_behavior(AppBehavior::Text(
        200,
        "text/html",
        "<title>Tea</title><h1>Tea</h1><script>x()</script><p>Hot.</p>".to_owned(),
    ));
    let (p, _device) = with_tools(|_| {}).await;
    let url = format!("{}/tool", site.url());
    let told = good(&p, "fetch_page", json!({ "url": url })).await;
    assert!(told.contains("Title: Tea") && told.contains("Hot.") && !told.contains("x()"), "{told}");
    site.set_behavior(AppBehavior::Text(500, "text/html", "no".to_owned()));
    let told = bad(&p, "fetch_page", json!({ "url": url })).await;
    assert!(told.contains("500"), "{told}");
}

#[tokio::test]
async fn loopback_pages_can_be_fetched_only_if_the_operator_allows_it() {
    let site = FakeApp::start("site").await;
    let (p, _device) = with_tools(|config| config.net.web_allow.clear()).await;
    let url = format!("{}/tool", site.url());
    for url in [
        url.as_str(),
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://10.0.0.1/",
        "file:///etc/passwd",
        "x",
    ] {
        let told = bad(&p, "fetch_page", json!({ "url": url })).await;
        assert!(!told.is_empty(), "{url}");
    }
    assert!(site.requests("/tool").is_empty());
}

#[tokio::test]
async fn the_web_is_searched() {
    let engine = ScriptedModel::start().await;
    let (p, _device) = searching(&engine, 60).await;
    let told = good(&p, "web_search", json!({ "query": "tea" })).await;
    assert!(told.contains("https://a.example/") && told.contains("About a"), "{told}");
    assert_eq!(engine.other_requests().iter().filter(|seen| seen.path == "/search").count(), 1);
}

#[tokio::test]
async fn searches_per_minute_are_limited() {
    let engine = ScriptedModel::start().await;
    let (p, _device) = searching(&engine, 2).await;
    let _of_bob = p.device("bob").await;
    let search = |who: &'static str| {
        let p = &p;
        async move { p.user(who).call("toolyard:web_search", json!({ "query": "tea" })).await }
    };
    search("ada").await.expect(200);
    search("bob").await.expect(200);
    // Searches cost the operator money, so the limit is for all users.
    let answer = search("ada").await.expect(429);
    assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("RATE_LIMITED", "55"));
    p.clock.advance(55);
    search("ada").await.expect(200);
    assert_eq!(engine.other_requests().iter().filter(|seen| seen.path == "/search").count(), 3);
}

#[tokio::test]
async fn an_unreachable_search_engine_is_reported() {
    let engine = ScriptedModel::start().await;
    let (p, _device) = searching(&engine, 60).await;
    drop(engine);
    let answer: Value = json!(bad(&p, "web_search", json!({ "query": "tea" })).await);
    assert!(!answer.as_str().unwrap().is_empty());
}
