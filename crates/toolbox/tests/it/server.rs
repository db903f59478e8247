//! A hand-written HTTP/1.1 server: it answers one connection after the other with the responses of the test, and
//! records the requests.

use std::future::Future;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolyard_net::{ClientSettings, Guard, HttpClient};

pub(crate) struct Server {
    listener: TcpListener,
    pub(crate) url: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, url }
    }

    /// Runs a call while these responses are served; returns its outcome and the requests.
    pub(crate) async fn during<T>(
        &self,
        call: impl Future<Output = T>,
        answers: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> (T, Vec<String>) {
        let mut requests = Vec::new();
        // They stay open: a response ends by its length, and a connection is not reused before it was read.
        let mut open = Vec::new();
        let mut answers = answers.into_iter();
        let serving = async {
            loop {
                let (mut stream, _) = self.listener.accept().await.unwrap();
                requests.push(read(&mut stream).await);
                let Some(answer) = answers.next() else { panic!("one request too many: {requests:?}") };
                stream.write_all(answer.as_ref()).await.unwrap();
                open.push(stream);
            }
        };
        let outcome = tokio::select! {
            outcome = call => outcome,
            () = serving => unreachable!("it serves for ever"),
        };
        (outcome, requests)
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    while !is_whole(&text) {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        assert_ne!(read, 0, "the client closed within a request: {text:?}");
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    text
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A complete response; the connection closes after it.
pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

pub(crate) fn ok(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", &format!("content-type: {kind}\r\n"), body)
}

pub(crate) fn client(guard: &Guard) -> HttpClient {
    HttpClient::new(guard.clone(), ClientSettings::default())
}
