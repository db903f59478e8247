use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use toolyard_client_sdk::plugins::fetch::{FetchOptions, fetch, fetch_tool};
use toolyard_net::Guard;

use crate::world::{call, check_rules};

/// Answers one request with a page, or not at all.
async fn site(page: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    tokio_util::task::TaskTracker::new().spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let Some(page) = page else { return std::future::pending().await };
        let mut request = [0; 4096];
        let read = socket.read(&mut request).await.unwrap();
        assert!(request[..read].starts_with(b"GET /page HTTP/1.1\r\n"));
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n", page.len());
        socket.write_all(format!("{head}{page}").as_bytes()).await.unwrap();
    });
    url
}

#[tokio::test]
async fn a_page_comes_as_text() {
    let url = site(Some("<title>News</title><script>x()</script><p>All is <b>well</b>.")).await;
    let tools = [fetch_tool(FetchOptions { guard: Guard::dev(), ..FetchOptions::default() })];
    check_rules(&tools);
    let page = call(&tools, "fetch_page", json!({ "url": url })).await.unwrap();
    assert_eq!(page, format!("URL: {url}\nTitle: News\n\nAll is well."));
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let tools = [fetch_tool(FetchOptions::default())];
    for url in ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://[::1]/", "file:///etc/passwd"]
    {
        let error = call(&tools, "fetch_page", json!({ "url": url })).await.unwrap_err();
        assert!(error.contains("cannot be fetched"), "{url}: {error}");
    }
}

#[tokio::test]
async fn a_page_that_does_not_load_times_out() {
    let url = site(None).await;
    let tools = [fetch_tool(FetchOptions { guard: Guard::dev(), limit: Duration::from_millis(50) })];
    let error = call(&tools, "fetch_page", json!({ "url": url })).await.unwrap_err();
    assert!(error.contains("did not come in time"), "{error}");
    assert_eq!(fetch(FetchOptions::default()).name(), "fetch");
}
