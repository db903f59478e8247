//! The state of the legacy era between requests: sessions, requests of the server, and running calls.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::message::{AnswerStep, RequestEra, RpcFailure, UpstreamCall, level_rank};

/// How long the server waits for the response to its own request.
const ASK_WAIT: Duration = Duration::from_secs(30);

/// Running requests, so that `notifications/cancelled` finds them.
#[derive(Default)]
pub(super) struct RunningCalls(Mutex<HashMap<String, CancellationToken>>);

impl RunningCalls {
    pub(super) fn begin(&self, id: &Value, cancel: &CancellationToken) {
        self.0.lock().unwrap().insert(id.to_string(), cancel.clone());
    }

    pub(super) fn end(&self, id: &Value) {
        self.0.lock().unwrap().remove(&id.to_string());
    }

    /// Cancels a request; an unknown or finished one is ignored, as the specification requires.
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(cancel) = self.0.lock().unwrap().get(&id.to_string()) {
            cancel.cancel();
        }
    }
}

#[derive(Default)]
struct SessionMemory {
    level: usize,
    subscribed: BTreeSet<String>,
    stream: Option<mpsc::Sender<AnswerStep>>,
    next_ask: u64,
    asked: HashMap<u64, oneshot::Sender<Value>>,
    parked: HashMap<String, Value>,
}

/// One legacy session.
pub(super) struct LegacySession {
    pub(super) id: String,
    pub(super) version: String,
    pub(super) capabilities: Value,
    pub(super) running: RunningCalls,
    memory: Mutex<SessionMemory>,
}

impl LegacySession {
    pub(super) fn new(id: String, version: &str, capabilities: Value) -> Arc<Self> {
        Arc::new(Self {
            id,
            version: version.to_owned(),
            capabilities,
            running: RunningCalls::default(),
            memory: Mutex::default(),
        })
    }

    pub(super) fn log_level(&self) -> usize {
        self.memory.lock().unwrap().level
    }

    pub(super) fn set_level(&self, level: &str) {
        self.memory.lock().unwrap().level = level_rank(level);
    }

    pub(super) fn subscribe(&self, uri: &str) {
        self.memory.lock().unwrap().subscribed.insert(uri.to_owned());
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.memory.lock().unwrap().subscribed.remove(uri);
    }

    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.memory.lock().unwrap().subscribed.contains(uri)
    }

    /// Opens the stream for messages that belong to no request; an earlier one ends.
    pub(super) fn open_stream(&self, stream: mpsc::Sender<AnswerStep>) {
        self.memory.lock().unwrap().stream = Some(stream);
    }

    pub(super) fn close_stream(&self) {
        self.memory.lock().unwrap().stream = None;
    }

    pub(super) fn is_open(&self) -> bool {
        self.memory.lock().unwrap().stream.as_ref().is_some_and(|stream| !stream.is_closed())
    }

    /// Sends a message that belongs to no request; dropped if no stream is open.
    pub(super) fn push_message(&self, out: AnswerStep) {
        if let Some(stream) = &self.memory.lock().unwrap().stream {
            drop(stream.try_send(out));
        }
    }

    /// Keeps a response for a client that reconnects.
    pub(super) fn park_answer(&self, event: &str, message: Value) {
        self.memory.lock().unwrap().parked.insert(event.to_owned(), message);
    }

    pub(super) fn take_parked(&self, event: &str) -> Option<Value> {
        self.memory.lock().unwrap().parked.remove(event)
    }

    /// Receives the client's response to a request of the server.
    pub(super) fn receive_answer(&self, message: &Value) {
        let waiting = message["id"].as_u64().and_then(|id| self.memory.lock().unwrap().asked.remove(&id));
        if let Some(waiting) = waiting {
            drop(waiting.send(message.clone()));
        }
    }

    /// Ids are numbers from 0, as in the common SDK: they clash with the client's own ids.
    fn register_ask(&self) -> (u64, oneshot::Receiver<Value>) {
        let mut memory = self.memory.lock().unwrap();
        let id = memory.next_ask;
        memory.next_ask += 1;
        let (answer, answered) = oneshot::channel();
        memory.asked.insert(id, answer);
        (id, answered)
    }
}

/// Asks the client on the stream of the call, and waits for its response.
pub(super) async fn ask_client(
    call: &UpstreamCall,
    method: &str,
    params: Value,
) -> Result<Value, RpcFailure> {
    let RequestEra::Legacy(session) = &call.side else {
        return Err(RpcFailure::new(-32603, 200, "the modern era has no requests from the server"));
    };
    let (id, answered) = session.register_ask();
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    drop(call.out.send(AnswerStep::Message(message)).await);
    match tokio::time::timeout(ASK_WAIT, answered).await {
        Ok(Ok(message)) if message["error"].is_null() => Ok(message["result"].clone()),
        Ok(Ok(message)) => {
            Err(RpcFailure::new(-32603, 200, format!("the client refused {method}: {}", message["error"])))
        }
        Ok(Err(_)) | Err(_) => {
            Err(RpcFailure::new(-32603, 200, format!("the client did not answer {method}")))
        }
    }
}
