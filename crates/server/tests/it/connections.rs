//! Limits on connections, sockets and streams, each exceeded.

use http::Method;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::platform::Platform;

/// A raw connection of a client.
async fn connect(p: &Platform) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // A small buffer, so that a client that does not read is noticed soon.
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    socket.connect(p.url.strip_prefix("http://").unwrap().parse().unwrap()).await.unwrap()
}

/// Open connections, without the one of this request.
async fn open(p: &Platform) -> usize {
    let mut client = connect(p).await;
    let host = p.url.strip_prefix("http://").unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    client.read_to_string(&mut page).await.unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix("toolyard_connections ")).expect(&page);
    line.parse::<usize>().unwrap() - 1
}

async fn until_open(p: &Platform, count: usize) {
    while open(p).await != count {}
}

async fn socket(p: &Platform, path: &str, user: &str) -> Result<impl Sized + use<>, String> {
    let mut request = (p.url.replace("http", "ws") + path).into_client_request().unwrap();
    request.headers_mut().insert("x-user-id", user.parse().unwrap());
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_socket_counts_as_a_connection_until_it_is_closed() {
    let p = Platform::start().await;
    until_open(&p, 0).await;
    let device = p.device("ada").await;
    let quiet = socket(&p, "/mcp/ws", "ada").await.unwrap();
    assert_eq!(open(&p).await, 2);
    drop((device, quiet));
    until_open(&p, 0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected() {
    let p = Platform::with(|config| config.server.write_timeout_ms = 100).await;
    let mut client = connect(&p).await;
    let host = p.url.strip_prefix("http://").unwrap();
    let request = format!("GET /api/openapi.json HTTP/1.1\r\nhost: {host}\r\n\r\n");
    // Far more than the buffers of both sides.
    client.write_all(request.repeat(400).as_bytes()).await.unwrap();
    until_open(&p, 0).await;
    let mut read = Vec::new();
    let ended = client.read_to_end(&mut read).await;
    let answers = String::from_utf8_lossy(&read).matches("HTTP/1.1 200").count();
    assert!(answers < 400, "{answers} answers, {ended:?}");
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let p = Platform::with(|config| config.server.head_timeout_ms = 50).await;
    let mut client = connect(&p).await;
    client.write_all(b"GET /healthz HTTP/1.1\r\nhost").await.unwrap();
    let mut read = Vec::new();
    let _ = client.read_to_end(&mut read).await;
    assert!(!String::from_utf8_lossy(&read).contains("200 OK"));
}

#[tokio::test]
async fn silent_connections_do_not_block_others() {
    let p = Platform::with(|config| {
        config.server.max_connections = 4;
        config.server.head_timeout_ms = 60_000;
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..8 {
        let mut client = connect(&p).await;
        client.write_all(b"GET /healthz HTTP/1.1\r\nhost").await.unwrap();
        silent.push(client);
    }
    p.nobody().get("/healthz").await.expect(200);
    let mut read = Vec::new();
    let _ = silent[0].read_to_end(&mut read).await;
    assert!(read.is_empty(), "the oldest one made room");
}

#[tokio::test]
async fn an_unauthenticated_socket_is_closed() {
    let p = Platform::with(|config| config.server.introduction_ms = 50).await;
    let silent = socket(&p, "/app-ws", "ada").await.unwrap();
    until_open(&p, 0).await;
    drop(silent);
}

#[tokio::test]
async fn unauthenticated_sockets_are_limited_and_do_not_block_apps() {
    let p = Platform::with(|config| {
        config.server.unauthenticated_sockets = 2;
        config.server.introduction_ms = 60_000;
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..5 {
        silent.push(socket(&p, "/app-ws", "eve").await.unwrap());
    }
    until_open(&p, 2).await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    drop(silent);
}

#[tokio::test]
async fn streams_and_sockets_per_user_are_limited() {
    let p = Platform::with(|config| config.server.streams_per_user = 1).await;
    let first = socket(&p, "/mcp/ws", "ada").await.unwrap();
    let refused = socket(&p, "/mcp/ws", "ada").await.err().unwrap();
    assert!(refused.contains("429"), "{refused}");
    let stream = p.user("ada").open(Method::GET, "/api/calls/stream", None).await;
    assert_eq!(stream.status, 429);
    assert!(socket(&p, "/mcp/ws", "bob").await.is_ok(), "others have their own");
    drop(first);
    while socket(&p, "/mcp/ws", "ada").await.is_err() {}
}

#[tokio::test]
async fn connections_per_address_are_limited_except_for_proxies() {
    let p = Platform::with(|config| config.server.max_connections_per_address = 1).await;
    let _holder = connect(&p).await;
    let mut second = connect(&p).await;
    let mut read = Vec::new();
    let _ = second.read_to_end(&mut read).await;
    assert!(read.is_empty());
    let p = Platform::with(|config| {
        config.server.max_connections_per_address = 1;
        config.server.proxies = vec!["127.0.0.0/8".to_owned()];
    })
    .await;
    let _holder = connect(&p).await;
    p.nobody().get("/healthz").await.expect(200);
}
