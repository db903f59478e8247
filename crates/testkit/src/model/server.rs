//! The server behind a scripted model.

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

/// What goes out next.
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
        // Pieces are small, and tests look at when each of them comes.
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
    let Some(speaks) = VendorApi::from_path(&seen.path) else {
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
        script.answers.pop_front().or_else(|| script.always.clone())
    };
    inner.changed.notify_waiters();
    let over = || ScriptedReply::error(500, json!({ "error": { "message": "the script is over" } }));
    let next = next.unwrap_or_else(over);
    let mut unheard = AbandonCounter { inner: inner.clone(), finished: false };
    if next.hold_first {
        inner.gate.acquire().await.unwrap().forget();
    }
    if let Some(refusal) = &next.refusal {
        unheard.finished = true;
        let mut response = json_response(refusal.status, refusal.body.clone());
        for (name, value) in &refusal.headers {
            response
                .headers_mut()
                .insert(name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap());
        }
        return Ok(response);
    }
    let out = match speaks {
        VendorApi::OpenAi if body["stream"] != true => {
            unheard.finished = true;
            return Ok(json_response(200, openai::openai_completion(&body["model"], &next).to_string()));
        }
        VendorApi::OpenAi => openai::openai_stream(&body["model"], &next),
        VendorApi::Anthropic => anthropic::anthropic_stream(&body["model"], &next),
        VendorApi::Gemini => gemini::gemini_stream(&next),
    };
    Ok(stream_response(unheard, out))
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

/// Counts an answer that was not heard to its end.
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

fn stream_response(mut unheard: AbandonCounter, out: Vec<StreamStep>) -> Response<ModelBody> {
    unheard.finished = out.is_empty();
    let frames = stream::unfold((unheard, out.into_iter()), |(mut unheard, mut out)| async move {
        loop {
            let said = match out.next() {
                Some(StreamStep::Text(text)) => Ok(Frame::data(Bytes::from(text))),
                Some(StreamStep::Cut) => {
                    unheard.finished = true;
                    Err(io::Error::other("cut"))
                }
                Some(StreamStep::Hold) => {
                    unheard.inner.gate.acquire().await.unwrap().forget();
                    continue;
                }
                None => return None,
            };
            // The last word is out; who goes now has heard all.
            unheard.finished |= out.as_slice().is_empty();
            return Some((said, (unheard, out)));
        }
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .body(StreamBody::new(frames).boxed_unsync())
        .unwrap()
}
