//! Servers with OpenAI's chat completions protocol: OpenAI itself, Ollama, llama-server, vLLM, LM Studio, OpenRouter.
//!
//! This is our own client, because servers deviate from the protocol and `genai` 0.7.2 does not handle it. It loses a
//! call without an `index`, turns an index of a billion into a list of a billion calls, loses arguments that are an
//! object, loses calls, usage and the end of a response without `[DONE]`, and asks for `qwen` if the model is named
//! `qwen-max`.

mod body;
mod lines;
mod response;
mod wire;

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use reqwest::{Client, Response, header};
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::chat::sampling::SamplingOption;

use super::{
    Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream, RequestPolicy,
    errors::ModelTarget,
    limits::{FitCache, VendorFamily},
    retry, web,
};
use lines::EventLines;
use response::CompatResponse;

/// Longest response, in bytes.
pub(super) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Longest error body that is read.
const MAX_REFUSAL: usize = 16 * 1024;

/// A model behind such a server.
pub(super) struct CompatModel {
    pub(super) info: ModelInfo,
    /// The model's name at the server.
    pub(super) model: String,
    pub(super) family: VendorFamily,
    pub(super) fits: Arc<FitCache>,
    pub(super) target: ModelTarget,
    pub(super) client: Client,
    pub(super) bounds: RequestPolicy,
    pub(super) ids: Arc<dyn IdGenerator>,
}

impl std::fmt::Debug for CompatModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompatModel")
            .field("info", &self.info)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for CompatModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// All options are parameters of this protocol. A server that does not support one rejects it.
    fn supports(&self, _option: SamplingOption) -> bool {
        true
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let body = body::request_body(&self.info.id, &self.model, self.family, &self.fits, &request);
        let body = Bytes::from(body.to_string());
        retry::ask_with_retry(&self.bounds, &*self.ids, || self.send_request(body.clone())).await
    }
}

impl CompatModel {
    async fn send_request(&self, body: Bytes) -> Result<ModelStream, ModelError> {
        let url = self
            .target
            .url
            .join("chat/completions")
            .map_err(|error| self.target.broken_error(&error.to_string()))?;
        let mut request = self
            .client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(body);
        if let Some(key) = &self.target.key {
            request = request.bearer_auth(key.expose());
        }
        let response = tokio::time::timeout(self.bounds.first_byte, request.send())
            .await
            .map_err(|_| self.target.timeout_error(self.bounds.first_byte))?
            .map_err(|error| self.target.transport_error(&error))?;
        if !response.status().is_success() {
            return Err(self.read_refusal(response).await);
        }
        Ok(self.stream_response(response))
    }

    async fn read_refusal(&self, response: Response) -> ModelError {
        let (status, headers) = (response.status(), response.headers().clone());
        // Error bodies of vendors are small. A large or late one is not worth waiting for.
        let body = tokio::time::timeout(self.bounds.tail, web::read_text(response, MAX_REFUSAL)).await;
        let body = body.ok().and_then(Result::ok).flatten().unwrap_or_default();
        self.target.status_error(status, &headers, &body)
    }

    fn stream_response(&self, response: Response) -> ModelStream {
        let hearing = ResponseReader {
            answer: Some(CompatResponse::new(self.info.id.clone(), self.target.clone(), self.ids.clone())),
            pieces: Box::pin(response.bytes_stream()),
            lines: EventLines::default(),
            ready: VecDeque::new(),
            bytes: 0,
            idle: self.bounds.idle,
            tail: self.bounds.tail,
        };
        stream::unfold(hearing, |mut hearing| async move { Some((hearing.next().await?, hearing)) }).boxed()
    }
}

/// A response while it arrives.
struct ResponseReader {
    /// None after the end.
    answer: Option<CompatResponse>,
    pieces: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    lines: EventLines,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    bytes: usize,
    idle: Duration,
    tail: Duration,
}

impl ResponseReader {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            // Taken out, so that nothing follows an error or the end.
            let mut answer = self.answer.take()?;
            // Only token counts can follow the finish reason, and some servers leave the connection open instead.
            let wait = if answer.is_finished() { self.tail } else { self.idle };
            let more = match tokio::time::timeout(wait, self.pieces.next()).await {
                Ok(Some(Ok(piece))) => self.take_bytes(&mut answer, piece),
                Ok(Some(Err(error))) if !answer.is_finished() => Err(answer.target().transport_error(&error)),
                Err(_) if !answer.is_finished() => Err(answer.target().idle_error(wait)),
                Ok(None) | Ok(Some(Err(_))) | Err(_) => self.last_line(&mut answer).map(|()| false),
            };
            match more {
                Ok(true) => self.answer = Some(answer),
                Ok(false) => self.ready.extend(answer.into_events()),
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
    }

    /// Takes bytes. Returns false after the end of the response.
    fn take_bytes(&mut self, answer: &mut CompatResponse, piece: Bytes) -> Result<bool, ModelError> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MAX_ANSWER {
            return Err(answer.target().broken_error(&format!("a response of more than {MAX_ANSWER} bytes")));
        }
        let mut out = Vec::new();
        let mut more = true;
        for line in self
            .lines
            .feed(piece)
            .map_err(|_| answer.target().broken_error("a line of the response is too long"))?
        {
            match line.as_str() {
                "[DONE]" => {
                    answer.mark_done();
                    more = false;
                    break;
                }
                line => answer.take_chunk(line, &mut out)?,
            }
        }
        self.ready.extend(out.into_iter().map(Ok));
        Ok(more)
    }

    /// The last line, without a newline.
    fn last_line(&mut self, answer: &mut CompatResponse) -> Result<(), ModelError> {
        let mut out = Vec::new();
        match self.lines.take_rest() {
            Some(line) if line == "[DONE]" => answer.mark_done(),
            // After the finish reason a truncated line does not matter.
            Some(line) => {
                if let Err(error) = answer.take_chunk(&line, &mut out)
                    && !answer.is_finished()
                {
                    return Err(error);
                }
            }
            None => {}
        }
        self.ready.extend(out.into_iter().map(Ok));
        Ok(())
    }
}
