//! An MCP server with configurable faults, in both eras, over HTTP and pipes.
//!
//! It is the upstream in tests of our client and gateway and, with [`FixtureSet::Conformance`], the server behind the
//! gateway when the official conformance suite runs. It is hand-written, so that it can also be wrong on purpose.
//! The binary `fixture-upstream` is the same server as a process.

mod checks;
mod conformance;
mod faults;
mod http;
mod jobs;
mod listen;
mod message;
mod prompts;
mod questions;
pub mod quirks;
mod resources;
mod seal;
mod serve;
mod sessions;
mod sse;
mod state;
mod stdio;
mod tools;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

pub use faults::{InjectedFault, RequestMatch};
pub use message::{LEGACY, MODERN};
pub use state::{CancelSignal, CancelledRequest, OfferListKind, RecordedMessage};

use state::{OfferedLists, UpstreamShared};

/// Buffer size of a pipe in bytes.
const PIPE: usize = 64 * 1024;

/// The revisions that the upstream supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamEra {
    /// All of them.
    Both,
    /// Only the revision without a handshake.
    Modern,
    /// Only the revisions with one.
    Legacy,
    /// Only this revision.
    Only(&'static str),
}

impl UpstreamEra {
    fn versions(self) -> Vec<&'static str> {
        match self {
            Self::Both => [MODERN].into_iter().chain(LEGACY).collect(),
            Self::Modern => vec![MODERN],
            Self::Legacy => LEGACY.to_vec(),
            Self::Only(version) => vec![version],
        }
    }

    fn handshakes(self) -> Vec<&'static str> {
        self.versions().into_iter().filter(|version| *version != MODERN).collect()
    }
}

/// What the upstream offers at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixtureSet {
    /// A few plain tools: `echo`, `add`, `fail`, `steps`. No prompts, no resources.
    Echo,
    /// Everything that the conformance suite calls by name.
    Conformance,
}

impl FixtureSet {
    fn initial_lists(self) -> OfferedLists {
        match self {
            Self::Echo => OfferedLists {
                tools: Some(tools::echo_tools()),
                prompts: None,
                resources: None,
                templates: None,
            },
            Self::Conformance => OfferedLists {
                tools: Some([conformance::conformance_tools(), jobs::job_tools()].concat()),
                prompts: Some(prompts::prompt_definitions()),
                resources: Some(resources::resource_definitions()),
                templates: Some(resources::template_definitions()),
            },
        }
    }
}

/// The response to an unknown session, such as after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleSession {
    /// The HTTP status; 200 is an ordinary response with an error in it.
    pub status: u16,
    /// The JSON-RPC error; `None` is an empty body.
    pub error: Option<(i64, &'static str)>,
}

impl StaleSession {
    /// As in the specification.
    pub const NOT_FOUND: Self = Self { status: 404, error: Some((-32001, "Session not found")) };
    /// As in the examples of the TypeScript SDK, and in servers derived from them.
    pub const NO_VALID_ID: Self =
        Self { status: 400, error: Some((-32000, "Bad Request: No valid session ID provided")) };
    /// Every variant seen in practice, including those above.
    pub const ALL: [Self; 10] = [
        Self::NOT_FOUND,
        Self::NO_VALID_ID,
        Self { status: 400, error: Some((-32000, "Bad Request: Server not initialized")) },
        Self { status: 400, error: Some((-32600, "Bad Request")) },
        Self { status: 400, error: None },
        Self { status: 401, error: None },
        Self { status: 403, error: None },
        Self { status: 410, error: None },
        Self { status: 200, error: Some((-32001, "Session not found")) },
        Self { status: 200, error: Some((-32002, "Server not initialized")) },
    ];
    /// The response of servers that do not expect it: something may have run.
    pub const CRASH: Self = Self { status: 500, error: Some((-32603, "Internal server error")) };
}

/// The configuration of the upstream.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// Its name in `serverInfo`.
    pub name: String,
    /// The revisions it supports.
    pub era: UpstreamEra,
    /// What it offers.
    pub fixtures: FixtureSet,
    /// Its instructions for models.
    pub instructions: String,
    /// Items per page of a list; `None` for all on one page.
    pub page_size: Option<usize>,
    /// Responds with a stream even for a single message, as the common SDK does.
    pub always_sse: bool,
    /// Issues session ids in the legacy era.
    pub session_ids: bool,
    /// The response to an unknown session.
    pub stale_session: StaleSession,
    /// Requires this bearer token on every request.
    pub bearer: Option<String>,
    /// Requires this header on every request.
    pub header: Option<(String, String)>,
    /// How long its lists may be cached.
    pub ttl_ms: u64,
    /// `private` or `public`
    pub cache_scope: &'static str,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            name: "fixture-upstream".to_owned(),
            era: UpstreamEra::Both,
            fixtures: FixtureSet::Echo,
            instructions: "A server for tests.".to_owned(),
            page_size: None,
            always_sse: false,
            session_ids: true,
            stale_session: StaleSession::NOT_FOUND,
            bearer: None,
            header: None,
            ttl_ms: 0,
            cache_scope: "private",
        }
    }
}

/// The HTTP listener, while it is up.
struct HttpFront {
    up: CancellationToken,
    accepting: JoinHandle<()>,
}

/// A local upstream. Stops when dropped.
pub struct FakeUpstream {
    inner: Arc<UpstreamShared>,
    address: SocketAddr,
    front: Mutex<Option<HttpFront>>,
}

impl FakeUpstream {
    /// Starts one with a few plain tools and both eras.
    pub async fn start() -> Self {
        Self::start_with(UpstreamOptions::default()).await
    }

    /// Starts one with these options.
    pub async fn start_with(options: UpstreamOptions) -> Self {
        Self::start_at("127.0.0.1:0", options).await
    }

    /// Starts one at an address.
    pub async fn start_at(address: &str, options: UpstreamOptions) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let upstream = Self { inner: UpstreamShared::new(options), address, front: Mutex::default() };
        upstream.listen_on(listener);
        upstream
    }

    fn listen_on(&self, listener: TcpListener) {
        let up = self.inner.stop.child_token();
        let accepting = self.inner.tasks.spawn(http::accept_loop(listener, self.inner.clone(), up.clone()));
        *self.front.lock().unwrap() = Some(HttpFront { up, accepting });
    }

    /// Its HTTP URL.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, http::PATH)
    }

    /// A pipe that works like stdio; any number can be open.
    pub fn pipe(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        self.inner.tasks.spawn(stdio::serve_pipe(self.inner.clone(), input, output));
        near
    }

    /// Serves stdio until the input ends. No listener is needed.
    pub async fn serve_stdio(
        options: UpstreamOptions,
        orders: Vec<(RequestMatch, InjectedFault)>,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) {
        let inner = UpstreamShared::new(options);
        for (on, behave) in orders {
            inner.script.lock().unwrap().orders.add(on, behave);
        }
        stdio::serve_pipe(inner, input, output).await;
    }

    /// The path of the binary `fixture-upstream`, for tests that start a process. It is next to the folder of the test
    /// binaries once the workspace is built with all targets.
    pub fn binary_path() -> PathBuf {
        let test = std::env::current_exe().expect("the test knows where it is");
        let target = test.parent().and_then(|deps| deps.parent()).expect("tests run in target/*/deps");
        let binary = target.join(format!("fixture-upstream{}", std::env::consts::EXE_SUFFIX));
        assert!(binary.exists(), "build it first: cargo build -p toolyard-testkit --bin fixture-upstream");
        binary
    }

    /// Changes its options. Lists stay unchanged.
    pub fn change_options(&self, change: impl FnOnce(&mut UpstreamOptions)) {
        change(&mut self.inner.script.lock().unwrap().options);
    }

    /// Replaces the items of a list, without checks and without a notification. A list that was not offered is offered now.
    pub fn set_list(&self, list: OfferListKind, items: Vec<Value>) {
        self.inner.script.lock().unwrap().lists.set(list, items);
    }

    /// Notifies all subscribers that a list changed.
    pub fn announce_list(&self, list: OfferListKind) {
        self.inner.announce_list(list);
    }

    /// Notifies all subscribers of a resource that it changed.
    pub fn announce_resource(&self, uri: &str) {
        self.inner.announce_resource(uri);
    }

    /// The current items of a list.
    pub fn list_items(&self, list: OfferListKind) -> Vec<Value> {
        self.inner.script.lock().unwrap().lists.items(list).clone().unwrap_or_default()
    }

    /// Injects a fault. The latest one that matches a request applies.
    pub fn inject_fault(&self, on: RequestMatch, behave: InjectedFault) {
        self.inner.script.lock().unwrap().orders.add(on, behave);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.inner.script.lock().unwrap().orders.clear();
    }

    /// Releases this many held requests, or steps of the tool `steps`.
    pub fn let_through(&self, count: usize) {
        self.inner.gate.add_permits(count);
    }

    /// The messages of a method so far.
    pub fn messages(&self, method: &str) -> Vec<RecordedMessage> {
        let script = self.inner.script.lock().unwrap();
        script.seen.iter().filter(|seen| seen.method == method).cloned().collect()
    }

    /// The methods of all messages so far, in order.
    pub fn methods(&self) -> Vec<String> {
        self.inner.script.lock().unwrap().seen.iter().map(|seen| seen.method.clone()).collect()
    }

    /// Waits for this many messages of a method.
    pub async fn wait_messages(&self, method: &str, times: usize) -> Vec<RecordedMessage> {
        let ready = || Some(self.messages(method)).filter(|seen| seen.len() >= times);
        self.inner.wait_until(&format!("{method} {times} times"), ready).await
    }

    /// The requests that the client has cancelled so far.
    pub fn cancelled(&self) -> Vec<CancelledRequest> {
        self.inner.script.lock().unwrap().cancelled.clone()
    }

    /// Waits until the client has cancelled this many requests.
    pub async fn wait_cancelled(&self, times: usize) -> Vec<CancelledRequest> {
        let ready = || Some(self.cancelled()).filter(|cancelled| cancelled.len() >= times);
        self.inner.wait_until(&format!("{times} cancelled"), ready).await
    }

    /// Number of open streams that receive change notifications.
    pub fn listening_count(&self) -> usize {
        self.inner.listening_count()
    }

    /// Waits until at least this many streams receive change notifications.
    pub async fn wait_listening(&self, streams: usize) {
        let ready = || (self.listening_count() >= streams).then_some(());
        self.inner.wait_until(&format!("{streams} listening streams"), ready).await;
    }

    /// Ends the notification streams properly.
    pub fn end_listening(&self) {
        self.inner.end_listening();
    }

    /// Breaks the notification streams.
    pub fn cut_listening(&self) {
        self.inner.cut_listening();
    }

    /// Number of open legacy sessions.
    pub fn session_count(&self) -> usize {
        self.inner.script.lock().unwrap().sessions.len()
    }

    /// Forgets all legacy sessions, as a restart does: their ids become unknown.
    pub fn forget_sessions(&self) {
        let ids: Vec<_> = self.inner.script.lock().unwrap().sessions.keys().cloned().collect();
        for id in ids {
            self.inner.end_session(&id);
        }
    }

    /// Stops listening: connections break, new ones are refused.
    pub async fn take_down(&self) {
        let front = self.front.lock().unwrap().take();
        if let Some(front) = front {
            front.up.cancel();
            front.accepting.await.unwrap();
        }
    }

    /// Listens again at the same address.
    pub async fn bring_up(&self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.listen_on(listener);
    }
}

impl Drop for FakeUpstream {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}
