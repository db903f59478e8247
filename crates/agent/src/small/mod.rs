//! Models of a few hundred million parameters. Such a model neither follows instructions about tools nor writes valid
//! JSON, but it can tell which of a few continuations is the most likely. So [`SmallModel`] asks it three narrow
//! questions:
//!
//! 1. Which tool? Each name, and the pseudo tool `reply`, is scored as a continuation, and the score after a text without
//!    content is subtracted, because the model has a bias. The user's words are scored too, as those of a user who wants
//!    what the tool does.
//! 2. Which arguments? They are written with the [`grammar`] of the tool's schema, first with the user's own words
//!    only.
//! 3. For `reply`: a short text.
//!
//! After a tool call, the text of its result is the response. There is one tool per turn, at most [`MAX_TOOLS`] to
//! choose from, and only the user's last message counts.
//!
//! | look for | in |
//! | --- | --- |
//! | the port that a model needs | here: [`Scorer`] |
//! | the port for llama.cpp's server | [`llama_server`] |
//! | the prompts | `prompt` |
//! | the choice | `choose` |
//! | grammars for arguments | [`grammar`] |

mod choose;
pub mod grammar;
pub mod llama_server;
mod prompt;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, value::RawValue};
use tokio::sync::Mutex;
use toolyard_core::{
    ports::IdGenerator,
    schema::{CompiledSchema, pool::WorkOwner},
};

use self::{choose::BiasCache, prompt::ChoicePrompt};
use crate::{
    message::{ModelMessage, ModelToolCall},
    model::{
        CallingMode, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStopReason, ModelStream,
        ModelUsage, ResponseEnd, ToolChoice, ToolSpec, ids,
    },
    shortlist::{ToolDocument, ToolIndex, ToolQuery, parameters_of, pick_tools},
};

/// Most tools to choose from. If there are more, those that match the user's words best are used.
pub const MAX_TOOLS: usize = 8;
/// Most tokens of a continuation that count.
pub const MAX_CONTINUATION: usize = 64;
/// Most tokens of arguments.
pub const MAX_ARGUMENT_TOKENS: u32 = 192;
/// Most tokens of a reply, unless the request says less.
pub const MAX_REPLY_TOKENS: u32 = 96;

/// What is needed of a model: the probability of texts, and completions. A common beginning of two prompts should be
/// read once.
#[async_trait]
pub trait Scorer: Send + Sync + fmt::Debug {
    /// The logarithm of the probability of each continuation after the prompt, in order.
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError>;

    /// The most likely text after the prompt, optionally with a grammar (GBNF), of at most `max_tokens` tokens.
    async fn complete(
        &self,
        prompt: &str,
        grammar: Option<&str>,
        max_tokens: u32,
    ) -> Result<ScorerCompletion, ModelError>;
}

/// A completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScorerCompletion {
    /// The text.
    pub text: String,
    /// Whether it is complete. Otherwise the token limit was reached.
    pub whole: bool,
    /// The tokens it used.
    pub usage: ModelUsage,
}

/// Makes a small model call tools.
#[derive(Clone)]
pub struct SmallModel {
    scorer: Arc<dyn Scorer>,
    ids: Arc<dyn IdGenerator>,
    info: ModelInfo,
    /// Locked for a whole response: two at once would evict each other's prompt from the model's cache.
    bias_cache: Arc<Mutex<BiasCache>>,
}

impl fmt::Debug for SmallModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmallModel")
            .field("info", &self.info)
            .field("scorer", &self.scorer)
            .finish_non_exhaustive()
    }
}

impl SmallModel {
    /// Wraps a scorer. Call ids are made with `ids`.
    pub fn new(scorer: Arc<dyn Scorer>, id: impl Into<String>, ids: Arc<dyn IdGenerator>) -> Self {
        let info = ModelInfo { id: id.into(), calling: CallingMode::Small };
        Self { scorer, ids, info, bias_cache: Arc::default() }
    }

    /// The same model with another id.
    pub fn with_id(&self, id: impl Into<String>) -> Self {
        let info = ModelInfo { id: id.into(), ..self.info.clone() };
        Self { info, ..self.clone() }
    }

    /// The tool that matches the user's words. None for a reply.
    async fn choose_tool(
        &self,
        bias_cache: &BiasCache,
        request: &ModelRequest,
        prompt: &ChoicePrompt,
    ) -> Result<Option<Arc<ToolSpec>>, ModelError> {
        if prompt.tools().is_empty() || prompt.user_text().is_empty() {
            return Ok(None);
        }
        let may_reply = match request.choice {
            ToolChoice::Auto => true,
            ToolChoice::Required => false,
            ToolChoice::None => return Ok(None),
        };
        choose::choose_tool(&*self.scorer, bias_cache, prompt, may_reply).await
    }

    /// Arguments that match the tool's schema: from the user's own words, or if these do not match, free ones.
    async fn write_arguments(
        &self,
        prompt: &ChoicePrompt,
        tool: &ToolSpec,
        usage: &mut ModelUsage,
    ) -> Result<Option<Box<RawValue>>, ModelError> {
        // An invalid schema is reported by the turn.
        let schema = CompiledSchema::compile_on_pool(&WorkOwner::anonymous(), &tool.schema, "parameters")
            .await
            .ok()
            .and_then(Result::ok);
        let begun = prompt.arguments_prompt(&tool.name);
        for grammar in [
            grammar::copying_grammar(&tool.schema, prompt.user_text()),
            grammar::arguments_grammar(&tool.schema),
        ] {
            let written = self.scorer.complete(&begun, Some(grammar.gbnf()), MAX_ARGUMENT_TOKENS).await?;
            *usage += written.usage;
            if let Some(arguments) = check_arguments(&written, schema.as_ref()).await {
                return Ok(Some(arguments));
            }
        }
        Ok(None)
    }

    async fn write_reply(
        &self,
        request: &ModelRequest,
        usage: &mut ModelUsage,
    ) -> Result<(String, ModelStopReason), ModelError> {
        let most = request.max_tokens.unwrap_or(MAX_REPLY_TOKENS).min(MAX_REPLY_TOKENS);
        let completion = self.scorer.complete(&prompt::reply_prompt(request), None, most).await?;
        *usage += completion.usage;
        let text = prompt::without_markers(completion.text.trim());
        Ok((text, if completion.whole { ModelStopReason::Done } else { ModelStopReason::Length }))
    }
}

#[async_trait]
impl Model for SmallModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut usage = ModelUsage::default();
        if let Some(ModelMessage::Tools(answers)) = request.messages.last() {
            let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
            return Ok(text_response(texts.join("\n"), ModelStopReason::Done, usage));
        }
        let prompt = ChoicePrompt::new(&fitting_tools(&request), prompt::last_words(&request.messages));
        let bias_cache = self.bias_cache.lock().await;
        if let Some(tool) = self.choose_tool(&bias_cache, &request, &prompt).await? {
            let Some(arguments) = self.write_arguments(&prompt, &tool, &mut usage).await? else {
                let text = format!(
                    "I cannot tell what to give to the tool {}; please say it in other words.",
                    tool.name
                );
                return Ok(text_response(text, ModelStopReason::Done, usage));
            };
            let call = ModelToolCall { id: ids::new_call_id(&*self.ids), name: tool.name.clone(), arguments };
            let end = ResponseEnd { stop: ModelStopReason::Calls, usage: Some(usage), vendor_state: None };
            return Ok(stream::iter([Ok(ModelEvent::Call(call)), Ok(ModelEvent::End(end))]).boxed());
        }
        let (text, stop) = self.write_reply(&request, &mut usage).await?;
        Ok(text_response(text, stop, usage))
    }
}

/// A response with this text.
fn text_response(text: String, stop: ModelStopReason, usage: ModelUsage) -> ModelStream {
    let end = ResponseEnd { stop, usage: Some(usage), vendor_state: None };
    stream::iter([Ok(ModelEvent::Text(text)), Ok(ModelEvent::End(end))]).boxed()
}

/// The completion as arguments, if it is complete, an object, and matches the schema.
async fn check_arguments(
    written: &ScorerCompletion,
    schema: Option<&Arc<CompiledSchema>>,
) -> Option<Box<RawValue>> {
    if !written.whole {
        return None;
    }
    let value: Value = serde_json::from_str(&written.text).ok().filter(Value::is_object)?;
    if let Some(schema) = schema {
        schema.check_value(&WorkOwner::anonymous(), value).await.ok()?;
    }
    serde_json::from_str(&written.text).ok()
}

/// The tools to choose from.
fn fitting_tools(request: &ModelRequest) -> Vec<Arc<ToolSpec>> {
    if request.tools.len() <= MAX_TOOLS {
        return request.tools.clone();
    }
    let documents = request.tools.iter().enumerate().map(|(key, tool)| ToolDocument {
        key,
        name: &tool.name,
        aliases: Vec::new(),
        title: "",
        app_name: "",
        description: &tool.description,
        parameters: parameters_of(&tool.schema),
        phrases: Vec::new(),
    });
    let query = ToolQuery { text: prompt::last_words(&request.messages), recent: Vec::new() };
    let mut best = pick_tools(&ToolIndex::build(documents, None), &query, &[], MAX_TOOLS);
    // In the order of the request: the same tools make the same prompt, which is cached and calibrated.
    best.sort_unstable();
    best.into_iter().filter_map(|key| request.tools.get(key).cloned()).collect()
}
