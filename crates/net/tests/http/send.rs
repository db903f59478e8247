//! The outcome of a request: the response, or an error that tells whether the peer can have seen it.

use std::time::Duration;

use crate::peer::{Peer, chunked, ok, post};
use http::StatusCode;
use toolyard_net::{
    AddressKind, ClientSettings, Guard, HttpClient, NetError, NotSent, OutsideUrl, SIGNATURE_HEADER,
    SigningKey, UrlRefused, sign_all,
};

fn client(guard: Guard) -> HttpClient {
    HttpClient::new(guard, ClientSettings::default())
}

/// What the client makes of this response, read with a limit of `limit` bytes.
async fn answer_to(answer: &str, limit: usize) -> Result<String, NetError> {
    let peer = Peer::start().await;
    let client = client(Guard::dev());
    let fetch = async {
        let bytes = client.send(peer.post("/tool")).await?.bytes(limit).await?;
        Ok(String::from_utf8(bytes.into()).unwrap())
    };
    // The peer closes after its response, as some framings and all truncations need it.
    let serve = async { drop(peer.answer_one(answer).await) };
    tokio::join!(fetch, serve).0
}

#[tokio::test]
async fn sends_head_and_body_and_gets_the_answer() {
    let peer = Peer::start().await;
    let client = client(Guard::dev());
    let url = OutsideUrl::parse(&format!("http://{}/app/", peer.address), &Guard::dev()).unwrap();
    let mut request = post(&url.join("tool").to_string());
    sign_all(&[SigningKey::new("s3cret")], request.headers_mut(), 1, b"{}");

    let serve = async {
        let mut conn = peer.accept().await;
        let request = conn.request().await;
        conn.write("HTTP/1.1 201 Created\r\nx-test: yes\r\ncontent-length: 2\r\n\r\nhi").await;
        request
    };
    let (response, request) = tokio::join!(client.send(request), serve);
    let response = response.unwrap();

    assert!(request.starts_with("POST /app/tool HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {}\r\n", peer.address)), "{request}");
    assert!(request.contains(&format!("{SIGNATURE_HEADER}: v1=")), "{request}");
    assert!(request.ends_with("\r\n\r\n{}"), "{request}");
    assert_eq!(
        (response.status, &response.headers["x-test"]),
        (StatusCode::CREATED, &"yes".parse().unwrap())
    );
    assert_eq!(response.bytes(2).await.unwrap(), "hi");
}

#[tokio::test]
async fn a_redirect_is_just_an_answer() {
    let peer = Peer::start().await;
    let client = client(Guard::dev());
    let answer =
        format!("HTTP/1.1 307 See\r\nlocation: http://{}/other\r\ncontent-length: 0\r\n\r\n", peer.address);
    let (response, _conn) = tokio::join!(client.send(peer.post("/tool")), peer.answer_one(&answer));
    let response = response.unwrap();
    assert_eq!(response.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(response.bytes(0).await.unwrap(), "");
}

#[tokio::test]
async fn bodies_are_whole_in_every_framing() {
    assert_eq!(answer_to(&ok("hello"), 5).await.unwrap(), "hello");
    assert_eq!(answer_to(&chunked(&["he", "l", "lo"]), 5).await.unwrap(), "hello");
    assert_eq!(answer_to(&chunked(&[]), 0).await.unwrap(), "");
    assert_eq!(answer_to("HTTP/1.1 204 No Content\r\n\r\n", 0).await.unwrap(), "");
    assert_eq!(
        answer_to("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nto the end", 10).await.unwrap(),
        "to the end"
    );
    let with_trailer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\n";
    assert_eq!(answer_to(with_trailer, 2).await.unwrap(), "hi");
    let large = "x".repeat(1_000_000);
    assert_eq!(answer_to(&ok(&large), large.len()).await.unwrap(), large);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_its_announced_size() {
    // The body never arrives: the header alone must be enough.
    let announced = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n";
    let peer = Peer::start().await;
    let client = client(Guard::dev());
    let (response, mut conn) = tokio::join!(client.send(peer.post("/")), peer.answer_one(announced));
    assert_eq!(response.unwrap().bytes(5).await, Err(NetError::TooLarge { limit: 5 }));
    conn.closed().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_its_counted_size() {
    for chunks in [&["hello!"][..], &["hello", "!"], &["h", "ello", "!"]] {
        assert_eq!(answer_to(&chunked(chunks), 5).await, Err(NetError::TooLarge { limit: 5 }), "{chunks:?}");
    }
    // It does not wait for the end either.
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nhello!\r\n";
    let peer = Peer::start().await;
    let client = client(Guard::dev());
    let (response, mut conn) = tokio::join!(client.send(peer.post("/")), peer.answer_one(endless));
    assert_eq!(response.unwrap().bytes(5).await, Err(NetError::TooLarge { limit: 5 }));
    conn.closed().await;
}

#[tokio::test]
async fn an_answer_that_is_cut_or_no_http_is_broken() {
    for answer in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
    ] {
        let outcome = answer_to(answer, 100).await;
        assert!(matches!(outcome, Err(NetError::Broken { .. })), "{answer:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_head_over_the_limit_is_broken() {
    let head =
        |size: usize| format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(size));
    assert_eq!(answer_to(&head(40 * 1024), 0).await.unwrap(), "");
    assert!(matches!(answer_to(&head(256 * 1024), 0).await, Err(NetError::Broken { .. })));
}

#[tokio::test]
async fn a_refused_port_is_not_sent() {
    let peer = Peer::start().await;
    let request = peer.post("/tool");
    drop(peer);
    let outcome = client(Guard::dev()).send(request).await.unwrap_err();
    assert!(
        matches!(&outcome, NetError::NotSent(NotSent::NoConnection { host, .. }) if host == "127.0.0.1"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn an_unknown_name_is_not_sent() {
    let outcome = client(Guard::strict()).send(post("http://no-such-name.invalid/")).await.unwrap_err();
    assert!(matches!(outcome, NetError::NotSent(NotSent::NameNotFound { .. })), "{outcome:?}");
}

#[tokio::test]
async fn a_failed_tls_handshake_is_not_sent() {
    let peer = Peer::start().await;
    let client = client(Guard::dev());
    let serve = async { peer.accept().await.write("HTTP/1.1 400 Bad Request\r\n\r\n").await };
    let (outcome, ()) = tokio::join!(client.send(post(&format!("https://{}/", peer.address))), serve);
    assert!(matches!(outcome, Err(NetError::NotSent(NotSent::Tls { .. }))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn the_connect_timeout_covers_the_tls_handshake() {
    let peer = Peer::start().await;
    let connect_timeout = Duration::from_secs(3);
    let client =
        HttpClient::new(Guard::dev(), ClientSettings { connect_timeout, ..ClientSettings::default() });
    let begun = tokio::time::Instant::now();
    // The peer never answers the handshake.
    let outcome = client.send(post(&format!("https://{}/", peer.address))).await.unwrap_err();
    assert_eq!(outcome, NetError::NotSent(NotSent::ConnectTimeout(connect_timeout)));
    assert!(begun.elapsed() < connect_timeout + Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_refused_address_is_never_dialed() {
    let peer = Peer::start().await;
    let refused = client(Guard::strict()).send(peer.post("/first")).await.unwrap_err();
    assert_eq!(
        refused,
        NetError::Refused(UrlRefused::Address { address: peer.address.ip(), kind: AddressKind::Loopback })
    );
    // The first connection that the peer sees belongs to the second request.
    let client = client(Guard::dev());
    let serve = async {
        let mut conn = peer.accept().await;
        let request = conn.request().await;
        conn.write(&ok("")).await;
        request
    };
    let (_, request) = tokio::join!(client.send(peer.post("/second")), serve);
    assert!(request.starts_with("POST /second "), "{request}");
}

#[tokio::test]
async fn private_networks_are_refused_before_a_connection() {
    for uri in
        ["http://10.0.0.5/", "http://192.168.0.1:8080/", "https://[fd00::1]/", "http://169.254.169.254/"]
    {
        let outcome = client(Guard::dev()).send(post(uri)).await;
        assert!(matches!(outcome, Err(NetError::Refused(UrlRefused::Address { .. }))), "{uri}: {outcome:?}");
    }
}

#[tokio::test]
async fn localhost_is_refused_by_strict_and_allowed_by_dev() {
    let peer = Peer::start().await;
    let uri = format!("http://localhost:{}/tool", peer.address.port());

    let outcome = client(Guard::strict()).send(post(&uri)).await.unwrap_err();
    let NetError::Refused(UrlRefused::Name { host, kind, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((host.as_str(), kind), ("localhost", AddressKind::Loopback));

    let client = client(Guard::dev());
    let (response, _conn) = tokio::join!(client.send(post(&uri)), peer.answer_one(ok("hi")));
    assert_eq!(response.unwrap().bytes(10).await.unwrap(), "hi");
}

#[tokio::test]
async fn a_uri_that_cannot_be_called_is_not_sent() {
    let client = client(Guard::unrestricted());
    let relative = client.send(post("/tool")).await.unwrap_err();
    assert!(matches!(relative, NetError::NotSent(NotSent::BadRequest { .. })), "{relative:?}");
    for (uri, refused) in [
        ("ftp://example.com/", UrlRefused::Scheme("ftp".into())),
        ("http://ada:secret@example.com/", UrlRefused::Credentials),
        ("http://example.com:0/", UrlRefused::PortZero),
    ] {
        assert_eq!(client.send(post(uri)).await.unwrap_err(), NetError::Refused(refused), "{uri}");
    }
}
