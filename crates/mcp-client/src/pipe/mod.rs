//! A process or a socket: one channel both ways, on which everything is mixed. Here it is sorted again.

mod line;
pub(crate) mod stdio;
pub(crate) mod websocket;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolyard_protocol::mcp::{Incoming, RpcError, method};

use crate::{
    ask::{OpenAsks, cancelled_id},
    error::ClientError,
    events::CloseReason,
    inbox::{Inbox, own_id, token_of},
    limits::MAX_OUTGOING,
    request::{Call, Leave},
    wire::Wire,
};

/// The requests that wait for an answer, and the way out.
pub(crate) struct Pipe {
    out: mpsc::Sender<Outgoing>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    asks: OpenAsks,
}

/// A message to write.
pub(crate) struct Outgoing {
    pub(crate) text: String,
    /// Set just before it is written.
    written: Arc<AtomicBool>,
}

impl Outgoing {
    /// From now on the server may have seen it.
    pub(crate) fn begin(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// It could not be written to its end, so the server has no message to act on.
    pub(crate) fn failed(&self) {
        self.written.store(false, Ordering::Release);
    }
}

struct Waiting {
    listens: bool,
    answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
    inbox: Inbox,
}

impl Pipe {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Outgoing>) {
        let (out, queue) = mpsc::channel(MAX_OUTGOING);
        (Self { out, waiting: Mutex::default(), asks: OpenAsks::default() }, queue)
    }

    /// One request and its result.
    pub(crate) async fn exchange(&self, wire: &Wire, call: Call) -> Result<Box<RawValue>, ClientError> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { listens: call.method == method::LISTEN, answer, inbox: call.inbox };
        self.waiting().insert(call.id, waiting);
        let written = Arc::new(AtomicBool::new(false));
        let mut leaving = Leaving { wire, pipe: self, id: call.id, tells: false };
        self.queue(call.text, written.clone(), wire).await?;
        leaving.tells = call.leave == Leave::Cancel;
        let stop = wire.hub().tasks.stop();
        let answer = tokio::select! {
            biased;
            answer = answered => answer.ok(),
            () = stop.cancelled() => None,
        };
        leaving.tells = false;
        match answer {
            Some(outcome) => outcome.map_err(ClientError::Rpc),
            None if !stop.is_cancelled() => {
                Err(ClientError::PerhapsSent("the server gave the request up".to_owned()))
            }
            None => Err(lost(wire.hub().reason(), written.load(Ordering::Acquire))),
        }
    }

    /// Something that gets no answer.
    pub(crate) async fn tell(&self, text: String) -> Result<(), ClientError> {
        let sent = self.out.send(Outgoing { text, written: Arc::default() }).await;
        sent.map_err(|_| ClientError::NotSent("the connection is closed".to_owned()))
    }

    async fn queue(&self, text: String, written: Arc<AtomicBool>, wire: &Wire) -> Result<(), ClientError> {
        let closed = || lost(wire.hub().reason(), false);
        tokio::select! {
            biased;
            () = wire.hub().tasks.stop().cancelled() => Err(closed()),
            sent = self.out.send(Outgoing { text, written }) => sent.map_err(|_| closed()),
        }
    }

    /// Takes one message. What cannot be read is passed over: it must not lose what comes after it.
    pub(crate) fn receive(&self, wire: &Wire, message: &[u8]) {
        match Incoming::read(message) {
            Ok(Incoming::Response { id, outcome }) => {
                let waiting = id.and_then(own_id).and_then(|id| self.waiting().remove(&id));
                match waiting {
                    Some(waiting) => drop(waiting.answer.send(outcome.map(RawValue::to_owned))),
                    None => tracing::debug!("an answer that nobody waits for was dropped"),
                }
            }
            Ok(Incoming::Request { id, method, params }) => {
                self.asks.take(wire, wire.hub().asks.as_ref(), id, &method, params);
            }
            Ok(Incoming::Notification { method, params }) => self.notified(wire, &method, params),
            Err(bad) => tracing::debug!(error = %bad.error, "something that is no message was passed over"),
        }
    }

    fn notified(&self, wire: &Wire, method: &str, params: Option<&RawValue>) {
        match (method, params) {
            (method::PROGRESS, Some(params)) => {
                let mut waiting = self.waiting();
                if let Some(waiting) = token_of(params).and_then(|token| waiting.get_mut(&token)) {
                    waiting.inbox.progress(params);
                }
            }
            (method::ACKNOWLEDGED, _) => {
                // There is one subscription at a time.
                self.waiting().values().filter(|waiting| waiting.listens).for_each(|w| w.inbox.stands());
            }
            (method::CANCELLED, Some(params)) => {
                // Ids of both sides may be the same. A modern server only ever ends a subscription by this.
                let listen = cancelled_id(params).and_then(own_id);
                let mut waiting = self.waiting();
                match listen.filter(|id| waiting.get(id).is_some_and(|waiting| waiting.listens)) {
                    Some(id) => drop(waiting.remove(&id)),
                    None => self.asks.cancel(Some(params)),
                }
            }
            (method::MESSAGE, Some(params)) => {
                if !self.log(params) {
                    wire.hub().log(params);
                }
            }
            (method, params) => wire.hub().notified(method, params),
        }
    }

    /// Passes a log message on to the requests under way. Nothing says whose it is: where they have several owners, one
    /// might read what belongs to another, and nobody gets it.
    fn log(&self, params: &RawValue) -> bool {
        let waiting = self.waiting();
        let mut owners = waiting.values().filter_map(|waiting| waiting.inbox.owner.as_deref());
        let Some(owner) = owners.next() else { return false };
        if owners.any(|other| other != owner) {
            return false;
        }
        let theirs = waiting.values().filter(|waiting| waiting.inbox.owner.is_some());
        theirs.filter(|waiting| waiting.inbox.log(params)).count() > 0
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection ended before an answer.
fn lost(reason: CloseReason, written: bool) -> ClientError {
    match (reason, written) {
        (CloseReason::Asked, _) => ClientError::Closed(CloseReason::Asked),
        (CloseReason::Lost(how), false) => ClientError::NotSent(how),
        (CloseReason::Lost(how), true) => ClientError::PerhapsSent(how),
    }
}

/// Takes a request out of those that wait, and tells the server where it is not done with it.
struct Leaving<'a> {
    wire: &'a Wire,
    pipe: &'a Pipe,
    id: u64,
    tells: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let unanswered = self.pipe.waiting().remove(&self.id).is_some();
        if unanswered && self.tells && !self.wire.hub().tasks.stop().is_cancelled() {
            self.wire.cancel(self.id);
        }
    }
}
