//! A model that says what a script tells it to, over real HTTP: chat completions as OpenAI and those like it write them,
//! streamed or whole, and the streams of Anthropic and Gemini. It can be as odd as the servers out there.
//!
//! ```no_run
//! # use toolyard_testkit::model::{Answer, ScriptedModel};
//! # use serde_json::json;
//! # async fn test() {
//! let model = ScriptedModel::start().await;
//! model.answers(vec![Answer::call("todo__add", json!({ "text": "tea" })), Answer::text("Added.")]);
//! // ... ask a model whose endpoint is `model.url()` ...
//! assert_eq!(model.seen()[0].body["messages"][0]["content"], "add tea");
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

/// How long a test waits for something to happen before it fails with a word on what.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that came in.
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
    answers: VecDeque<ScriptedReply>,
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

/// A model on this machine. Stops when dropped.
pub struct ScriptedModel {
    inner: Arc<ModelState>,
    address: SocketAddr,
}

impl ScriptedModel {
    /// Starts one that has nothing to say yet: a question that no answer is left for gets a 500 that says so.
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

    /// Where it answers: scheme, host and port. `/v1` and `/v1beta` are below.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it says to the next questions, one after the other.
    pub fn queue_replies(&self, answers: impl IntoIterator<Item = ScriptedReply>) {
        self.inner.script.lock().unwrap().answers.extend(answers);
    }

    /// What it says whenever no other answer is left.
    pub fn set_default_reply(&self, answer: ScriptedReply) {
        self.inner.script.lock().unwrap().always = Some(answer);
    }

    /// What a path answers that is no question to the model, such as `/v1/models` or `/api/tags`. Without it: 404.
    pub fn serve_path(&self, path: &str, body: Value) {
        self.inner.script.lock().unwrap().gets.insert(path.to_owned(), body);
    }

    /// The questions to the model so far.
    pub fn requests(&self) -> Vec<RecordedModelRequest> {
        self.inner.script.lock().unwrap().seen.clone()
    }

    /// The other requests so far, such as for a list of models.
    pub fn other_requests(&self) -> Vec<RecordedModelRequest> {
        self.inner.script.lock().unwrap().other_requests.clone()
    }

    /// Waits until there were so many questions.
    pub async fn wait_requests(&self, times: usize) -> Vec<RecordedModelRequest> {
        self.wait_until(&format!("{times} questions"), || {
            Some(self.requests()).filter(|seen| seen.len() >= times)
        })
        .await
    }

    /// How many answers were not heard to the end: whoever asked went away.
    pub fn abandoned(&self) -> usize {
        self.inner.script.lock().unwrap().abandoned
    }

    /// Waits until so many answers were left.
    pub async fn wait_abandoned(&self, times: usize) {
        self.wait_until(&format!("{times} answers to be left"), || (self.abandoned() >= times).then_some(()))
            .await;
    }

    /// Lets so many answers go on that wait at [`ScriptedReply::hold`] or [`ScriptedReply::hold_first`].
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
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}
