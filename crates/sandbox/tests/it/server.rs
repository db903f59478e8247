//! A small server on this machine that returns what a test defines, and records its requests.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Server {
    /// `answer` gets the path.
    pub(crate) async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Answer> = Arc::new(answer);
        let seen = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(one(stream, Arc::clone(&seen), Arc::clone(&answer)));
            }
        });
        Self { address, requests, serving }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn one(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>, answer: Arc<Answer>) {
    let mut text = String::new();
    while !is_whole(&text) {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        if read == 0 {
            return;
        }
    }
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(text);
    let answer = answer(&path);
    if answer.is_empty() {
        // Never answers.
        std::future::pending::<()>().await;
    }
    let _ = stream.write_all(&answer).await;
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A complete response; the connection closes after it.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
        .into_bytes()
}
