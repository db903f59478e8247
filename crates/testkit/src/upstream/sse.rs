//! Turns the steps of a response into an HTTP response: JSON if the response comes first, else a stream.

use std::io;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Response, header};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::message::AnswerStep;

pub(super) type SseBody = UnsyncBoxBody<Bytes, io::Error>;

/// How long a client should wait before it reconnects for a parked response.
const RETRY_MS: u32 = 100;

fn full_response(status: u16, kind: &str, body: impl Into<Bytes>) -> Response<SseBody> {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(status).header(header::CONTENT_TYPE, kind).body(body).unwrap()
}

/// A status without a body.
pub(super) fn status_response(status: u16) -> Response<SseBody> {
    let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(status).body(body).unwrap()
}

/// A status with a header.
pub(super) fn header_response(code: u16, name: &'static str, value: &'static str) -> Response<SseBody> {
    let mut response = status_response(code);
    response.headers_mut().insert(name, value.parse().unwrap());
    response
}

/// A JSON message.
pub(super) fn json_response(status: u16, message: &Value) -> Response<SseBody> {
    full_response(status, "application/json", message.to_string())
}

/// Responds as the steps arrive. The guard cancels the request when the client closes the response.
pub(super) async fn respond(
    mut queue: mpsc::Receiver<AnswerStep>,
    guard: Option<DropGuard>,
    always_stream: bool,
) -> Result<Response<SseBody>, io::Error> {
    let first = queue.recv().await;
    Ok(match first {
        Some(AnswerStep::Answer(status, message)) if status != 200 || !always_stream => {
            json_response(status, &message)
        }
        Some(AnswerStep::Raw { status, kind, body }) => full_response(status, &kind, body),
        Some(AnswerStep::Cut) => return Err(io::Error::other("cut")),
        Some(AnswerStep::CutMidway) if !always_stream => {
            let half = Ok(Frame::data(Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"resu")));
            let body = StreamBody::new(stream::iter([half, Err(io::Error::other("cut"))])).boxed_unsync();
            Response::builder().header(header::CONTENT_TYPE, "application/json").body(body).unwrap()
        }
        first => sse_response(first, queue, guard),
    })
}

/// A stream of messages. Without a first one it starts with a comment, so that the client sees it open.
pub(super) fn sse_response(
    first: Option<AnswerStep>,
    queue: mpsc::Receiver<AnswerStep>,
    guard: Option<DropGuard>,
) -> Response<SseBody> {
    let opening = match first {
        Some(out) => to_frames(out),
        None => vec![Ok(Bytes::from_static(b": open\n\n"))],
    };
    let later = stream::unfold((queue, guard), |(mut queue, guard)| async move {
        let out = queue.recv().await?;
        Some((stream::iter(to_frames(out)), (queue, guard)))
    });
    let frames = stream::iter(opening).chain(later.flatten()).map(|bytes| bytes.map(Frame::data));
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .header(header::CACHE_CONTROL, "no-store")
        .header("x-accel-buffering", "no")
        .body(StreamBody::new(frames).boxed_unsync())
        .unwrap()
}

fn to_frames(out: AnswerStep) -> Vec<Result<Bytes, io::Error>> {
    let cut = || Err(io::Error::other("cut"));
    match out {
        AnswerStep::Message(message) | AnswerStep::Answer(_, message) => {
            vec![Ok(Bytes::from(format!("event: message\ndata: {message}\n\n")))]
        }
        AnswerStep::Raw { body, .. } => vec![Ok(body.into())],
        AnswerStep::Cut => vec![cut()],
        AnswerStep::CutMidway => {
            vec![Ok(Bytes::from_static(b"event: message\ndata: {\"jsonrpc\":\"2")), cut()]
        }
        AnswerStep::Park { event, .. } => {
            vec![Ok(Bytes::from(format!("id: {event}\nretry: {RETRY_MS}\ndata: \n\n")))]
        }
    }
}
