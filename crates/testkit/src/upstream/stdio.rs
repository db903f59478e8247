//! Newline-delimited messages over a pair of pipes: both eras, mixed as they come.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{
    checks,
    message::{Call, Failure, MODERN, OWN, Out, QUEUE, Side},
    sessions::{Running, Session},
    state::{Goodbye, Inner, Seen},
};

/// Longest line that it reads.
const MAX_LINE: u64 = 16 * 1024 * 1024;

struct Connection {
    inner: Arc<Inner>,
    out: mpsc::Sender<Out>,
    running: Running,
    session: Mutex<Option<Arc<Session>>>,
}

/// Serves until the input ends, or a fault ends it.
pub(super) async fn serve(inner: Arc<Inner>, input: impl AsyncRead + Unpin, output: impl AsyncWrite + Unpin) {
    let (out, queue) = mpsc::channel(QUEUE);
    let connection = Arc::new(Connection {
        inner: inner.clone(),
        out,
        running: Running::default(),
        session: Mutex::default(),
    });
    tokio::select! {
        () = read(connection.clone(), input) => {}
        () = write(queue, output) => {}
        () = inner.stop.cancelled() => {}
    }
    let session = connection.session.lock().unwrap().take();
    if let Some(session) = session {
        inner.end_session(&session.id);
    }
}

async fn read(connection: Arc<Connection>, input: impl AsyncRead + Unpin) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        match (&mut input).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let raw = Bytes::from(line);
        if raw.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Value>(&raw) {
            Ok(message) => {
                connection.inner.saw(Seen::of(&HeaderMap::new(), &raw, &message));
                connection.clone().take(&message).await;
            }
            Err(_) => connection.refuse(&Failure::new(-32700, 400, "Parse error"), None).await,
        }
    }
}

async fn write(mut queue: mpsc::Receiver<Out>, mut output: impl AsyncWrite + Unpin) {
    while let Some(out) = queue.recv().await {
        let line = match out {
            Out::Say(message) | Out::Answer(_, message) | Out::Park { message, .. } => {
                format!("{message}\n").into_bytes()
            }
            Out::Raw { mut body, .. } => {
                body.push(b'\n');
                body
            }
            Out::Cut => return,
            Out::CutMidway => {
                drop(output.write_all(b"{\"jsonrpc\":\"2.0\",\"resu").await);
                drop(output.flush().await);
                return;
            }
        };
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

impl Connection {
    async fn refuse(&self, failure: &Failure, id: Option<&Value>) {
        drop(self.out.send(Out::Answer(200, failure.message(id))).await);
    }

    async fn take(self: Arc<Self>, message: &Value) {
        let session = self.session.lock().unwrap().clone();
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            match (message["method"].as_str(), session) {
                (None, Some(session)) => session.answered(message),
                (Some("notifications/cancelled"), _) => self.running.cancel(&message["params"]["requestId"]),
                _ => {}
            }
            return;
        };
        let side = match self.side(message, session) {
            Ok(side) => side,
            Err(failure) => return self.refuse(&failure, Some(id)).await,
        };
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let call = Call { id: id.clone(), method: method.to_owned(), params, side, out: self.out.clone() };
        let (cancel, connection) = (CancellationToken::new(), self.clone());
        self.running.begin(id, &cancel);
        self.inner.tasks.spawn(async move {
            let id = call.id.clone();
            connection.inner.clone().run(call, cancel, Goodbye::Notified).await;
            connection.running.end(&id);
        });
    }

    /// The era of a request; `initialize` opens the legacy one.
    fn side(&self, message: &Value, session: Option<Arc<Session>>) -> Result<Side, Failure> {
        let era = self.inner.options().era;
        let has_version = message["params"]["_meta"].get(format!("{OWN}protocolVersion")).is_some();
        let legacy = !era.handshakes().is_empty();
        if has_version && era.versions().contains(&MODERN) || !legacy {
            checks::meta(message, &era.versions())?;
            checks::method(message)?;
            return Ok(Side::Modern);
        }
        if message["method"] == "initialize" {
            let id = format!("stdio-{}", self.inner.number());
            let session = self.inner.open_session(id, &message["params"]);
            session.open(self.out.clone());
            self.session.lock().unwrap().replace(session.clone());
            self.inner.changed.notify_waiters();
            return Ok(Side::Legacy(session));
        }
        let method = message["method"].as_str().unwrap_or_default();
        session.map(Side::Legacy).ok_or_else(|| match has_version {
            true => Failure::no_method(method),
            false => Failure::new(-32600, 400, "initialize comes first"),
        })
    }
}
