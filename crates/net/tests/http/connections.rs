//! How connections are kept, dropped and closed.

use std::time::Duration;

use crate::peer::{Conn, Peer, ok};
use toolyard_net::{ClientSettings, Guard, HttpClient};

fn client(settings: ClientSettings) -> HttpClient {
    HttpClient::new(Guard::dev(), settings)
}

async fn fetch(client: &HttpClient, peer: &Peer) -> String {
    let response = client.send(peer.post("/tool")).await.unwrap();
    String::from_utf8(response.bytes(100).await.unwrap().into()).unwrap()
}

async fn answer(conn: &mut Conn, body: &str) {
    conn.request().await;
    conn.write(&ok(body)).await;
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let peer = Peer::start().await;
    let client = client(ClientSettings::default());
    let (first, mut conn) = tokio::join!(fetch(&client, &peer), peer.answer_one(ok("0")));
    assert_eq!(first, "0");
    for number in 1..50 {
        let body = number.to_string();
        // No second `accept`: a new connection would leave the request unanswered.
        let (got, ()) = tokio::join!(fetch(&client, &peer), answer(&mut conn, &body));
        assert_eq!(got, body);
    }
}

#[tokio::test]
async fn clones_share_connections() {
    let peer = Peer::start().await;
    let client = client(ClientSettings::default());
    let (_, mut conn) = tokio::join!(fetch(&client, &peer), peer.answer_one(ok("a")));
    let clone = client.clone();
    let (got, ()) = tokio::join!(fetch(&clone, &peer), answer(&mut conn, "b"));
    assert_eq!(got, "b");
}

#[tokio::test]
async fn a_connection_that_the_peer_closed_while_idle_is_replaced() {
    let peer = Peer::start().await;
    let client = client(ClientSettings::default());
    for _ in 0..20 {
        let (got, mut conn) = tokio::join!(fetch(&client, &peer), peer.answer_one(ok("hi")));
        assert_eq!(got, "hi");
        // Waits until the client has noticed; a request that races with the close is rightly reported as broken.
        conn.finish().await;
        conn.closed().await;
    }
}

#[tokio::test]
async fn a_request_that_came_back_unwritten_is_sent_again() {
    let peer = Peer::start().await;
    let client = client(ClientSettings::default());
    for _ in 0..20 {
        let (got, conn) = tokio::join!(fetch(&client, &peer), peer.answer_one(ok("hi")));
        assert_eq!(got, "hi");
        drop(conn);
        // The runtime knows that the connection closed, but its task has not run: the next request gets a dead connection.
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_its_time() {
    let peer = Peer::start().await;
    let idle_timeout = Duration::from_secs(7);
    let client = client(ClientSettings { idle_timeout, ..ClientSettings::default() });
    let (_, mut conn) = tokio::join!(fetch(&client, &peer), peer.answer_one(ok("a")));

    let idle_since = tokio::time::Instant::now();
    conn.closed().await;
    assert!(idle_since.elapsed() >= idle_timeout, "{:?}", idle_since.elapsed());
    assert!(idle_since.elapsed() <= idle_timeout * 2, "{:?}", idle_since.elapsed());

    let (got, _conn) = tokio::join!(fetch(&client, &peer), peer.answer_one(ok("b")));
    assert_eq!(got, "b");
}

#[tokio::test]
async fn idle_connections_are_bounded_for_each_host() {
    let peer = Peer::start().await;
    let client = client(ClientSettings { idle_per_host: 1, ..ClientSettings::default() });
    let serve = async {
        let (mut one, mut two) = (peer.accept().await, peer.accept().await);
        // Both requests are under way at once, so both connections are needed.
        tokio::join!(one.request(), two.request());
        one.write(&ok("x")).await;
        two.write(&ok("x")).await;
        (one, two)
    };
    let (_, _, (mut one, mut two)) = tokio::join!(fetch(&client, &peer), fetch(&client, &peer), serve);

    tokio::select! {
        () = one.closed() => assert!(!two.is_closed()),
        () = two.closed() => assert!(!one.is_closed()),
    }
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let peer = Peer::start().await;
    let client = client(ClientSettings::default());
    let mut conn = tokio::select! {
        biased;
        got = fetch(&client, &peer) => panic!("{got}"),
        conn = async {
            let mut conn = peer.accept().await;
            conn.request().await;
            conn
        } => conn,
    };
    conn.closed().await;
}

#[tokio::test]
async fn dropping_an_unfinished_answer_closes_the_connection() {
    let peer = Peer::start().await;
    let client = client(ClientSettings::default());
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let (response, mut conn) = tokio::join!(client.send(peer.post("/tool")), peer.answer_one(head));
        drop(response.unwrap());
        conn.closed().await;

        let (response, mut conn) = tokio::join!(client.send(peer.post("/tool")), peer.answer_one(head));
        let mut lines = response.unwrap().into_lines(100, 100);
        tokio::select! {
            biased;
            line = lines.next() => panic!("{line:?}"),
            () = tokio::task::yield_now() => {}
        }
        drop(lines);
        conn.closed().await;
    }
}
