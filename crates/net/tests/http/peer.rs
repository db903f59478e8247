//! A hand-written HTTP/1.1 peer, so that a test decides which bytes arrive when, and sees when a connection ends.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Peer {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// One connection to the peer, seen from its side.
pub(crate) struct Conn(TcpStream);

impl Peer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    pub(crate) fn post(&self, path: &str) -> Request<Full<Bytes>> {
        post(&format!("http://{}{path}", self.address))
    }

    pub(crate) async fn accept(&self) -> Conn {
        Conn(self.listener.accept().await.unwrap().0)
    }

    /// A new connection on which one request is read and answered.
    pub(crate) async fn answer_one(&self, answer: impl AsRef<str>) -> Conn {
        let mut conn = self.accept().await;
        conn.request().await;
        conn.write(answer.as_ref()).await;
        conn
    }
}

impl Conn {
    /// Head and body of the next request.
    pub(crate) async fn request(&mut self) -> String {
        let mut text = String::new();
        while !is_whole(&text) {
            let mut buffer = [0; 4096];
            let read = self.0.read(&mut buffer).await.unwrap();
            assert_ne!(read, 0, "the client closed within a request: {text:?}");
            text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
        text
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Closes the sending side.
    pub(crate) async fn finish(&mut self) {
        self.0.shutdown().await.unwrap();
    }

    /// Returns when the client has closed; anything it sends before is an error.
    pub(crate) async fn closed(&mut self) {
        let mut buffer = [0; 64];
        match self.0.read(&mut buffer).await {
            // A reset counts as a close: the client had unread bytes.
            Ok(0) | Err(_) => {}
            Ok(read) => panic!("the client sent {:?}", String::from_utf8_lossy(&buffer[..read])),
        }
    }

    /// Whether the client has closed, without waiting.
    pub(crate) fn is_closed(&self) -> bool {
        match self.0.try_read(&mut [0; 64]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A request with a small body.
pub(crate) fn post(uri: &str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::from_static(b"{}"));
    Request::builder().method(Method::POST).uri(uri).body(body).unwrap()
}

/// A complete response.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A complete response in chunks, without a length in its head.
pub(crate) fn chunked(chunks: &[&str]) -> String {
    let mut text = String::from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    for chunk in chunks {
        text.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    }
    text + "0\r\n\r\n"
}
