//! The platform's side: a server that accepts sockets and leaves the messages to the test.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket},
    },
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::{any, post},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::fixture::soon;

/// What came with an upload of tools, and what to answer.
type Upload = (HeaderMap, Value);

#[derive(Clone)]
struct Doors {
    sockets: mpsc::Sender<WebSocket>,
    uploads: mpsc::Sender<Upload>,
    answer: Arc<Mutex<(StatusCode, String)>>,
}

pub(crate) struct Platform {
    address: String,
    sockets: mpsc::Receiver<WebSocket>,
    pub(crate) uploads: mpsc::Receiver<Upload>,
    pub(crate) answer: Arc<Mutex<(StatusCode, String)>>,
    _serving: AbortOnDropHandle<()>,
}

impl Platform {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (socket, sockets) = mpsc::channel(8);
        let (upload, uploads) = mpsc::channel(8);
        let answer = Arc::new(Mutex::new((StatusCode::OK, String::new())));
        let doors = Doors { sockets: socket, uploads: upload, answer: Arc::clone(&answer) };
        let router = Router::new()
            .route("/app-ws", any(app_socket))
            .route("/api/apps/com.example.todo/tools", post(take_tools))
            .with_state(doors);
        let serving = TaskTracker::new().spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, sockets, uploads, answer, _serving: AbortOnDropHandle::new(serving) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn socket_url(&self) -> String {
        format!("ws://{}/app-ws", self.address)
    }

    /// The next socket that an app opens, before its first message.
    pub(crate) async fn accept(&mut self) -> Socket {
        Socket(soon(self.sockets.recv()).await.unwrap())
    }

    /// The next socket, acknowledged.
    pub(crate) async fn welcome(&mut self) -> Socket {
        let mut socket = self.accept().await;
        socket.hear("tpa_connection_init").await;
        socket.say(&json!({ "type": "tpa_connection_ack" })).await;
        socket
    }

    /// Whether no app has connected.
    pub(crate) fn is_alone(&mut self) -> bool {
        self.sockets.try_recv().is_err()
    }
}

async fn app_socket(State(doors): State<Doors>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|socket| async move { doors.sockets.send(socket).await.unwrap() })
}

async fn take_tools(State(doors): State<Doors>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    doors.uploads.send((headers, serde_json::from_slice(&body).unwrap())).await.unwrap();
    doors.answer.lock().await.clone()
}

/// One socket, on the side of the platform.
pub(crate) struct Socket(WebSocket);

impl Socket {
    /// The next message, which must be of that type.
    pub(crate) async fn hear(&mut self, kind: &str) -> Value {
        loop {
            match soon(self.0.recv()).await.unwrap().unwrap() {
                Message::Text(text) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(message["type"], kind, "{message}");
                    return message;
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// How the app closes.
    pub(crate) async fn hear_close(&mut self) -> u16 {
        loop {
            match soon(self.0.recv()).await.unwrap().unwrap() {
                Message::Close(frame) => return frame.unwrap().code,
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The answer to a ping.
    pub(crate) async fn ping(&mut self, payload: &'static str) -> Bytes {
        self.0.send(Message::Ping(payload.into())).await.unwrap();
        match soon(self.0.recv()).await.unwrap().unwrap() {
            Message::Pong(payload) => payload,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.0.send(Message::Text(message.to_string().into())).await.unwrap();
    }

    /// Says something to an app that may have gone.
    pub(crate) async fn try_say(&mut self, message: &Value) {
        let _ = self.0.send(Message::Text(message.to_string().into())).await;
    }

    /// The app's end of the socket is closed, properly or not.
    pub(crate) async fn hear_end(&mut self) {
        while let Some(Ok(_)) = soon(self.0.recv()).await {}
    }

    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        self.0.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await.unwrap();
    }
}
