//! Newline-delimited messages over a pair of pipes: both eras, mixed in any order.

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
    message::{AnswerStep, META_PREFIX, MODERN, QUEUE, RequestEra, RpcFailure, UpstreamCall},
    sessions::{LegacySession, RunningCalls},
    state::{CancelSignal, RecordedMessage, UpstreamShared},
};

/// Longest accepted line.
const MAX_LINE: u64 = 16 * 1024 * 1024;

struct StdioConnection {
    inner: Arc<UpstreamShared>,
    out: mpsc::Sender<AnswerStep>,
    running: RunningCalls,
    session: Mutex<Option<Arc<LegacySession>>>,
}

/// Serves until the input ends, or a fault ends it.
pub(super) async fn serve_pipe(
    inner: Arc<UpstreamShared>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) {
    let (out, queue) = mpsc::channel(QUEUE);
    let connection = Arc::new(StdioConnection {
        inner: inner.clone(),
        out,
        running: RunningCalls::default(),
        session: Mutex::default(),
    });
    tokio::select! {
        () = read_lines(connection.clone(), input) => {}
        () = write_lines(queue, output) => {}
        () = inner.stop.cancelled() => {}
    }
    let session = connection.session.lock().unwrap().take();
    if let Some(session) = session {
        inner.end_session(&session.id);
    }
}

async fn read_lines(connection: Arc<StdioConnection>, input: impl AsyncRead + Unpin) {
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
                connection.inner.record_message(RecordedMessage::from_message(
                    &HeaderMap::new(),
                    &raw,
                    &message,
                ));
                connection.clone().handle_message(&message).await;
            }
            Err(_) => connection.send_failure(&RpcFailure::new(-32700, 400, "Parse error"), None).await,
        }
    }
}

async fn write_lines(mut queue: mpsc::Receiver<AnswerStep>, mut output: impl AsyncWrite + Unpin) {
    while let Some(out) = queue.recv().await {
        let line = match out {
            AnswerStep::Message(message)
            | AnswerStep::Answer(_, message)
            | AnswerStep::Park { message, .. } => format!("{message}\n").into_bytes(),
            AnswerStep::Raw { mut body, .. } => {
                body.push(b'\n');
                body
            }
            AnswerStep::Cut => return,
            AnswerStep::CutMidway => {
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

impl StdioConnection {
    async fn send_failure(&self, failure: &RpcFailure, id: Option<&Value>) {
        drop(self.out.send(AnswerStep::Answer(200, failure.to_message(id))).await);
    }

    async fn handle_message(self: Arc<Self>, message: &Value) {
        let session = self.session.lock().unwrap().clone();
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            match (message["method"].as_str(), session) {
                (None, Some(session)) => session.receive_answer(message),
                (Some("notifications/cancelled"), _) => self.running.cancel(&message["params"]["requestId"]),
                _ => {}
            }
            return;
        };
        let side = match self.request_era(message, session) {
            Ok(side) => side,
            Err(failure) => return self.send_failure(&failure, Some(id)).await,
        };
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let call =
            UpstreamCall { id: id.clone(), method: method.to_owned(), params, side, out: self.out.clone() };
        let (cancel, connection) = (CancellationToken::new(), self.clone());
        self.running.begin(id, &cancel);
        self.inner.tasks.spawn(async move {
            let id = call.id.clone();
            connection.inner.clone().run_call(call, cancel, CancelSignal::Notified).await;
            connection.running.end(&id);
        });
    }

    /// The era of a request; `initialize` opens a legacy session.
    fn request_era(
        &self,
        message: &Value,
        session: Option<Arc<LegacySession>>,
    ) -> Result<RequestEra, RpcFailure> {
        let era = self.inner.options().era;
        let has_version = message["params"]["_meta"].get(format!("{META_PREFIX}protocolVersion")).is_some();
        let legacy = !era.handshakes().is_empty();
        if has_version && era.versions().contains(&MODERN) || !legacy {
            checks::check_meta(message, &era.versions())?;
            checks::check_method(message)?;
            return Ok(RequestEra::Modern);
        }
        if message["method"] == "initialize" {
            let id = format!("stdio-{}", self.inner.next_number());
            let session = self.inner.open_session(id, &message["params"]);
            session.open_stream(self.out.clone());
            self.session.lock().unwrap().replace(session.clone());
            self.inner.changed.notify_waiters();
            return Ok(RequestEra::Legacy(session));
        }
        let method = message["method"].as_str().unwrap_or_default();
        session.map(RequestEra::Legacy).ok_or_else(|| match has_version {
            true => RpcFailure::method_not_found(method),
            false => RpcFailure::new(-32600, 400, "initialize comes first"),
        })
    }
}
