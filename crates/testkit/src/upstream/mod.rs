//! An MCP server whose every fault can be ordered, in both eras, over HTTP and over pipes.
//!
//! It is the upstream in tests of our client and gateway, and, with [`FixtureSet::Conformance`], the server behind the
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

/// Bytes that a pipe holds.
const PIPE: usize = 64 * 1024;

/// Which revisions the upstream speaks.
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

/// What the upstream offers when it starts.
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

/// How a session is refused that the upstream does not know, as it is after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleSession {
    /// The HTTP status; 200 is an ordinary answer with an error in it.
    pub status: u16,
    /// The JSON-RPC error; none is an empty body.
    pub error: Option<(i64, &'static str)>,
}

impl StaleSession {
    /// As the specification has it.
    pub const NOT_FOUND: Self = Self { status: 404, error: Some((-32001, "Session not found")) };
    /// As the examples of the TypeScript SDK have it, and servers that were made from them.
    pub const NO_VALID_ID: Self =
        Self { status: 400, error: Some((-32000, "Bad Request: No valid session ID provided")) };
    /// Every way that was seen, those above included.
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
    /// What servers say that do not expect it: something may have run.
    pub const CRASH: Self = Self { status: 500, error: Some((-32603, "Internal server error")) };
}

/// How the upstream is set up.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// Its name in `serverInfo`.
    pub name: String,
    /// Which revisions it speaks.
    pub era: UpstreamEra,
    /// What it offers.
    pub fixtures: FixtureSet,
    /// What it tells models about itself.
    pub instructions: String,
    /// Items on a page of a list; None for all on one.
    pub page_size: Option<usize>,
    /// Answers with a stream even where one message is all there is, as the common SDK does.
    pub always_sse: bool,
    /// Gives out session ids in the legacy era.
    pub session_ids: bool,
    /// What it says to a session that it does not know.
    pub stale_session: StaleSession,
    /// Wants this bearer token on every request.
    pub bearer: Option<String>,
    /// Wants this header on every request.
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

/// The listener, while it is up.
struct HttpFront {
    up: CancellationToken,
    accepting: JoinHandle<()>,
}

/// An upstream on this machine. Stops when dropped.
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

    /// Starts one as told.
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

    /// Where it answers over HTTP.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, http::PATH)
    }

    /// A pipe to it that speaks as stdio does; any number can be open.
    pub fn pipe(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        self.inner.tasks.spawn(stdio::serve_pipe(self.inner.clone(), input, output));
        near
    }

    /// Speaks as stdio does until the input ends. No listener is needed for it.
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

    /// Where the binary `fixture-upstream` is, for tests that start a process. It lies beside the test binaries'
    /// folder once the workspace was built with all targets.
    pub fn binary_path() -> PathBuf {
        let test = std::env::current_exe().expect("the test knows where it is");
        let target = test.parent().and_then(|deps| deps.parent()).expect("tests run in target/*/deps");
        let binary = target.join(format!("fixture-upstream{}", std::env::consts::EXE_SUFFIX));
        assert!(binary.exists(), "build it first: cargo build -p toolyard-testkit --bin fixture-upstream");
        binary
    }

    /// Changes how it is set up. Lists stay as they are.
    pub fn change_options(&self, change: impl FnOnce(&mut UpstreamOptions)) {
        change(&mut self.inner.script.lock().unwrap().options);
    }

    /// Puts other items on a list, as they are: they may be wrong. Tells nobody. A list that was not offered is now.
    pub fn set_list(&self, list: OfferListKind, items: Vec<Value>) {
        self.inner.script.lock().unwrap().lists.set(list, items);
    }

    /// Tells everyone who listens that a list changed.
    pub fn announce_list(&self, list: OfferListKind) {
        self.inner.announce_list(list);
    }

    /// Tells everyone who subscribed to a resource that it changed.
    pub fn announce_resource(&self, uri: &str) {
        self.inner.announce_resource(uri);
    }

    /// What a list holds now.
    pub fn list_items(&self, list: OfferListKind) -> Vec<Value> {
        self.inner.script.lock().unwrap().lists.items(list).clone().unwrap_or_default()
    }

    /// Orders a fault. The latest order that fits a request is taken.
    pub fn inject_fault(&self, on: RequestMatch, behave: InjectedFault) {
        self.inner.script.lock().unwrap().orders.add(on, behave);
    }

    /// Takes all orders back.
    pub fn clear_faults(&self) {
        self.inner.script.lock().unwrap().orders.clear();
    }

    /// Lets so many held requests, or steps of the tool `steps`, go on.
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

    /// Waits until a method came so many times.
    pub async fn wait_messages(&self, method: &str, times: usize) -> Vec<RecordedMessage> {
        let ready = || Some(self.messages(method)).filter(|seen| seen.len() >= times);
        self.inner.wait_until(&format!("{method} {times} times"), ready).await
    }

    /// The requests that were given up by the client so far.
    pub fn cancelled(&self) -> Vec<CancelledRequest> {
        self.inner.script.lock().unwrap().cancelled.clone()
    }

    /// Waits until so many requests were given up by the client.
    pub async fn wait_cancelled(&self, times: usize) -> Vec<CancelledRequest> {
        let ready = || Some(self.cancelled()).filter(|cancelled| cancelled.len() >= times);
        self.inner.wait_until(&format!("{times} cancelled"), ready).await
    }

    /// How many streams are open that would hear of a change.
    pub fn listening_count(&self) -> usize {
        self.inner.listening_count()
    }

    /// Waits until at least so many streams are open that would hear of a change.
    pub async fn wait_listening(&self, streams: usize) {
        let ready = || (self.listening_count() >= streams).then_some(());
        self.inner.wait_until(&format!("{streams} streams to listen"), ready).await;
    }

    /// Ends the streams that hear of changes, each with its proper end.
    pub fn end_listening(&self) {
        self.inner.end_listening();
    }

    /// Breaks the streams that hear of changes off.
    pub fn cut_listening(&self) {
        self.inner.cut_listening();
    }

    /// Legacy sessions that are open.
    pub fn session_count(&self) -> usize {
        self.inner.script.lock().unwrap().sessions.len()
    }

    /// Forgets all legacy sessions, as a restart does: their ids are unknown from now on.
    pub fn forget_sessions(&self) {
        let ids: Vec<_> = self.inner.script.lock().unwrap().sessions.keys().cloned().collect();
        for id in ids {
            self.inner.end_session(&id);
        }
    }

    /// Goes away: connections break, new ones are refused.
    pub async fn take_down(&self) {
        let front = self.front.lock().unwrap().take();
        if let Some(front) = front {
            front.up.cancel();
            front.accepting.await.unwrap();
        }
    }

    /// Comes back at the same address.
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
