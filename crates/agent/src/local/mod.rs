//! A model in this process, from a GGUF file, with llama.cpp. Needs the cargo feature `local`, which builds llama.cpp.
//!
//! One thread owns the model and runs one job at a time. A common beginning of prompts, such as the tools, is read
//! once. A call by text follows a [grammar](crate::small::grammar) of the tools as soon as it begins, so that it parses
//! and matches the tool's schema.
//!
//! | look for | in |
//! | --- | --- |
//! | the model | here: [`LocalModel`] |
//! | the thread and its jobs | `thread` |
//! | reading and caching prompts | `engine`, `prompt_cache` |
//! | scoring | `score` |
//! | writing | `write` |
//! | the chat template | `template` |

mod engine;
mod prompt_cache;
mod score;
mod template;
mod thread;
mod write;

use std::{fmt, io::Read as _, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use tokio::sync::{mpsc, oneshot};
use toolyard_core::ports::IdGenerator;

use self::{
    thread::{EngineJob, ModelThread},
    write::{GrammarMode, WriteEvent, WritePrompt, WriteRequest},
};
use crate::{
    message::{ModelMessage, UserPart},
    model::{
        Model, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, ModelStopReason, ModelStream,
        ResponseEnd,
    },
    small::{Scorer, ScorerCompletion, grammar},
};

/// Most tokens of a response, unless the request says less.
pub const MAX_ANSWER_TOKENS: u32 = 2_048;
/// Parts of a response that are queued for the reader. When the queue is full, the model waits.
const PIECES: usize = 64;
/// The first bytes of a GGUF file.
const MAGIC: &[u8; 4] = b"GGUF";
/// Where the model begins another turn, for models that are not trained on ChatML.
const STOPS: [&str; 2] = ["<|im_end|>", "<|im_start|>"];

/// A file and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// The GGUF file.
    pub path: PathBuf,
    /// Threads that compute a response.
    pub threads: u32,
    /// Most tokens of a conversation including the response.
    pub context: u32,
}

/// A model in this process. It is loaded on first use.
#[derive(Clone)]
pub struct LocalModel {
    info: ModelInfo,
    thread: Arc<ModelThread>,
    ids: Arc<dyn IdGenerator>,
}

impl fmt::Debug for LocalModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalModel").field("info", &self.info).finish_non_exhaustive()
    }
}

impl LocalModel {
    /// A model from this file, which must exist and be a GGUF file. It has no tool support: wrap it in a
    /// [`PromptedModel`](crate::prompted::PromptedModel) or a [`SmallModel`](crate::small::SmallModel).
    pub fn new(info: ModelInfo, file: LocalFile, ids: Arc<dyn IdGenerator>) -> Result<Self, ModelError> {
        let mut magic = [0; 4];
        let read = std::fs::File::open(&file.path).and_then(|mut file| file.read_exact(&mut magic));
        let path = file.path.display();
        if let Err(error) = read {
            return Err(model_error(ModelErrorKind::Unknown, format!("{path} cannot be read: {error}.")));
        }
        if &magic != MAGIC {
            return Err(model_error(ModelErrorKind::Unknown, format!("{path} is not a GGUF file.")));
        }
        Ok(Self { info, thread: Arc::new(ModelThread::new(file)), ids })
    }

    /// The same model with another id.
    pub fn with_id(&self, id: impl Into<String>) -> Self {
        Self { info: ModelInfo { id: id.into(), ..self.info.clone() }, ..self.clone() }
    }

    fn random_seed(&self) -> u32 {
        let mut bytes = [0; 4];
        self.ids.fill_random(&mut bytes);
        u32::from_be_bytes(bytes)
    }
}

#[async_trait]
impl Scorer for LocalModel {
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError> {
        let (reply, answer) = oneshot::channel();
        let (prompt, continuations) = (prompt.to_owned(), continuations.to_vec());
        self.thread.send(EngineJob::Score { prompt, continuations, reply }).await?;
        answer.await.map_err(|_| stopped_error())?
    }

    async fn complete(
        &self,
        prompt: &str,
        grammar: Option<&str>,
        max_tokens: u32,
    ) -> Result<ScorerCompletion, ModelError> {
        let request = WriteRequest {
            prompt: WritePrompt::Text(prompt.to_owned()),
            grammar: grammar.map_or(GrammarMode::Free, |grammar| GrammarMode::Always(grammar.to_owned())),
            max_tokens,
            temperature: 0.0,
            seed: 0,
        };
        let mut pieces = self.start_writing(request).await?;
        let mut text = String::new();
        while let Some(event) = pieces.recv().await {
            match event? {
                WriteEvent::Text(more) => text.push_str(&more),
                WriteEvent::End { whole, usage } => return Ok(ScorerCompletion { text, whole, usage }),
            }
            if let Some(end) = STOPS.iter().filter_map(|stop| text.find(stop)).min() {
                text.truncate(end);
                return Ok(ScorerCompletion { text, whole: true, ..ScorerCompletion::default() });
            }
        }
        Err(stopped_error())
    }
}

impl LocalModel {
    async fn start_writing(
        &self,
        request: WriteRequest,
    ) -> Result<mpsc::Receiver<Result<WriteEvent, ModelError>>, ModelError> {
        let (sink, pieces) = mpsc::channel(PIECES);
        self.thread.send(EngineJob::Write { request, sink }).await?;
        Ok(pieces)
    }
}

#[async_trait]
impl Model for LocalModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let grammar = match grammar::calls_grammar(&request.by_text.tools) {
            None => GrammarMode::Free,
            Some(calls) if request.by_text.required => GrammarMode::Always(calls.gbnf().to_owned()),
            Some(calls) => GrammarMode::From { begin: "<tool>".to_owned(), grammar: calls.gbnf().to_owned() },
        };
        let request = WriteRequest {
            prompt: WritePrompt::Turns(to_turns(&request)),
            grammar,
            max_tokens: request.max_tokens.unwrap_or(MAX_ANSWER_TOKENS),
            temperature: request.temperature.unwrap_or_default() as f32,
            seed: self.random_seed(),
        };
        let mut pieces = self.start_writing(request).await?;
        // Errors of the file or the prompt show before the first text.
        let first = pieces.recv().await.ok_or_else(stopped_error)??;
        let rest = stream::unfold(Some(pieces), |pieces| async move {
            let mut pieces = pieces?;
            match pieces.recv().await {
                Some(Ok(event)) => {
                    let more = matches!(event, WriteEvent::Text(_)).then_some(pieces);
                    Some((Ok(to_event(event)), more))
                }
                Some(Err(error)) => Some((Err(error), None)),
                None => Some((Err(stopped_error()), None)),
            }
        });
        Ok(match first {
            WriteEvent::Text(_) => stream::iter([Ok(to_event(first))]).chain(rest).boxed(),
            WriteEvent::End { .. } => stream::iter([Ok(to_event(first))]).boxed(),
        })
    }
}

fn to_event(event: WriteEvent) -> ModelEvent {
    match event {
        WriteEvent::Text(text) => ModelEvent::Text(text),
        WriteEvent::End { whole, usage } => {
            let stop = if whole { ModelStopReason::Done } else { ModelStopReason::Length };
            ModelEvent::End(ResponseEnd { stop, usage: Some(usage), vendor_state: None })
        }
    }
}

/// The conversation as turns of text. Calls and results are text already if tools are called by text.
fn to_turns(request: &ModelRequest) -> Vec<template::TemplateTurn> {
    let system = request.system.iter().map(|text| template::TemplateTurn::new("system", text));
    let messages = request.messages.iter().map(|message| match message {
        ModelMessage::User(parts) => {
            let texts = parts.iter().map(|part| match part {
                UserPart::Text(text) => text.as_str(),
                UserPart::File { .. } => "(a file, which this model cannot see)",
            });
            template::TemplateTurn::new("user", &texts.collect::<Vec<_>>().join("\n"))
        }
        ModelMessage::Assistant(reply) => template::TemplateTurn::new("assistant", &reply.text),
        ModelMessage::Tools(answers) => {
            let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
            template::TemplateTurn::new("user", &texts.join("\n"))
        }
    });
    system.chain(messages).collect()
}

fn model_error(kind: ModelErrorKind, text: String) -> ModelError {
    ModelError { kind, text, cause: None, retry_after: None }
}

fn stopped_error() -> ModelError {
    model_error(ModelErrorKind::Broken, "The model in this process stopped. Try again.".to_owned())
}
