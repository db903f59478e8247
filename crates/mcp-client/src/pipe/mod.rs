//! A process or a socket: one channel in both directions, which carries all messages. This module dispatches them.

pub(crate) mod stdio;
pub(crate) mod websocket;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolyard_protocol::mcp::{RpcError, RpcMessage, method};

use crate::{
    error::McpClientError,
    events::CloseReason,
    inbox::{RequestInbox, own_id, progress_token},
    limits::MAX_OUTGOING,
    request::{AbandonPolicy, PreparedRequest},
    server_request::{OpenServerRequests, cancelled_id},
    wire::McpConnection,
};

/// The pending requests, and the outgoing queue.
pub(crate) struct PipeConnection {
    out: mpsc::Sender<OutgoingMessage>,
    waiting: Mutex<HashMap<u64, PendingExchange>>,
    asks: OpenServerRequests,
}

/// A message to write.
pub(crate) struct OutgoingMessage {
    pub(crate) text: String,
    /// Set just before it is written.
    written: Arc<AtomicBool>,
}

impl OutgoingMessage {
    /// From now on the server may have received it.
    pub(crate) fn mark_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// It was not written completely, so the server has no message to act on.
    pub(crate) fn mark_unwritten(&self) {
        self.written.store(false, Ordering::Release);
    }
}

struct PendingExchange {
    listens: bool,
    answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
    inbox: RequestInbox,
}

impl PipeConnection {
    pub(crate) fn new() -> (Self, mpsc::Receiver<OutgoingMessage>) {
        let (out, queue) = mpsc::channel(MAX_OUTGOING);
        (Self { out, waiting: Mutex::default(), asks: OpenServerRequests::default() }, queue)
    }

    /// Sends one request and returns its result.
    pub(crate) async fn exchange(
        &self,
        wire: &McpConnection,
        call: PreparedRequest,
    ) -> Result<Box<RawValue>, McpClientError> {
        let (answer, answered) = oneshot::channel();
        let waiting = PendingExchange { listens: call.method == method::LISTEN, answer, inbox: call.inbox };
        self.lock_pending().insert(call.id, waiting);
        let written = Arc::new(AtomicBool::new(false));
        let mut leaving = PipeRequestGuard { wire, pipe: self, id: call.id, notifies_server: false };
        self.enqueue(call.text, written.clone(), wire).await?;
        leaving.notifies_server = call.on_abandon == AbandonPolicy::Cancel;
        let stop = wire.hub().tasks.stop_token();
        let answer = tokio::select! {
            biased;
            answer = answered => answer.ok(),
            () = stop.cancelled() => None,
        };
        leaving.notifies_server = false;
        match answer {
            Some(outcome) => outcome.map_err(McpClientError::Rpc),
            None if !stop.is_cancelled() => {
                Err(McpClientError::PerhapsSent("the server cancelled the request".to_owned()))
            }
            None => Err(lost_error(wire.hub().close_reason(), written.load(Ordering::Acquire))),
        }
    }

    /// Sends a message that gets no response.
    pub(crate) async fn send_message(&self, text: String) -> Result<(), McpClientError> {
        let sent = self.out.send(OutgoingMessage { text, written: Arc::default() }).await;
        sent.map_err(|_| McpClientError::NotSent("the connection is closed".to_owned()))
    }

    async fn enqueue(
        &self,
        text: String,
        written: Arc<AtomicBool>,
        wire: &McpConnection,
    ) -> Result<(), McpClientError> {
        let closed = || lost_error(wire.hub().close_reason(), false);
        tokio::select! {
            biased;
            () = wire.hub().tasks.stop_token().cancelled() => Err(closed()),
            sent = self.out.send(OutgoingMessage { text, written }) => sent.map_err(|_| closed()),
        }
    }

    /// Handles one message. Unreadable messages are skipped, so that the ones after them are not lost.
    pub(crate) fn handle_message(&self, wire: &McpConnection, message: &[u8]) {
        match RpcMessage::parse(message) {
            Ok(RpcMessage::Response { id, outcome }) => {
                let waiting = id.and_then(own_id).and_then(|id| self.lock_pending().remove(&id));
                match waiting {
                    Some(waiting) => drop(waiting.answer.send(outcome.map(RawValue::to_owned))),
                    None => tracing::debug!("response dropped: no pending request"),
                }
            }
            Ok(RpcMessage::Request { id, method, params }) => {
                self.asks.accept_request(wire, wire.hub().asks.as_ref(), id, &method, params);
            }
            Ok(RpcMessage::Notification { method, params }) => {
                self.dispatch_notification(wire, &method, params)
            }
            Err(bad) => tracing::debug!(error = %bad.error, "message skipped: not JSON-RPC"),
        }
    }

    fn dispatch_notification(&self, wire: &McpConnection, method: &str, params: Option<&RawValue>) {
        match (method, params) {
            (method::PROGRESS, Some(params)) => {
                let mut waiting = self.lock_pending();
                if let Some(waiting) = progress_token(params).and_then(|token| waiting.get_mut(&token)) {
                    waiting.inbox.forward_progress(params);
                }
            }
            (method::ACKNOWLEDGED, _) => {
                // There is one subscription at a time.
                self.lock_pending()
                    .values()
                    .filter(|waiting| waiting.listens)
                    .for_each(|w| w.inbox.notify_acknowledged());
            }
            (method::CANCELLED, Some(params)) => {
                // Both sides may use the same ids. Modern servers send this only to end a subscription.
                let listen = cancelled_id(params).and_then(own_id);
                let mut waiting = self.lock_pending();
                match listen.filter(|id| waiting.get(id).is_some_and(|waiting| waiting.listens)) {
                    Some(id) => drop(waiting.remove(&id)),
                    None => self.asks.cancel(Some(params)),
                }
            }
            (method::MESSAGE, Some(params)) => {
                if !self.forward_log(params) {
                    wire.hub().forward_log(params);
                }
            }
            (method, params) => wire.hub().dispatch_notification(method, params),
        }
    }

    /// Forwards a log message to the pending requests. It does not name its request: with several owners, one could
    /// read what belongs to another, so none receives it.
    fn forward_log(&self, params: &RawValue) -> bool {
        let waiting = self.lock_pending();
        let mut owners = waiting.values().filter_map(|waiting| waiting.inbox.owner.as_deref());
        let Some(owner) = owners.next() else { return false };
        if owners.any(|other| other != owner) {
            return false;
        }
        let theirs = waiting.values().filter(|waiting| waiting.inbox.owner.is_some());
        theirs.filter(|waiting| waiting.inbox.forward_log(params)).count() > 0
    }

    fn lock_pending(&self) -> MutexGuard<'_, HashMap<u64, PendingExchange>> {
        self.waiting.lock()
    }
}

/// The error of a request whose connection closed before the response.
fn lost_error(reason: CloseReason, written: bool) -> McpClientError {
    match (reason, written) {
        (CloseReason::Requested, _) => McpClientError::Closed(CloseReason::Requested),
        (CloseReason::Lost(how), false) => McpClientError::NotSent(how),
        (CloseReason::Lost(how), true) => McpClientError::PerhapsSent(how),
    }
}

/// Removes a request when dropped, and sends a cancellation if it was not answered.
struct PipeRequestGuard<'a> {
    wire: &'a McpConnection,
    pipe: &'a PipeConnection,
    id: u64,
    notifies_server: bool,
}

impl Drop for PipeRequestGuard<'_> {
    fn drop(&mut self) {
        let unanswered = self.pipe.lock_pending().remove(&self.id).is_some();
        if unanswered && self.notifies_server && !self.wire.hub().tasks.stop_token().is_cancelled() {
            self.wire.cancel_in_background(self.id);
        }
    }
}
