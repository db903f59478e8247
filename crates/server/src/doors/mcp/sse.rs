//! Answers over HTTP: JSON, or an event stream where something is said before the answer.

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use toolyard_protocol::{
    JsonLine,
    mcp::{RpcError, message},
};

use super::{answer::Answer, listen::Stream};
use crate::state::AppState;

/// How often a silent stream says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Messages that wait for a slow client before the answer.
pub(super) const OUT_QUEUE: usize = 64;

/// The work on one request.
pub(super) type Work = Pin<Box<dyn Future<Output = Result<Answer, RpcError>> + Send>>;

/// One request being answered. Dropping it drops the work: that is how a client cancels.
pub(super) struct Exchange {
    pub(super) id: Box<RawValue>,
    pub(super) work: Work,
    pub(super) said: mpsc::Receiver<JsonLine>,
    pub(super) modern: bool,
}

impl Exchange {
    /// JSON where nothing is said before the answer, else a stream.
    pub(super) async fn respond(mut self) -> Response {
        tokio::select! {
            biased;
            Some(first) = self.said.recv() => self.stream(event(first)),
            outcome = &mut self.work => {
                // The work may have said its last words in the very moment in which it ended.
                let said = self.rest();
                if said.is_empty() { self.json(outcome) } else { events_of(Body::from(self.last(said, outcome))) }
            }
        }
    }

    fn json(self, outcome: Result<Answer, RpcError>) -> Response {
        match outcome {
            Ok(answer) => json(StatusCode::OK, envelope(&self.id, answer.bytes())),
            Err(error) => refusal(status_of(&error, self.modern), Some(&self.id), &error),
        }
    }

    /// What was said and not yet sent.
    fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        while let Ok(said) = self.said.try_recv() {
            rest.extend_from_slice(&event(said));
        }
        rest
    }

    /// The end of a stream: what was said last, and the answer.
    fn last(&self, mut said: Vec<u8>, outcome: Result<Answer, RpcError>) -> Bytes {
        let answer = match outcome {
            Ok(answer) => String::from_utf8_lossy(&envelope(&self.id, answer.bytes())).into_owned(),
            Err(error) => message::error(Some(&self.id), &error),
        };
        said.extend_from_slice(&event(JsonLine::from_json(answer)));
        said.into()
    }

    fn stream(self, first: Bytes) -> Response {
        let hello = futures_util::stream::once(async { Ok::<_, Infallible>(first) });
        let events = futures_util::stream::unfold(Some(Box::new(self)), |at| async {
            let mut exchange = at?;
            tokio::select! {
                biased;
                Some(said) = exchange.said.recv() => Some((Ok(event(said)), Some(exchange))),
                outcome = &mut exchange.work => {
                    let said = exchange.rest();
                    Some((Ok(exchange.last(said, outcome)), None))
                }
                () = tokio::time::sleep(KEEP_ALIVE) => Some((Ok(alive()), Some(exchange))),
            }
        });
        events_of(Body::from_stream(futures_util::StreamExt::chain(hello, events)))
    }
}

/// A stream of changes, until the client leaves, its session or its token ends, or the server stops.
pub(super) fn changes(state: &AppState, stream: Stream) -> Response {
    let stopping = state.lifecycle.stopping.clone();
    let start = Some((stream, stopping, Instant::now() + KEEP_ALIVE));
    // A first line at once: clients and proxies wait for one before they count the stream as open.
    let hello = futures_util::stream::once(async { Ok::<_, Infallible>(alive()) });
    let events = futures_util::stream::unfold(start, |at| async {
        let (mut stream, stopping, beat) = at?;
        let over = stream.over();
        let next = tokio::select! {
            message = stream.next() => event(JsonLine::from_json(message)),
            () = stopping.cancelled() => {
                let last = stream.last().map(|last| event(JsonLine::from_json(last)))?;
                return Some((Ok(last), None));
            }
            () = over.cancelled() => return None,
            () = sleep_until(beat) => alive(),
        };
        // Looked at with each event and each sign of life, so a silent stream ends as well.
        if stream.is_orphaned() {
            return None;
        }
        Some((Ok(next), Some((stream, stopping, Instant::now() + KEEP_ALIVE))))
    });
    events_of(Body::from_stream(futures_util::StreamExt::chain(hello, events)))
}

fn events_of(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

/// One message as an event.
fn event(message: JsonLine) -> Bytes {
    Bytes::from(message.to_named_event("message"))
}

fn alive() -> Bytes {
    Bytes::from_static(b": alive\n\n")
}

/// An answer around a result.
pub(super) fn envelope(id: &RawValue, result: &[u8]) -> Bytes {
    let id = id.get().as_bytes();
    let mut body = Vec::with_capacity(id.len() + result.len() + 36);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    body.extend_from_slice(id);
    body.extend_from_slice(b",\"result\":");
    body.extend_from_slice(result);
    body.push(b'}');
    body.into()
}

/// The status that goes with an error. With a handshake every answer is a 200.
fn status_of(error: &RpcError, modern: bool) -> StatusCode {
    match error.code {
        _ if !modern => StatusCode::OK,
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY | RpcError::UNSUPPORTED_VERSION => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

pub(super) fn refusal(status: StatusCode, id: Option<&RawValue>, error: &RpcError) -> Response {
    json(status, message::error(id, error).into())
}

pub(super) fn json(status: StatusCode, body: Bytes) -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, headers, body).into_response()
}
