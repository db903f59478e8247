//! Responses over HTTP: JSON, or an event stream if messages precede the response.

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

use super::{dispatch::RpcResponse, listen::ChangeStream};
use crate::state::ServerState;

/// Interval of keep-alive comments on a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Messages queued for a slow client before the response.
pub(super) const OUT_QUEUE: usize = 64;

/// The work on one request.
pub(super) type RequestWork = Pin<Box<dyn Future<Output = Result<RpcResponse, RpcError>> + Send>>;

/// One request being handled. Dropping it drops the work: that is how a client cancels.
pub(super) struct McpExchange {
    pub(super) id: Box<RawValue>,
    pub(super) work: RequestWork,
    pub(super) messages: mpsc::Receiver<JsonLine>,
    pub(super) modern: bool,
}

impl McpExchange {
    /// JSON if no message precedes the response, else an event stream.
    pub(super) async fn respond(mut self) -> Response {
        tokio::select! {
            biased;
            Some(first) = self.messages.recv() => self.into_event_stream(message_event(first)),
            outcome = &mut self.work => {
                // The work may have sent messages just before it ended.
                let events = self.drain_messages();
                match events.is_empty() {
                    true => self.into_json_response(outcome),
                    false => event_stream_response(Body::from(self.final_events(events, outcome))),
                }
            }
        }
    }

    fn into_json_response(self, outcome: Result<RpcResponse, RpcError>) -> Response {
        match outcome {
            Ok(response) => json_response(StatusCode::OK, result_envelope(&self.id, response.as_bytes())),
            Err(error) => error_response(rpc_error_status(&error, self.modern), Some(&self.id), &error),
        }
    }

    /// Messages that are queued and not sent yet.
    fn drain_messages(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        while let Ok(message) = self.messages.try_recv() {
            rest.extend_from_slice(&message_event(message));
        }
        rest
    }

    /// The end of a stream: the last messages and the response.
    fn final_events(&self, mut events: Vec<u8>, outcome: Result<RpcResponse, RpcError>) -> Bytes {
        let response = match outcome {
            Ok(response) => {
                String::from_utf8_lossy(&result_envelope(&self.id, response.as_bytes())).into_owned()
            }
            Err(error) => message::write_error(Some(&self.id), &error),
        };
        events.extend_from_slice(&message_event(JsonLine::from_json(response)));
        events.into()
    }

    fn into_event_stream(self, first: Bytes) -> Response {
        let opening = futures_util::stream::once(async { Ok::<_, Infallible>(first) });
        let events = futures_util::stream::unfold(Some(Box::new(self)), |at| async {
            let mut exchange = at?;
            tokio::select! {
                biased;
                Some(message) = exchange.messages.recv() => Some((Ok(message_event(message)), Some(exchange))),
                outcome = &mut exchange.work => {
                    let events = exchange.drain_messages();
                    Some((Ok(exchange.final_events(events, outcome)), None))
                }
                () = tokio::time::sleep(KEEP_ALIVE) => Some((Ok(keep_alive_comment()), Some(exchange))),
            }
        });
        event_stream_response(Body::from_stream(futures_util::StreamExt::chain(opening, events)))
    }
}

/// A change stream, until the client disconnects, its session or token ends, or the server stops.
pub(super) fn change_stream_response(state: &ServerState, stream: ChangeStream) -> Response {
    let stopping = state.lifecycle.stopping.clone();
    let start = Some((stream, stopping, Instant::now() + KEEP_ALIVE));
    // Send a comment at once, because clients and proxies consider the stream open only after a first line.
    let opening = futures_util::stream::once(async { Ok::<_, Infallible>(keep_alive_comment()) });
    let events = futures_util::stream::unfold(start, |at| async {
        let (mut stream, stopping, beat) = at?;
        let over = stream.session_ended();
        let next = tokio::select! {
            message = stream.next() => message_event(JsonLine::from_json(message)),
            () = stopping.cancelled() => {
                let last = stream.final_message().map(|last| message_event(JsonLine::from_json(last)))?;
                return Some((Ok(last), None));
            }
            () = over.cancelled() => return None,
            () = sleep_until(beat) => keep_alive_comment(),
        };
        // Checked with each event and keep-alive, so that a silent stream ends as well.
        if stream.is_credential_expired() {
            return None;
        }
        Some((Ok(next), Some((stream, stopping, Instant::now() + KEEP_ALIVE))))
    });
    event_stream_response(Body::from_stream(futures_util::StreamExt::chain(opening, events)))
}

fn event_stream_response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

/// A message as an event.
fn message_event(message: JsonLine) -> Bytes {
    Bytes::from(message.to_named_event("message"))
}

fn keep_alive_comment() -> Bytes {
    Bytes::from_static(b": alive\n\n")
}

/// Wraps a result in a JSON-RPC response.
pub(super) fn result_envelope(id: &RawValue, result: &[u8]) -> Bytes {
    let id = id.get().as_bytes();
    let mut body = Vec::with_capacity(id.len() + result.len() + 36);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    body.extend_from_slice(id);
    body.extend_from_slice(b",\"result\":");
    body.extend_from_slice(result);
    body.push(b'}');
    body.into()
}

/// The HTTP status for an error. In the handshake revisions it is always 200.
fn rpc_error_status(error: &RpcError, modern: bool) -> StatusCode {
    match error.code {
        _ if !modern => StatusCode::OK,
        RpcError::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY | RpcError::UNSUPPORTED_VERSION => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

pub(super) fn error_response(status: StatusCode, id: Option<&RawValue>, error: &RpcError) -> Response {
    json_response(status, message::write_error(id, error).into())
}

pub(super) fn json_response(status: StatusCode, body: Bytes) -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, headers, body).into_response()
}
