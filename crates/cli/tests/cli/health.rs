//! `toolyard health`

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::fixture::{Ran, Yard, ended, serve, toolyard};

/// Checks the server that listens at this URL, found by its configuration.
async fn health(yard: &Yard, url: &str, flags: &[&str]) -> Ran {
    let listen = format!("server.listen={}", url.trim_start_matches("http://"));
    ended(toolyard(yard.folder.path(), &[&["health", "--set", &listen], flags].concat())).await
}

#[tokio::test]
async fn a_running_server_is_ready_until_it_stops() {
    let mut yard = Yard::start().await;
    let url = yard.url.clone();
    assert_eq!(health(&yard, &url, &[]).await.good(), format!("ready: {url}\n"));
    assert_eq!(health(&yard, &url, &["--json"]).await.json(), json!({ "ready": true, "url": url }));
    yard.server.signal("-TERM").await;
    assert_eq!(yard.server.end().await, 0);
    let stopped = health(&yard, &url, &[]).await;
    assert_eq!((stopped.code, stopped.err.as_str()), (1, ""));
    assert!(
        stopped.out.starts_with("not ready: cannot reach the server at http://127.0.0.1:"),
        "{stopped:?}"
    );
    assert_eq!(stopped.out.lines().count(), 1);
    let stopped = health(&yard, &url, &["--json"]).await;
    assert_eq!((stopped.code, &stopped.json_lines()[0]["ready"]), (1, &json!(false)));
    assert!(stopped.json_lines()[0]["reason"].is_string());
}

#[tokio::test]
async fn a_server_on_all_addresses_is_asked_with_a_host_that_it_allows() {
    let hosts = r#"server.hosts=["first.example", "second.example"]"#;
    for allowed in [&["--set", "server.public_url=https://tools.example.com"][..], &["--set", hosts]] {
        let folder = tempfile::tempdir().unwrap();
        let flags = [&["--auth", "token"], allowed].concat();
        let (server, url) = serve(folder.path(), "0.0.0.0:0", &flags).await;
        let yard = Yard { folder, server, url };
        let port = yard.url.rsplit(':').next().unwrap();
        let ready = format!("ready: http://127.0.0.1:{port}\n");
        assert_eq!(health(&yard, &yard.url, allowed).await.good(), ready);
        // Without them the server refuses the request, which is said.
        let refused = health(&yard, &yard.url, &[]).await;
        assert_eq!(refused.code, 1);
        assert!(refused.out.contains("this Host is not allowed"), "{refused:?}");
    }
}

#[tokio::test]
async fn the_url_can_be_given() {
    let yard = Yard::start().await;
    let elsewhere = &["health", "--set", "server.listen=127.0.0.1:1"];
    let by_flag = toolyard(yard.folder.path(), &[&elsewhere[..], &["--url", &yard.url]].concat());
    assert_eq!(ended(by_flag).await.good(), format!("ready: {}\n", yard.url));
    assert_eq!(yard.run(elsewhere).await.good(), format!("ready: {}\n", yard.url), "TOOLYARD_URL");
}

#[tokio::test]
async fn a_server_that_is_not_ready_says_why() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let respond = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let length = socket.read(&mut head).await.unwrap();
        assert!(head[..length].starts_with(b"GET /readyz HTTP/1.1\r\n"));
        let body =
            r#"{"error":{"code":"UNAVAILABLE","message":"the store is not writable; see the server's log"}}"#;
        let response =
            format!("HTTP/1.1 503 Service Unavailable\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        socket.write_all(response.as_bytes()).await.unwrap();
    };
    let (ran, ()) =
        tokio::join!(ended(toolyard(folder.path(), &["health", "--url", &url, "--timeout", "60"])), respond);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (1, "not ready: the store is not writable; see the server's log\n")
    );
    // It accepts connections, but nothing reads them.
    let ran = ended(toolyard(folder.path(), &["health", "--url", &url, "--timeout", "1"])).await;
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("did not respond within 1s"), "{ran:?}");
}

#[tokio::test]
async fn a_health_check_never_ends_with_2_unless_it_is_misused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), "[calls]\ntimeouts = 1\n").unwrap();
    let wrong = ended(toolyard(folder.path(), &["health"])).await;
    assert_eq!(wrong.code, 1, "container runtimes reserve 2");
    assert!(
        wrong.out.starts_with("not ready: configuration: ") && wrong.out.contains("timeouts"),
        "{wrong:?}"
    );
    let wrong = ended(toolyard(folder.path(), &["health", "--url", "localhost:8787"])).await;
    assert_eq!(wrong.code, 1);
    for timeout in ["0", "301", "soon"] {
        assert_eq!(ended(toolyard(folder.path(), &["health", "--timeout", timeout])).await.code, 2);
    }
}
