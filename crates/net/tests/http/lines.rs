//! Reading a response line by line.

use crate::peer::{Conn, Peer, chunked, ok};
use toolyard_net::{ClientSettings, Guard, HttpClient, NetError, ResponseLines};

async fn lines_of(answer: &str, line_limit: usize, total_limit: usize) -> (ResponseLines, Conn) {
    let peer = Peer::start().await;
    let client = HttpClient::new(Guard::dev(), ClientSettings::default());
    let (response, conn) = tokio::join!(client.send(peer.post("/tool")), peer.answer_one(answer));
    (response.unwrap().into_lines(line_limit, total_limit), conn)
}

async fn all(answer: &str, line_limit: usize, total_limit: usize) -> Result<Vec<String>, NetError> {
    let (mut lines, conn) = lines_of(answer, line_limit, total_limit).await;
    drop(conn);
    let mut found = Vec::new();
    while let Some(line) = lines.next().await? {
        found.push(String::from_utf8(line.into()).unwrap());
    }
    Ok(found)
}

#[tokio::test]
async fn lines_are_found_however_they_are_cut() {
    for answer in [
        ok("{\"a\":1}\n{\"b\":2}\n"),
        ok("{\"a\":1}\n{\"b\":2}"),
        ok("\n{\"a\":1}\r\n\r\n\n{\"b\":2}\r\n\n"),
        chunked(&["{\"a\":1}\n", "{\"b\":2}\n"]),
        chunked(&["{\"a", "\":1}", "\n{\"b\":", "2}"]),
        chunked(&["{\"a\":1}\r", "\n{\"b\":2}\r"]),
    ] {
        assert_eq!(all(&answer, 100, 100).await.unwrap(), ["{\"a\":1}", "{\"b\":2}"], "{answer:?}");
    }
    assert!(all(&ok(""), 1, 1).await.unwrap().is_empty());
    assert!(all(&ok("\n\r\n"), 1, 3).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_line_is_there_before_the_answer_ends() {
    let (mut lines, mut conn) =
        lines_of("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nfirst\n\r\n", 100, 100).await;
    assert_eq!(lines.next().await.unwrap().unwrap(), "first");
    conn.write("7\r\nsecond\n\r\n0\r\n\r\n").await;
    assert_eq!(lines.next().await.unwrap().unwrap(), "second");
    assert_eq!(lines.next().await, Ok(None));
    assert_eq!(lines.next().await, Ok(None));
}

#[tokio::test]
async fn a_dropped_wait_loses_nothing() {
    let (mut lines, mut conn) =
        lines_of("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n", 100, 100).await;
    tokio::select! {
        biased;
        line = lines.next() => panic!("{line:?}"),
        () = tokio::task::yield_now() => {}
    }
    conn.write("5\r\n-way\n\r\n0\r\n\r\n").await;
    assert_eq!(lines.next().await.unwrap().unwrap(), "half-way");
}

#[tokio::test]
async fn a_line_over_the_limit_is_too_large() {
    let too_large = Err(NetError::TooLarge { limit: 5 });
    assert_eq!(all(&chunked(&["12345\n12345"]), 5, 100).await.unwrap().len(), 2);
    for chunks in [&["12345\n123456\n"][..], &["123456"], &["123", "456"], &["123", "456\n"], &["12345\r\n"]]
    {
        assert_eq!(all(&chunked(chunks), 5, 100).await, too_large, "{chunks:?}");
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_too_large() {
    assert_eq!(all(&ok("1\n2\n3\n"), 5, 6).await.unwrap().len(), 3);
    assert_eq!(all(&chunked(&["1\n", "2\n", "3\n"]), 5, 6).await.unwrap().len(), 3);
    assert_eq!(all(&ok("1\n2\n3\n"), 5, 5).await, Err(NetError::TooLarge { limit: 5 }));
    assert_eq!(all(&chunked(&["1\n", "2\n", "3\n"]), 5, 5).await, Err(NetError::TooLarge { limit: 5 }));
    // Empty lines count too.
    assert_eq!(all(&chunked(&["\n\n\n", "\n\n\n"]), 5, 5).await, Err(NetError::TooLarge { limit: 5 }));
}

#[tokio::test]
async fn an_answer_that_announces_too_much_is_not_waited_for() {
    let (mut lines, _conn) = lines_of("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n", 5, 5).await;
    assert_eq!(lines.next().await, Err(NetError::TooLarge { limit: 5 }));
}

#[tokio::test]
async fn an_answer_that_broke_never_looks_like_one_that_ended() {
    let (mut lines, conn) =
        lines_of("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nfirst\nsec\r\n", 100, 100).await;
    drop(conn);
    assert_eq!(lines.next().await.unwrap().unwrap(), "first");
    for _ in 0..2 {
        let broken = lines.next().await;
        assert!(matches!(broken, Err(NetError::Broken { .. })), "{broken:?}");
    }
}
