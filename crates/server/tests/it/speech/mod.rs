//! Text to speech, and transcription of devices.

mod espeak;
mod hear;
mod links;
mod refusals;
mod server;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{Router, body::Bytes, extract::State, response::Response};
use http::{HeaderMap, Method, Uri, header};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};
use toolyard_server::config::{Config, SpeakBy};

use crate::platform::{Person, Platform};

/// The path of espeak-ng in the environment of the tests.
const ESPEAK: &str = "/usr/bin/espeak-ng";

/// Whether espeak-ng is installed; prints a note if not.
fn has_espeak() -> bool {
    let there = Path::new(ESPEAK).is_file();
    if !there {
        println!("skipped: espeak-ng is not installed; scripts/setup-tests.sh does that");
    }
    there
}

/// Audio, or the text of the response.
struct Spoken {
    status: u16,
    kind: String,
    bytes: Bytes,
}

impl Spoken {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The code of a refusal.
    fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.bytes).unwrap();
        body["error"]["code"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

async fn fetch(who: &Person<'_>, path: &str) -> Spoken {
    let response = who.open(Method::GET, path, None).await;
    let kind = response.headers.get(header::CONTENT_TYPE).map_or("", |kind| kind.to_str().unwrap());
    let (status, kind) = (response.status.as_u16(), kind.to_owned());
    Spoken { status, kind, bytes: response.bytes(64 * 1024 * 1024).await.unwrap() }
}

/// A text as a query.
fn words(text: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("text", text).finish();
    format!("/api/tts?{query}")
}

/// A program in espeak-ng's place.
struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    /// A shell script, in which `{folder}` is a folder of its own.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("speak");
        let script = script.replace("{folder}", folder.path().to_str().unwrap());
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("speak")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn used_by(&self, config: &mut Config) {
        config.speech.speak = SpeakBy::Espeak;
        config.speech.espeak = Some(self.path());
    }

    /// Processes that still exist, zombies included.
    fn alive(&self) -> usize {
        self.read("pids").lines().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count()
    }

    /// Waits until this many processes were started, and this many of them exist. Each check is a request, so that the server
    /// makes progress.
    async fn until(&self, p: &Platform, began: usize, alive: usize) {
        while self.read("pids").lines().count() != began || self.alive() != alive {
            p.nobody().get("/healthz").await.expect(200);
        }
    }
}

/// A request to the fake server.
#[derive(Clone)]
struct Asked {
    path: String,
    key: String,
    kind: String,
    body: Bytes,
}

impl Asked {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A fake server with OpenAI's speech and transcription API.
struct FakeSpeech {
    url: String,
    inner: Arc<Inner>,
}

struct Inner {
    asked: std::sync::Mutex<Vec<Asked>>,
    answer: std::sync::Mutex<(u16, Vec<u8>)>,
    changed: Notify,
    gate: Semaphore,
}

impl FakeSpeech {
    /// One that responds immediately.
    async fn start(answer: &str) -> Self {
        let fake = Self::held(answer).await;
        fake.inner.gate.add_permits(1_000);
        fake
    }

    /// One whose responses wait until they are released.
    async fn held(answer: &str) -> Self {
        let inner = Arc::new(Inner {
            asked: std::sync::Mutex::default(),
            answer: std::sync::Mutex::new((200, answer.as_bytes().to_vec())),
            changed: Notify::new(),
            gate: Semaphore::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer_one).with_state(inner.clone());
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inner }
    }

    fn answers(&self, status: u16, body: impl Into<Vec<u8>>) {
        *self.inner.answer.lock().unwrap() = (status, body.into());
    }

    fn asked(&self) -> Vec<Asked> {
        self.inner.asked.lock().unwrap().clone()
    }

    async fn wait_asked(&self, times: usize) -> Vec<Asked> {
        loop {
            let changed = self.inner.changed.notified();
            let asked = self.asked();
            if asked.len() >= times {
                return asked;
            }
            changed.await;
        }
    }

    fn let_through(&self, answers: usize) {
        self.inner.gate.add_permits(answers);
    }
}

async fn answer_one(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text =
        |name: header::HeaderName| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let (key, kind) = (text(header::AUTHORIZATION), text(header::CONTENT_TYPE));
    inner.asked.lock().unwrap().push(Asked { path: uri.path().to_owned(), key, kind, body });
    inner.changed.notify_waiters();
    inner.gate.acquire().await.unwrap().forget();
    let (status, body) = inner.answer.lock().unwrap().clone();
    Response::builder().status(status).header("content-type", "text/html").body(body.into()).unwrap()
}

/// Whether the metrics contain this line.
async fn counts(p: &Platform, line: &str) {
    let page = p.nobody().get("/metrics").await.expect(200);
    assert!(page.text.lines().any(|found| found == line), "{line} in\n{}", page.text);
}
