//! A scripted model over real HTTP: chat completions of OpenAI and compatible servers,
//! streamed or not, and the streams of Anthropic and Gemini. It can imitate the quirks of real servers.
//!
//! ```no_run
//! # use toolyard_testkit::model::{ScriptedReply, ScriptedModel};
//! # use serde_json::json;
//! # async fn test() {
//! let model = ScriptedModel::start().await;
//! model.queue_replies(vec![ScriptedReply::call("todo__add", json!({ "text": "tea" })), ScriptedReply::text("Added.")]);
//! // ... send requests to `model.url()` ...
//! assert_eq!(model.requests()[0].body["messages"][0]["content"], "add tea");
//! # }
//! ```

mod anthropic;
mod gemini;
mod openai;
mod reply;
mod server;

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{Notify, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use reply::{ScriptedReply, VendorQuirk};

/// How long a test waits for an event before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// One recorded request.
#[derive(Debug, Clone)]
pub struct RecordedModelRequest {
    /// Such as `/v1/chat/completions`.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, raw.
    pub raw: Bytes,
    /// Its body.
    pub body: Value,
}

#[derive(Default)]
struct ModelScript {
    replies: VecDeque<ScriptedReply>,
    always: Option<ScriptedReply>,
    gets: HashMap<String, Value>,
    seen: Vec<RecordedModelRequest>,
    other_requests: Vec<RecordedModelRequest>,
    abandoned: usize,
}

struct ModelState {
    script: Mutex<ModelScript>,
    changed: Notify,
    gate: Semaphore,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A local model server. Stops when dropped.
pub struct ScriptedModel {
    inner: Arc<ModelState>,
    address: SocketAddr,
}

impl ScriptedModel {
    /// Starts one without replies: a request without a queued reply gets a 500 that says so.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(ModelState {
            script: Mutex::default(),
            changed: Notify::new(),
            gate: Semaphore::new(0),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        inner.tasks.spawn(server::accept_loop(listener, inner.clone()));
        Self { inner, address }
    }

    /// Its base URL: scheme, host and port. `/v1` and `/v1beta` are below.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Queues the replies to the next requests.
    pub fn queue_replies(&self, replies: impl IntoIterator<Item = ScriptedReply>) {
        self.inner.script.lock().unwrap().replies.extend(replies);
    }

    /// Sets the reply for when the queue is empty.
    pub fn set_default_reply(&self, reply: ScriptedReply) {
        self.inner.script.lock().unwrap().always = Some(reply);
    }

    /// Sets the response for a path that is not a request to the model, such as `/v1/models` or `/api/tags`. The default is 404.
    pub fn serve_path(&self, path: &str, body: Value) {
        self.inner.script.lock().unwrap().gets.insert(path.to_owned(), body);
    }

    /// The requests to the model so far.
    pub fn requests(&self) -> Vec<RecordedModelRequest> {
        self.inner.script.lock().unwrap().seen.clone()
    }

    /// The other requests so far, such as for a list of models.
    pub fn other_requests(&self) -> Vec<RecordedModelRequest> {
        self.inner.script.lock().unwrap().other_requests.clone()
    }

    /// Waits for this many requests.
    pub async fn wait_requests(&self, times: usize) -> Vec<RecordedModelRequest> {
        self.wait_until(&format!("{times} questions"), || {
            Some(self.requests()).filter(|seen| seen.len() >= times)
        })
        .await
    }

    /// How many replies the client did not read to the end.
    pub fn abandoned(&self) -> usize {
        self.inner.script.lock().unwrap().abandoned
    }

    /// Waits until this many replies were abandoned.
    pub async fn wait_abandoned(&self, times: usize) {
        self.wait_until(&format!("{times} abandoned replies"), || (self.abandoned() >= times).then_some(()))
            .await;
    }

    /// Releases this many replies that wait at [`ScriptedReply::and_hold`] or [`ScriptedReply::hold_first`].
    pub fn release(&self, count: usize) {
        self.inner.gate.add_permits(count);
    }

    async fn wait_until<T>(&self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
        let waiting = async {
            loop {
                let mut changed = std::pin::pin!(self.inner.changed.notified());
                changed.as_mut().enable();
                if let Some(value) = ready() {
                    return value;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| panic!("timed out waiting for {what}"))
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}
