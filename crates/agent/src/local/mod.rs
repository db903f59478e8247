//! A model in this process, out of a GGUF file, on llama.cpp. Only with the cargo feature `local`, which builds it.
//!
//! One thread owns the model and does one thing after the other. What two prompts have in common at their beginning, such
//! as the tools, is read once. A call by text is held to a [grammar](crate::small::grammar) of the tools from where it
//! begins, so that it parses and fits the tool's schema.
//!
//! | look for | in |
//! | --- | --- |
//! | the model, as others see it | here: [`LocalModel`] |
//! | the thread, and what it is asked | `thread` |
//! | reading prompts and what is kept of them | `engine`, `kept` |
//! | scoring | `score` |
//! | writing | `write` |
//! | a conversation in the form that the model was trained on | `template` |

mod engine;
mod kept;
mod score;
mod template;
mod thread;
mod write;

use std::{fmt, io::Read as _, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use tokio::sync::{mpsc, oneshot};
use toolyard_core::ports::Ids;

use self::{
    thread::{Job, Thread},
    write::{Prompt, Rule, Said, Wish},
};
use crate::{
    message::{Message, Part},
    model::{End, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream, ModelTrouble, Stop},
    small::{Completion, Scorer, grammar},
};

/// Most tokens of an answer, where the request does not say less.
pub const MAX_ANSWER_TOKENS: u32 = 2_048;
/// Pieces of an answer that wait for the reader; then the model waits too.
const PIECES: usize = 64;
/// What a GGUF file begins with.
const MAGIC: &[u8; 4] = b"GGUF";
/// Where the model begins another turn, for models that do not know ChatML as their own.
const STOPS: [&str; 2] = ["<|im_end|>", "<|im_start|>"];

/// A file, and what it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// The GGUF file.
    pub path: PathBuf,
    /// Threads that work on an answer.
    pub threads: u32,
    /// Most tokens of a conversation with its answer.
    pub context: u32,
}

/// A model in this process. It is loaded when it is first asked.
#[derive(Clone)]
pub struct LocalModel {
    about: ModelInfo,
    thread: Arc<Thread>,
    ids: Arc<dyn Ids>,
}

impl fmt::Debug for LocalModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalModel").field("about", &self.about).finish_non_exhaustive()
    }
}

impl LocalModel {
    /// Of that file, which must be there and be one. It knows no tools of its own: put it into a
    /// [`PromptedModel`](crate::prompted::PromptedModel) or a [`SmallModel`](crate::small::SmallModel).
    pub fn new(about: ModelInfo, file: LocalFile, ids: Arc<dyn Ids>) -> Result<Self, ModelError> {
        let mut magic = [0; 4];
        let read = std::fs::File::open(&file.path).and_then(|mut file| file.read_exact(&mut magic));
        let path = file.path.display();
        if let Err(error) = read {
            return Err(trouble(ModelTrouble::Unknown, format!("{path} cannot be read: {error}.")));
        }
        if &magic != MAGIC {
            return Err(trouble(ModelTrouble::Unknown, format!("{path} is not a GGUF file.")));
        }
        Ok(Self { about, thread: Arc::new(Thread::new(file)), ids })
    }

    /// The same model by another name.
    pub fn named(&self, id: impl Into<String>) -> Self {
        Self { about: ModelInfo { id: id.into(), ..self.about.clone() }, ..self.clone() }
    }

    fn seed(&self) -> u32 {
        let mut bytes = [0; 4];
        self.ids.fill(&mut bytes);
        u32::from_be_bytes(bytes)
    }
}

#[async_trait]
impl Scorer for LocalModel {
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError> {
        let (reply, answer) = oneshot::channel();
        let (prompt, continuations) = (prompt.to_owned(), continuations.to_vec());
        self.thread.send(Job::Score { prompt, continuations, reply }).await?;
        answer.await.map_err(|_| gone())?
    }

    async fn complete(
        &self,
        prompt: &str,
        grammar: Option<&str>,
        max_tokens: u32,
    ) -> Result<Completion, ModelError> {
        let wish = Wish {
            prompt: Prompt::Text(prompt.to_owned()),
            rule: grammar.map_or(Rule::Free, |grammar| Rule::Always(grammar.to_owned())),
            max_tokens,
            temperature: 0.0,
            seed: 0,
        };
        let mut pieces = self.write(wish).await?;
        let mut text = String::new();
        while let Some(said) = pieces.recv().await {
            match said? {
                Said::Text(more) => text.push_str(&more),
                Said::End { whole, usage } => return Ok(Completion { text, whole, usage }),
            }
            if let Some(end) = STOPS.iter().filter_map(|stop| text.find(stop)).min() {
                text.truncate(end);
                return Ok(Completion { text, whole: true, ..Completion::default() });
            }
        }
        Err(gone())
    }
}

impl LocalModel {
    async fn write(&self, wish: Wish) -> Result<mpsc::Receiver<Result<Said, ModelError>>, ModelError> {
        let (sink, pieces) = mpsc::channel(PIECES);
        self.thread.send(Job::Write { wish, sink }).await?;
        Ok(pieces)
    }
}

#[async_trait]
impl Model for LocalModel {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let rule = match grammar::calls(&request.by_text.tools) {
            None => Rule::Free,
            Some(calls) if request.by_text.required => Rule::Always(calls.text().to_owned()),
            Some(calls) => Rule::From { begin: "<tool>".to_owned(), grammar: calls.text().to_owned() },
        };
        let wish = Wish {
            prompt: Prompt::Turns(turns(&request)),
            rule,
            max_tokens: request.max_tokens.unwrap_or(MAX_ANSWER_TOKENS),
            temperature: request.temperature.unwrap_or_default() as f32,
            seed: self.seed(),
        };
        let mut pieces = self.write(wish).await?;
        // Whatever is wrong with the file or the prompt shows before the first word.
        let first = pieces.recv().await.ok_or_else(gone)??;
        let rest = stream::unfold(Some(pieces), |pieces| async move {
            let mut pieces = pieces?;
            match pieces.recv().await {
                Some(Ok(said)) => {
                    let more = matches!(said, Said::Text(_)).then_some(pieces);
                    Some((Ok(event(said)), more))
                }
                Some(Err(error)) => Some((Err(error), None)),
                None => Some((Err(gone()), None)),
            }
        });
        Ok(match first {
            Said::Text(_) => stream::iter([Ok(event(first))]).chain(rest).boxed(),
            Said::End { .. } => stream::iter([Ok(event(first))]).boxed(),
        })
    }
}

fn event(said: Said) -> ModelEvent {
    match said {
        Said::Text(text) => ModelEvent::Text(text),
        Said::End { whole, usage } => {
            let stop = if whole { Stop::Done } else { Stop::Length };
            ModelEvent::End(End { stop, usage: Some(usage), kept: None })
        }
    }
}

/// The conversation as turns of text. Calls and results are text already where they come by text.
fn turns(request: &ModelRequest) -> Vec<template::Turn> {
    let system = request.system.iter().map(|text| template::Turn::new("system", text));
    let messages = request.messages.iter().map(|message| match message {
        Message::User(parts) => {
            let texts = parts.iter().map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::File { .. } => "(a file, which this model cannot see)",
            });
            template::Turn::new("user", &texts.collect::<Vec<_>>().join("\n"))
        }
        Message::Assistant(said) => template::Turn::new("assistant", &said.text),
        Message::Tools(answers) => {
            let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
            template::Turn::new("user", &texts.join("\n"))
        }
    });
    system.chain(messages).collect()
}

fn trouble(kind: ModelTrouble, text: String) -> ModelError {
    ModelError { kind, text, cause: None, retry_after: None }
}

fn gone() -> ModelError {
    trouble(ModelTrouble::Broken, "The model in this process stopped. Ask again.".to_owned())
}
