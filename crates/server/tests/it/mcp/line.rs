//! A client over a WebSocket: one message per frame, responses in any order.

use std::collections::VecDeque;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::client::{Ask, soon};
use crate::{
    knock::{Socket, knock},
    platform::Platform,
};

/// A socket of the door.
pub(crate) struct Line {
    socket: Socket,
    /// Messages received while waiting for another one.
    heard: VecDeque<Value>,
}

impl Line {
    /// Opens a socket with these headers.
    pub(crate) async fn open(p: &Platform, headers: &[(&str, &str)]) -> Self {
        let headers: Vec<_> = headers.iter().copied().chain([("sec-websocket-protocol", "mcp")]).collect();
        Self::over(soon(knock(p, "/mcp/ws", &headers)).await.unwrap())
    }

    /// A socket of this user, in dev mode.
    pub(crate) async fn of(p: &Platform, user: &str) -> Self {
        Self::open(p, &[("x-user-id", user)]).await
    }

    pub(crate) fn over(socket: Socket) -> Self {
        Self { socket, heard: VecDeque::new() }
    }

    pub(crate) async fn frame(&mut self, frame: Message) {
        self.socket.send(frame).await.unwrap();
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.frame(Message::text(message.to_string())).await;
    }

    /// Sends a request, and does not wait.
    pub(crate) async fn send(&mut self, ask: &Ask) {
        self.say(&ask.message()).await;
    }

    pub(crate) async fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({ "requestId": id.into() });
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }

    /// Sends a request, and waits for its answer.
    pub(crate) async fn ask(&mut self, ask: Ask) -> Value {
        self.send(&ask).await;
        self.answer(ask.id).await
    }

    /// The response with this id.
    pub(crate) async fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.hear(|message| message["id"] == id && message["method"].is_null()).await
    }

    /// The next notification of that kind.
    pub(crate) async fn told(&mut self, method: &str) -> Value {
        self.hear(|message| message["method"] == method).await
    }

    /// The first message that fits; the others stay for later.
    pub(crate) async fn hear(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.heard.iter().position(&fits) {
            return self.heard.remove(place).unwrap();
        }
        // Heartbeats arrive all the time, so the timeout is for the whole wait.
        soon(async {
            loop {
                let message = self.next().await.expect("the socket is open");
                if fits(&message) {
                    return message;
                }
                self.heard.push_back(message);
            }
        })
        .await
    }

    /// Received messages that no test step has consumed.
    pub(crate) fn unasked(&self) -> &VecDeque<Value> {
        &self.heard
    }

    /// The next message from the socket; none when it closes.
    async fn next(&mut self) -> Option<Value> {
        while let Some(Ok(frame)) = self.socket.next().await {
            match frame {
                Message::Text(text) => {
                    assert!(!text.contains(['\n', '\r']), "one message a line: {text}");
                    return Some(serde_json::from_str(&text).unwrap());
                }
                Message::Close(_) => return None,
                _ => {}
            }
        }
        None
    }

    /// Waits for the close and returns its code; earlier messages are kept.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        soon(async {
            while let Some(Ok(frame)) = self.socket.next().await {
                match frame {
                    Message::Text(text) => self.heard.push_back(serde_json::from_str(&text).unwrap()),
                    Message::Close(frame) => return frame.map(|frame| frame.code.into()),
                    _ => {}
                }
            }
            None
        })
        .await
    }
}
