//! The HTTP server of a scripted model.

use std::{convert::Infallible, io, sync::Arc};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{ModelState, RecordedModelRequest, anthropic, gemini, openai, reply::ScriptedReply};

/// One step of a stream.
#[derive(Debug, Clone)]
pub(super) enum StreamStep {
    Text(String),
    Hold,
    Cut,
}

type ModelBody = UnsyncBoxBody<Bytes, io::Error>;

pub(super) async fn accept_loop(listener: TcpListener, inner: Arc<ModelState>) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = inner.stop.cancelled() => return,
        };
        // Chunks are small, and tests check when each of them arrives.
        stream.set_nodelay(true).unwrap();
        let (serving, stop) = (inner.clone(), inner.stop.clone());
        inner.tasks.spawn(async move {
            let service = service_fn(move |request| handle_model_request(serving.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn handle_model_request(
    inner: Arc<ModelState>,
    request: Request<Incoming>,
) -> Result<Response<ModelBody>, Infallible> {
    let (head, body) = request.into_parts();
    let raw = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let body: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let seen = RecordedModelRequest { path, headers: head.headers, raw, body: body.clone() };
    let Some(vendor) = VendorApi::from_path(&seen.path) else {
        let mut script = inner.script.lock().unwrap();
        let offered = script.gets.get(&seen.path).cloned();
        script.other_requests.push(seen);
        return Ok(match offered {
            Some(offered) => json_response(200, offered.to_string()),
            None => json_response(404, json!({ "error": "not here" }).to_string()),
        });
    };
    let next = {
        let mut script = inner.script.lock().unwrap();
        script.seen.push(seen);
        script.replies.pop_front().or_else(|| script.always.clone())
    };
    inner.changed.notify_waiters();
    let over = || ScriptedReply::error(500, json!({ "error": { "message": "the script is over" } }));
    let next = next.unwrap_or_else(over);
    let mut counter = AbandonCounter { inner: inner.clone(), finished: false };
    if next.hold_first {
        inner.gate.acquire().await.unwrap().forget();
    }
    if let Some(refusal) = &next.refusal {
        counter.finished = true;
        let mut response = json_response(refusal.status, refusal.body.clone());
        for (name, value) in &refusal.headers {
            response
                .headers_mut()
                .insert(name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap());
        }
        return Ok(response);
    }
    let out = match vendor {
        VendorApi::OpenAi if body["stream"] != true => {
            counter.finished = true;
            return Ok(json_response(200, openai::openai_completion(&body["model"], &next).to_string()));
        }
        VendorApi::OpenAi => openai::openai_stream(&body["model"], &next),
        VendorApi::Anthropic => anthropic::anthropic_stream(&body["model"], &next),
        VendorApi::Gemini => gemini::gemini_stream(&next),
    };
    Ok(stream_response(counter, out))
}

#[derive(Debug, Clone, Copy)]
enum VendorApi {
    OpenAi,
    Anthropic,
    Gemini,
}

impl VendorApi {
    fn from_path(path: &str) -> Option<Self> {
        match path {
            path if path.ends_with("/chat/completions") => Some(Self::OpenAi),
            path if path.ends_with("/messages") => Some(Self::Anthropic),
            path if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }
}

fn json_response(status: u16, body: String) -> Response<ModelBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let status = StatusCode::from_u16(status).unwrap();
    Response::builder().status(status).header(header::CONTENT_TYPE, "application/json").body(body).unwrap()
}

/// Counts a reply that was not read to its end.
struct AbandonCounter {
    inner: Arc<ModelState>,
    finished: bool,
}

impl Drop for AbandonCounter {
    fn drop(&mut self) {
        if !self.finished {
            self.inner.script.lock().unwrap().abandoned += 1;
            self.inner.changed.notify_waiters();
        }
    }
}

fn stream_response(mut counter: AbandonCounter, out: Vec<StreamStep>) -> Response<ModelBody> {
    counter.finished = out.is_empty();
    let frames = stream::unfold((counter, out.into_iter()), |(mut counter, mut out)| async move {
        loop {
            let frame = match out.next() {
                Some(StreamStep::Text(text)) => Ok(Frame::data(Bytes::from(text))),
                Some(StreamStep::Cut) => {
                    counter.finished = true;
                    Err(io::Error::other("cut"))
                }
                Some(StreamStep::Hold) => {
                    counter.inner.gate.acquire().await.unwrap().forget();
                    continue;
                }
                None => return None,
            };
            // The last chunk is out; a client that disconnects now has read everything.
            counter.finished |= out.as_slice().is_empty();
            return Some((frame, (counter, out)));
        }
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .body(StreamBody::new(frames).boxed_unsync())
        .unwrap()
}
