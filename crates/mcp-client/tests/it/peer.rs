//! A server that the test plays itself, request by request, for behavior that no fixture has.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(crate) struct Peer(TcpListener);

/// One unanswered request.
pub(crate) struct Got {
    stream: TcpStream,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Peer {
    pub(crate) async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.0.local_addr().unwrap())
    }

    /// The next request, whatever it is.
    pub(crate) async fn next(&self) -> Got {
        let (mut stream, _) = self.0.accept().await.unwrap();
        let mut text = String::new();
        loop {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).await.unwrap();
            text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                let (head, body) = (head.to_owned(), serde_json::from_str(body).unwrap_or_default());
                return Got { stream, head, body };
            }
        }
    }

    /// Plays the handshake, with a session.
    pub(crate) async fn handshake(&self, capabilities: Value) {
        let opens = self.next().await;
        assert_eq!(opens.body["method"], "initialize");
        opens
            .answer(json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
                "serverInfo": { "name": "peer", "version": "1" } }))
            .await;
        self.next().await.status("202 Accepted", "").await;
    }
}

impl Got {
    pub(crate) fn verb(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    /// Sends a result.
    pub(crate) async fn answer(self, result: Value) {
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }).to_string();
        let head = "content-type: application/json\r\nmcp-session-id: s\r\n";
        self.whole("200 OK", head, &body).await;
    }

    pub(crate) async fn status(self, status: &str, head: &str) {
        self.whole(status, head, "").await;
    }

    async fn whole(mut self, status: &str, head: &str, body: &str) {
        let text = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{head}\r\n{body}",
            body.len()
        );
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Starts a stream; everything written to it is sent unchanged.
    pub(crate) async fn stream(mut self) -> Stream {
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        self.stream.write_all(head.as_bytes()).await.unwrap();
        Stream(self.stream)
    }
}

/// An event stream, open as long as it is held.
pub(crate) struct Stream(TcpStream);

impl Stream {
    pub(crate) async fn event(&mut self, message: &Value) {
        self.0.write_all(format!("data: {message}\n\n").as_bytes()).await.unwrap();
    }
}
