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

use super::{Inner, Seen, answer::Answer, anthropic, gemini, openai};

/// What goes out next.
#[derive(Debug, Clone)]
pub(super) enum Out {
    Say(String),
    Hold,
    Cut,
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

pub(super) async fn accept(listener: TcpListener, inner: Arc<Inner>) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = inner.stop.cancelled() => return,
        };
        // Pieces are small, and tests look at when each of them comes.
        stream.set_nodelay(true).unwrap();
        let (serving, stop) = (inner.clone(), inner.stop.clone());
        inner.tasks.spawn(async move {
            let service = service_fn(move |request| answer(serving.clone(), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn answer(inner: Arc<Inner>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let raw = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let body: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let seen = Seen { path, headers: head.headers, raw, body: body.clone() };
    let Some(speaks) = Speaks::at(&seen.path) else {
        let mut script = inner.script.lock().unwrap();
        let offered = script.gets.get(&seen.path).cloned();
        script.looked.push(seen);
        return Ok(match offered {
            Some(offered) => whole(200, offered.to_string()),
            None => whole(404, json!({ "error": "not here" }).to_string()),
        });
    };
    let next = {
        let mut script = inner.script.lock().unwrap();
        script.seen.push(seen);
        script.answers.pop_front().or_else(|| script.always.clone())
    };
    inner.changed.notify_waiters();
    let over = || Answer::error(500, json!({ "error": { "message": "the script is over" } }));
    let next = next.unwrap_or_else(over);
    let mut unheard = Unheard { inner: inner.clone(), heard: false };
    if next.hold_first {
        inner.gate.acquire().await.unwrap().forget();
    }
    if let Some(refusal) = &next.refusal {
        unheard.heard = true;
        let mut response = whole(refusal.status, refusal.body.clone());
        for (name, value) in &refusal.headers {
            response
                .headers_mut()
                .insert(name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap());
        }
        return Ok(response);
    }
    let out = match speaks {
        Speaks::OpenAi if body["stream"] != true => {
            unheard.heard = true;
            return Ok(whole(200, openai::whole(&body["model"], &next).to_string()));
        }
        Speaks::OpenAi => openai::stream(&body["model"], &next),
        Speaks::Anthropic => anthropic::stream(&body["model"], &next),
        Speaks::Gemini => gemini::stream(&next),
    };
    Ok(streamed(unheard, out))
}

#[derive(Debug, Clone, Copy)]
enum Speaks {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Speaks {
    fn at(path: &str) -> Option<Self> {
        match path {
            path if path.ends_with("/chat/completions") => Some(Self::OpenAi),
            path if path.ends_with("/messages") => Some(Self::Anthropic),
            path if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }
}

fn whole(status: u16, body: String) -> Response<Body> {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let status = StatusCode::from_u16(status).unwrap();
    Response::builder().status(status).header(header::CONTENT_TYPE, "application/json").body(body).unwrap()
}

/// Counts an answer that was not heard to its end.
struct Unheard {
    inner: Arc<Inner>,
    heard: bool,
}

impl Drop for Unheard {
    fn drop(&mut self) {
        if !self.heard {
            self.inner.script.lock().unwrap().left += 1;
            self.inner.changed.notify_waiters();
        }
    }
}

fn streamed(mut unheard: Unheard, out: Vec<Out>) -> Response<Body> {
    unheard.heard = out.is_empty();
    let frames = stream::unfold((unheard, out.into_iter()), |(mut unheard, mut out)| async move {
        loop {
            let said = match out.next() {
                Some(Out::Say(text)) => Ok(Frame::data(Bytes::from(text))),
                Some(Out::Cut) => {
                    unheard.heard = true;
                    Err(io::Error::other("cut"))
                }
                Some(Out::Hold) => {
                    unheard.inner.gate.acquire().await.unwrap().forget();
                    continue;
                }
                None => return None,
            };
            // The last word is out; who goes now has heard all.
            unheard.heard |= out.as_slice().is_empty();
            return Some((said, (unheard, out)));
        }
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .body(StreamBody::new(frames).boxed_unsync())
        .unwrap()
}
