//! One client over one connection: a WebSocket or stdio. Requests are handled concurrently.
//!
//! Each request decides its era, as over HTTP. A handshake is valid for the whole connection.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolyard_protocol::{
    JsonLine,
    mcp::{RpcError, RpcMessage, message, method},
};

use super::{
    about, client::McpClientContext, dispatch::dispatch_request, listen::ChangeStream, modern,
    params::RpcParams,
};
use crate::{auth::CallerContext, state::ServerState};

/// Concurrent requests of one connection.
const MAX_UNDER_WAY: usize = 256;
/// Messages queued for a slow connection.
const QUEUE: usize = 256;

type PeerRequests = Arc<Mutex<HashMap<Box<str>, CancellationToken>>>;

/// A client over one connection. Dropping it cancels its requests.
pub(crate) struct McpPeer {
    state: ServerState,
    who: CallerContext,
    out: mpsc::Sender<JsonLine>,
    handshake: Option<McpClientContext>,
    under_way: PeerRequests,
    /// Requests, except the streams, which never end by themselves.
    work: TaskTracker,
    /// Change streams. They end when the server stops.
    streams: TaskTracker,
    closed: CancellationToken,
    _close_on_drop: DropGuard,
}

impl McpPeer {
    /// A client, and the queue of messages to send to it.
    pub(crate) fn new(state: ServerState, who: CallerContext) -> (Self, mpsc::Receiver<JsonLine>) {
        let (out, messages) = mpsc::channel(QUEUE);
        let over = CancellationToken::new();
        let ends = over.clone().drop_guard();
        (
            Self {
                state,
                who,
                out,
                handshake: None,
                under_way: Arc::default(),
                work: TaskTracker::new(),
                streams: TaskTracker::new(),
                closed: over,
                _close_on_drop: ends,
            },
            messages,
        )
    }

    /// Handles one message.
    pub(crate) async fn receive_message(&mut self, text: &[u8]) {
        match RpcMessage::parse(text) {
            Ok(RpcMessage::Request { id, method, params }) => {
                if let Err(error) = self.handle_request(id, &method, params).await {
                    self.send_or_close(message::write_error(Some(id), &error));
                }
            }
            Ok(RpcMessage::Notification { method, params }) => self.handle_notification(&method, params),
            // Only clients with a handshake get questions that are answered this way.
            Ok(RpcMessage::Response { .. }) if self.handshake.is_none() => {
                tracing::debug!("dropped response of mcp client without handshake");
            }
            Ok(RpcMessage::Response { id, outcome }) => {
                if let Some(id) = id {
                    self.state.mcp.questions.deliver_answer(&self.who.call_owner(), id, outcome);
                }
            }
            Err(refused) => self.send_or_close(message::write_error(refused.id.as_deref(), &refused.error)),
        }
    }

    async fn handle_request(
        &mut self,
        id: &RawValue,
        method_name: &str,
        params: Option<&RawValue>,
    ) -> Result<(), RpcError> {
        let params = RpcParams::from_raw(params)?;
        let client = if modern::looks_modern(&params, None) {
            modern::modern_client(self.who.clone(), &params, None)?
        } else if method_name == method::INITIALIZE {
            return self.handle_initialize(id, &params).await;
        } else {
            let none =
                || RpcError::new(RpcError::INVALID_REQUEST, "start with `initialize` or `server/discover`");
            self.handshake.clone().ok_or_else(none)?
        };
        let cancel = self.register_request(id)?;
        if method_name == method::LISTEN && client.is_modern() {
            self.spawn_listen(client, id.to_owned(), params, cancel);
        } else {
            self.spawn_request(client, id.to_owned(), method_name.to_owned(), params, cancel);
        }
        Ok(())
    }

    async fn handle_initialize(&mut self, id: &RawValue, params: &RpcParams) -> Result<(), RpcError> {
        if self.handshake.is_some() {
            return Err(RpcError::new(
                RpcError::INVALID_REQUEST,
                "this connection has completed its handshake already",
            ));
        }
        let (mut client, result) = about::accept_handshake(self.who.clone(), params)?;
        let mut nonce = [0; 12];
        self.state.ids.fill_random(&mut nonce);
        client.session = Some(hex::encode(nonce).into());
        let stream = ChangeStream::for_session(&self.state, &client).await?;
        self.handshake = Some(client);
        self.send_or_close(message::write_result(id, &result));
        let (out, over, stopping) = (self.out.clone(), self.closed.child_token(), self.stop_token());
        self.state.lifecycle.spawn(self.streams.track_future(forward_changes(stream, out, over, stopping)));
        Ok(())
    }

    fn stop_token(&self) -> CancellationToken {
        self.state.lifecycle.stopping.clone()
    }

    /// Registers a running request. The token cancels it.
    fn register_request(&self, id: &RawValue) -> Result<CancellationToken, RpcError> {
        let mut under_way = self.under_way.lock();
        if under_way.len() >= MAX_UNDER_WAY {
            let text =
                format!("{MAX_UNDER_WAY} requests are running on this connection; wait for one to finish");
            return Err(RpcError::new(RpcError::INVALID_REQUEST, text));
        }
        if under_way.contains_key(id.get()) {
            return Err(RpcError::new(RpcError::INVALID_REQUEST, "a request with this id is still running"));
        }
        let cancel = self.closed.child_token();
        under_way.insert(id.get().into(), cancel.clone());
        Ok(cancel)
    }

    fn spawn_request(
        &self,
        client: McpClientContext,
        id: Box<RawValue>,
        method_name: String,
        params: RpcParams,
        cancel: CancellationToken,
    ) {
        let (state, out, under_way) = (self.state.clone(), self.out.clone(), self.under_way.clone());
        let mut client = client;
        if let Some(session) = &client.session {
            // The level may have been set after the handshake.
            client.log_level = state.mcp.sessions.log_level(session);
        }
        let answering = self.work.track_future(async move {
            let answered = tokio::select! {
                answered = dispatch_request(&state, &client, &method_name, &params, &out) => Some(answered),
                () = cancel.cancelled() => None,
            };
            under_way.lock().remove(id.get());
            // A cancelled request gets no response.
            let message = match answered {
                Some(Ok(answer)) => {
                    String::from_utf8_lossy(&super::sse::result_envelope(&id, answer.as_bytes())).into_owned()
                }
                Some(Err(error)) => message::write_error(Some(&id), &error),
                None => return,
            };
            let _ = out.send(JsonLine::from_json(message)).await;
        });
        self.state.lifecycle.tasks.spawn(answering);
    }

    /// `subscriptions/listen`: runs until the client cancels it or the connection ends.
    fn spawn_listen(
        &self,
        client: McpClientContext,
        id: Box<RawValue>,
        params: RpcParams,
        cancel: CancellationToken,
    ) {
        let (state, out, under_way) = (self.state.clone(), self.out.clone(), self.under_way.clone());
        let stopping = self.stop_token();
        let listening = self.streams.track_future(async move {
            match ChangeStream::for_listen_request(&state, &client, &id, &params, &out).await {
                Ok(stream) => forward_changes(stream, out, cancel, stopping).await,
                Err(error) => {
                    drop(out.send(JsonLine::from_json(message::write_error(Some(&id), &error))).await)
                }
            }
            under_way.lock().remove(id.get());
        });
        self.state.lifecycle.spawn(listening);
    }

    fn handle_notification(&self, method_name: &str, params: Option<&RawValue>) {
        if method_name == method::CANCELLED
            && let Ok(params) = RpcParams::from_raw(params)
            && let Some(id) = params.raw("requestId")
            && let Some(cancel) = self.under_way.lock().remove(id.get())
        {
            cancel.cancel();
        }
    }

    /// Sends without waiting. Closes the connection if the client is so slow that the queue is full.
    fn send_or_close(&self, message: String) {
        if self.out.try_send(JsonLine::from_json(message)).is_err() {
            self.closed.cancel();
        }
    }

    /// Reports a message that exceeds the size limit.
    pub(crate) fn refuse_long(&self, limit: usize) {
        let text = format!("a message has at most {limit} bytes");
        self.send_or_close(message::write_error(None, &RpcError::new(RpcError::INVALID_REQUEST, text)));
    }

    /// Waits until the server stops and all requests and streams of this connection have ended.
    pub(crate) async fn wait_for_shutdown(&self) {
        self.stop_token().cancelled().await;
        self.wait_until_idle().await;
        self.streams.close();
        self.streams.wait().await;
    }

    /// Waits until no request is running.
    pub(crate) async fn wait_until_idle(&self) {
        self.work.close();
        self.work.wait().await;
    }

    /// Cancelled when the connection must close.
    pub(crate) fn close_token(&self) -> CancellationToken {
        self.closed.clone()
    }
}

async fn forward_changes(
    mut stream: ChangeStream,
    out: mpsc::Sender<JsonLine>,
    cancel: CancellationToken,
    stopping: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            biased;
            () = stopping.cancelled() => {
                if let Some(last) = stream.final_message() {
                    let _ = out.try_send(JsonLine::from_json(last));
                }
                return;
            }
            () = cancel.cancelled() => return,
            message = stream.next() => message,
        };
        if out.send(JsonLine::from_json(message)).await.is_err() {
            return;
        }
    }
}
