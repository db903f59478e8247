//! Reading a response as server-sent events.

use std::time::Duration;

use crate::peer::{Conn, Peer, chunked};
use toolyard_net::{ClientSettings, Guard, HttpClient, NetError, SseStream};

async fn events_of(answer: &str, limit: usize) -> (SseStream, Conn) {
    let peer = Peer::start().await;
    let client = HttpClient::new(Guard::dev(), ClientSettings::default());
    let (response, conn) = tokio::join!(client.send(peer.post("/mcp")), peer.answer_one(answer));
    (response.unwrap().into_events(limit), conn)
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn an_event_is_there_before_the_answer_ends() {
    let (mut events, mut conn) = events_of(HEAD, 100).await;
    conn.write("11\r\nid: 1\ndata: one\n\n\r\n").await;
    let event = events.next().await.unwrap().unwrap();
    assert_eq!((event.name.as_str(), &event.data[..]), ("message", &b"one"[..]));
    assert_eq!(events.last_id(), Some("1"));
    conn.write("c\r\nretry: 9\n\nda\r\n9\r\nta: two\n\n\r\n0\r\n\r\n").await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "two");
    assert_eq!(events.retry_delay(), Some(Duration::from_millis(9)));
    assert_eq!(events.next().await, Ok(None));
}

#[tokio::test]
async fn a_reader_that_leaves_closes_the_connection() {
    let (events, mut conn) = events_of(HEAD, 100).await;
    drop(events);
    conn.closed().await;
}

#[tokio::test]
async fn a_waiting_reader_loses_nothing_when_it_is_dropped() {
    let (mut events, mut conn) = events_of(HEAD, 100).await;
    conn.write("7\r\ndata: o\r\n").await;
    let early = tokio::time::timeout(Duration::from_millis(1), events.next()).await;
    assert!(early.is_err());
    conn.write("4\r\nne\n\n\r\n").await;
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
}

#[tokio::test]
async fn a_stream_that_broke_never_looks_like_one_that_ended() {
    let (mut events, conn) = events_of(&format!("{HEAD}b\r\ndata: one\n\n\r\n"), 100).await;
    drop(conn);
    assert_eq!(events.next().await.unwrap().unwrap().data, "one");
    for _ in 0..2 {
        let broken = events.next().await;
        assert!(matches!(broken, Err(NetError::Broken { .. })), "{broken:?}");
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_is_reported_on_each_call() {
    let (mut events, _conn) = events_of(&chunked(&["data: 123456\n\n"]), 11).await;
    for _ in 0..2 {
        assert_eq!(events.next().await, Err(NetError::TooLarge { limit: 11 }));
    }
}

#[tokio::test]
async fn a_stream_of_many_small_events_can_have_a_total_limit() {
    let answer = chunked(&["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]);
    let (events, _conn) = events_of(&answer, 20).await;
    let mut events = events.with_total_limit(20);
    for data in ["1", "2"] {
        assert_eq!(events.next().await.unwrap().unwrap().data, data);
    }
    for _ in 0..2 {
        assert_eq!(events.next().await, Err(NetError::TooLarge { limit: 20 }));
    }
}

#[tokio::test]
async fn a_body_is_read_as_it_arrives_up_to_its_limit() {
    let peer = Peer::start().await;
    let client = HttpClient::new(Guard::dev(), ClientSettings::default());
    let answer = chunked(&["12", "34", "5"]);
    let (response, _conn) = tokio::join!(client.send(peer.post("/chat")), peer.answer_one(&answer));
    let mut chunks = response.unwrap().into_chunks(4);
    let mut received = Vec::new();
    let error = loop {
        match chunks.next().await {
            Ok(chunk) => received.extend(chunk.expect("it is cut off")),
            Err(error) => break error,
        }
    };
    assert_eq!(error, NetError::TooLarge { limit: 4 });
    assert!(b"1234".starts_with(&received), "{received:?}");
    assert_eq!(chunks.next().await, Err(error));
}

#[tokio::test]
async fn a_stream_on_which_nothing_comes_is_broken() {
    let (events, mut conn) = events_of(HEAD, 100).await;
    let mut events = events.with_idle_timeout(Duration::from_millis(50));
    conn.write("2\r\n:\n\r\n").await;
    let silent = events.next().await;
    assert!(matches!(&silent, Err(NetError::Broken { detail }) if detail.contains("50ms")), "{silent:?}");
}
