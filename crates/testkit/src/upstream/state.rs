//! The shared state of the transports and the handle: offered lists, recorded messages, listeners.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    UpstreamOptions,
    faults::FaultQueue,
    jobs::JobTable,
    listen::ListenerTable,
    message::{MODERN, UpstreamCall},
    seal::StateSeal,
    sessions::LegacySession,
};

/// Maximum number of recorded messages; later ones are not recorded.
const MAX_SEEN: usize = 10_000;

/// How long a test waits for an event before it fails.
const WAIT: Duration = Duration::from_secs(30);

/// One recorded message.
#[derive(Debug, Clone)]
pub struct RecordedMessage {
    /// The JSON-RPC method; `GET` and `DELETE` for those verbs, `answer` for the response to a request of the upstream.
    pub method: String,
    /// Its id; null in a notification.
    pub id: Value,
    /// Its parameters.
    pub params: Value,
    /// Its headers; none over stdio.
    pub headers: HeaderMap,
    /// The whole message, as received.
    pub raw: Bytes,
}

impl RecordedMessage {
    /// Records a message, as far as it can be parsed.
    pub(super) fn from_message(headers: &HeaderMap, raw: &Bytes, message: &Value) -> Self {
        let method = message["method"].as_str().unwrap_or("answer").to_owned();
        let (id, params) = (message["id"].clone(), message["params"].clone());
        Self { method, id, params, headers: headers.clone(), raw: raw.clone() }
    }

    /// The `_meta` of its parameters.
    pub fn meta(&self) -> &Value {
        &self.params["_meta"]
    }

    /// A header, if it exists and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// How the upstream learned of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelSignal {
    /// The response was closed: the way of the modern era over HTTP.
    Closed,
    /// `notifications/cancelled`.
    Notified,
}

/// A request that the client cancelled before its response.
#[derive(Debug, Clone)]
pub struct CancelledRequest {
    /// Its method.
    pub method: String,
    /// The tool, prompt or resource that it named.
    pub name: String,
    /// Its id.
    pub id: Value,
    /// How it was cancelled.
    pub how: CancelSignal,
}

/// A list that clients can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

/// The current lists. `None` is not offered at all.
pub(super) struct OfferedLists {
    pub(super) tools: Option<Vec<Value>>,
    pub(super) prompts: Option<Vec<Value>>,
    pub(super) resources: Option<Vec<Value>>,
    pub(super) templates: Option<Vec<Value>>,
}

impl OfferedLists {
    pub(super) fn items(&self, list: OfferListKind) -> &Option<Vec<Value>> {
        match list {
            OfferListKind::Tools => &self.tools,
            OfferListKind::Prompts => &self.prompts,
            OfferListKind::Resources => &self.resources,
            OfferListKind::Templates => &self.templates,
        }
    }

    pub(super) fn set(&mut self, list: OfferListKind, items: Vec<Value>) {
        *match list {
            OfferListKind::Tools => &mut self.tools,
            OfferListKind::Prompts => &mut self.prompts,
            OfferListKind::Resources => &mut self.resources,
            OfferListKind::Templates => &mut self.templates,
        } = Some(items);
    }

    /// The item with this name or URI.
    pub(super) fn find_item(&self, list: OfferListKind, name: &str) -> Option<Value> {
        let key = if list == OfferListKind::Resources { "uri" } else { "name" };
        self.items(list).iter().flatten().find(|item| item[key] == name).cloned()
    }

    /// Adds the item, or removes it if it exists.
    pub(super) fn toggle_item(&mut self, list: OfferListKind, item: Value) {
        let mut items = self.items(list).clone().unwrap_or_default();
        let before = items.len();
        items.retain(|known| known["name"] != item["name"]);
        if items.len() == before {
            items.push(item);
        }
        self.set(list, items);
    }
}

/// The mutable state.
pub(super) struct UpstreamScript {
    pub(super) options: UpstreamOptions,
    pub(super) lists: OfferedLists,
    pub(super) orders: FaultQueue,
    pub(super) seen: Vec<RecordedMessage>,
    pub(super) cancelled: Vec<CancelledRequest>,
    pub(super) sessions: HashMap<String, Arc<LegacySession>>,
}

pub(super) struct UpstreamShared {
    pub(super) script: Mutex<UpstreamScript>,
    pub(super) listeners: ListenerTable,
    pub(super) changed: Notify,
    pub(super) gate: Semaphore,
    pub(super) seal: StateSeal,
    pub(super) jobs: JobTable,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    numbers: AtomicU64,
}

impl UpstreamShared {
    pub(super) fn new(options: UpstreamOptions) -> Arc<Self> {
        let lists = options.fixtures.initial_lists();
        Arc::new(Self {
            script: Mutex::new(UpstreamScript {
                options,
                lists,
                orders: FaultQueue::default(),
                seen: Vec::new(),
                cancelled: Vec::new(),
                sessions: HashMap::new(),
            }),
            listeners: ListenerTable::default(),
            changed: Notify::new(),
            gate: Semaphore::new(0),
            seal: StateSeal::default(),
            jobs: JobTable::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            numbers: AtomicU64::new(1),
        })
    }

    /// A new unique number.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn options(&self) -> UpstreamOptions {
        self.script.lock().unwrap().options.clone()
    }

    pub(super) fn server_info(&self) -> Value {
        json!({ "name": self.script.lock().unwrap().options.name, "version": "1.0.0" })
    }

    /// The capabilities of the upstream, derived from its lists.
    pub(super) fn capabilities(&self) -> Value {
        let script = self.script.lock().unwrap();
        let mut can = json!({ "logging": {} });
        if script.lists.tools.is_some() {
            can["tools"] = json!({ "listChanged": true });
        }
        if script.lists.prompts.is_some() {
            can["prompts"] = json!({ "listChanged": true });
            can["completions"] = json!({});
        }
        if script.lists.resources.is_some() || script.lists.templates.is_some() {
            can["resources"] = json!({ "listChanged": true, "subscribe": true });
        }
        can
    }

    pub(super) fn record_message(&self, seen: RecordedMessage) {
        let mut script = self.script.lock().unwrap();
        if script.seen.len() < MAX_SEEN {
            script.seen.push(seen);
        }
        drop(script);
        self.changed.notify_waiters();
    }

    pub(super) fn record_cancelled(&self, call: &UpstreamCall, how: CancelSignal) {
        let cancelled = CancelledRequest {
            method: call.method.clone(),
            name: call.target().to_owned(),
            id: call.id.clone(),
            how,
        };
        self.script.lock().unwrap().cancelled.push(cancelled);
        self.changed.notify_waiters();
    }

    /// The id of a new HTTP session; empty if session ids are disabled.
    pub(super) fn session_id(&self) -> String {
        let number = self.next_number();
        if self.options().session_ids {
            format!("session-{number}-{:016x}", self.seal.keyed_hash(&["session"]))
        } else {
            String::new()
        }
    }

    /// Opens a legacy session for an `initialize` request.
    pub(super) fn open_session(&self, id: String, params: &Value) -> Arc<LegacySession> {
        let mut script = self.script.lock().unwrap();
        let versions = script.options.era.versions();
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let mut handshakes = versions.iter().copied().filter(|version| *version != MODERN);
        let newest = handshakes.clone().next().unwrap_or_default();
        let version = handshakes.find(|version| *version == asked).unwrap_or(newest);
        let session = LegacySession::new(id.clone(), version, params["capabilities"].clone());
        script.sessions.insert(id, session.clone());
        session
    }

    pub(super) fn find_session(&self, id: &str) -> Option<Arc<LegacySession>> {
        self.script.lock().unwrap().sessions.get(id).cloned()
    }

    pub(super) fn end_session(&self, id: &str) -> bool {
        let ended = self.script.lock().unwrap().sessions.remove(id);
        if let Some(session) = &ended {
            session.close_stream();
        }
        ended.is_some()
    }

    /// Waits until there is something to return; fails the test after a timeout.
    pub(super) async fn wait_until<T>(&self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if let Some(value) = ready() {
                    return value;
                }
                changed.await;
            }
        };
        tokio::time::timeout(WAIT, waiting)
            .await
            .unwrap_or_else(|_| panic!("the upstream timed out waiting for {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_requests_are_remembered() {
        let inner = UpstreamShared::new(UpstreamOptions::default());
        let message = json!({ "method": "ping" });
        for _ in 0..=MAX_SEEN {
            inner.record_message(RecordedMessage::from_message(&HeaderMap::new(), &Bytes::new(), &message));
        }
        assert_eq!(inner.script.lock().unwrap().seen.len(), MAX_SEEN);
    }
}
