//! Servers that speak as OpenAI's chat completions do: OpenAI itself, Ollama, llama-server, vLLM, LM Studio, OpenRouter.
//!
//! Our own client and not `genai`'s, because the servers deviate and `genai` 0.7.2 does not survive it: a call without an
//! `index` is lost, an index of a billion is a list of a billion calls, arguments that are an object are lost, an answer
//! without `[DONE]` loses calls, usage and its end, and a model named `qwen-max` is asked for as `qwen`.

mod answer;
mod body;
mod lines;
mod wire;

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use reqwest::{Client, Response, header};
use toolyard_core::ports::Ids;
use toolyard_protocol::chat::sampling::SamplingOption;

use super::{
    Bounds, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream,
    limits::{Family, Fits},
    retry,
    trouble::Whom,
    web,
};
use answer::Answer;
use lines::Lines;

/// Longest answer on the wire, in bytes.
pub(super) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Longest body of a refusal that is read.
const MAX_REFUSAL: usize = 16 * 1024;

/// A model behind such a server.
pub(super) struct CompatModel {
    pub(super) info: ModelInfo,
    /// What it is called there.
    pub(super) model: String,
    pub(super) family: Family,
    pub(super) fits: Arc<Fits>,
    pub(super) whom: Whom,
    pub(super) client: Client,
    pub(super) bounds: Bounds,
    pub(super) ids: Arc<dyn Ids>,
}

impl std::fmt::Debug for CompatModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompatModel")
            .field("info", &self.info)
            .field("whom", &self.whom)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for CompatModel {
    fn about(&self) -> &ModelInfo {
        &self.info
    }

    /// All are parameters of this protocol; a server that does not take one says so.
    fn supports(&self, _option: SamplingOption) -> bool {
        true
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let body = body::body(&self.info.id, &self.model, self.family, &self.fits, &request);
        let body = Bytes::from(body.to_string());
        retry::ask(&self.bounds, &*self.ids, || self.attempt(body.clone())).await
    }
}

impl CompatModel {
    async fn attempt(&self, body: Bytes) -> Result<ModelStream, ModelError> {
        let url =
            self.whom.url.join("chat/completions").map_err(|error| self.whom.broken(&error.to_string()))?;
        let mut request = self
            .client
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(body);
        if let Some(key) = &self.whom.key {
            request = request.bearer_auth(key.expose());
        }
        let response = tokio::time::timeout(self.bounds.first_byte, request.send())
            .await
            .map_err(|_| self.whom.late(self.bounds.first_byte))?
            .map_err(|error| self.whom.transport(&error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(self.hear(response))
    }

    async fn refused(&self, response: Response) -> ModelError {
        let (status, headers) = (response.status(), response.headers().clone());
        // Vendors' errors are small; one that is not, or does not come, is not worth a wait.
        let body = tokio::time::timeout(self.bounds.tail, web::text(response, MAX_REFUSAL)).await;
        let body = body.ok().and_then(Result::ok).flatten().unwrap_or_default();
        self.whom.status(status, &headers, &body)
    }

    fn hear(&self, response: Response) -> ModelStream {
        let hearing = Hearing {
            answer: Some(Answer::new(self.info.id.clone(), self.whom.clone(), self.ids.clone())),
            pieces: Box::pin(response.bytes_stream()),
            lines: Lines::default(),
            ready: VecDeque::new(),
            bytes: 0,
            idle: self.bounds.idle,
            tail: self.bounds.tail,
        };
        stream::unfold(hearing, |mut hearing| async move { Some((hearing.next().await?, hearing)) }).boxed()
    }
}

/// An answer while it comes.
struct Hearing {
    /// None once it ended.
    answer: Option<Answer>,
    pieces: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    lines: Lines,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    bytes: usize,
    idle: Duration,
    tail: Duration,
}

impl Hearing {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            // Taken out, so that after an error or the end nothing more can come.
            let mut answer = self.answer.take()?;
            // After the last word only figures can come, and some servers leave the connection open instead.
            let wait = if answer.said_all() { self.tail } else { self.idle };
            let more = match tokio::time::timeout(wait, self.pieces.next()).await {
                Ok(Some(Ok(piece))) => self.piece(&mut answer, &piece),
                Ok(Some(Err(error))) if !answer.said_all() => Err(answer.whom().transport(&error)),
                Err(_) if !answer.said_all() => Err(answer.whom().silent(wait)),
                Ok(None) | Ok(Some(Err(_))) | Err(_) => self.last_line(&mut answer).map(|()| false),
            };
            match more {
                Ok(true) => self.answer = Some(answer),
                Ok(false) => self.ready.extend(answer.finish()),
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
    }

    /// Takes a piece of the wire; false once the answer said that it ended.
    fn piece(&mut self, answer: &mut Answer, piece: &[u8]) -> Result<bool, ModelError> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MAX_ANSWER {
            return Err(answer.whom().broken(&format!("an answer of more than {MAX_ANSWER} bytes")));
        }
        let mut out = Vec::new();
        let mut more = true;
        for line in
            self.lines.feed(piece).map_err(|_| answer.whom().broken("a line of the answer is too long"))?
        {
            match line.as_str() {
                "[DONE]" => {
                    answer.done();
                    more = false;
                    break;
                }
                line => answer.take(line, &mut out)?,
            }
        }
        self.ready.extend(out.into_iter().map(Ok));
        Ok(more)
    }

    /// The line that no newline ended.
    fn last_line(&mut self, answer: &mut Answer) -> Result<(), ModelError> {
        let mut out = Vec::new();
        match self.lines.rest() {
            Some(line) if line == "[DONE]" => answer.done(),
            // After the last word a line that was cut does not matter.
            Some(line) => {
                if let Err(error) = answer.take(&line, &mut out)
                    && !answer.said_all()
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
