//! Models of a few hundred million parameters. Such a model neither follows instructions on tools nor writes sound JSON,
//! but it can tell which of a few continuations fits best. So [`SmallModel`] asks it three narrow questions:
//!
//! 1. Which tool? Each name, and the pseudo tool `reply`, is scored as what comes next, and what the model would say to a
//!    text without content is subtracted: without that it has its favourites. The user's words are scored too, as those of
//!    somebody who wants what the tool does.
//! 2. Which arguments? Written under the [`grammar`] of the tool's schema, first with the user's own words only.
//! 3. For `reply`: a short text.
//!
//! After a tool answered, its own text is the answer. One tool a turn, at most [`MAX_TOOLS`] to choose from, and only the
//! user's last words count.
//!
//! | look for | in |
//! | --- | --- |
//! | what is needed of a model | here: [`Scorer`] |
//! | the port over llama.cpp's server | [`llama_server`] |
//! | what the model reads | `prompt` |
//! | the choice | `choose` |
//! | grammars for arguments | [`grammar`] |
//! | how good it is | [`eval`] |

mod choose;
pub mod eval;
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

/// Most tools to choose from. Where there are more, those are left that fit the user's words best.
pub const MAX_TOOLS: usize = 8;
/// Most tokens of a continuation that count.
pub const MAX_CONTINUATION: usize = 64;
/// Most tokens of arguments.
pub const MAX_ARGUMENT_TOKENS: u32 = 192;
/// Most tokens of a reply, where the request does not say less.
pub const MAX_REPLY_TOKENS: u32 = 96;

/// What is needed of a model that runs somewhere: how likely it finds texts, and texts of its own. What two prompts have
/// in common at their beginning should be read once.
#[async_trait]
pub trait Scorer: Send + Sync + fmt::Debug {
    /// The logarithm of the probability of each continuation after the prompt, in their order.
    async fn score(&self, prompt: &str, continuations: &[String]) -> Result<Vec<f64>, ModelError>;

    /// The most likely text after the prompt: under a grammar (GBNF) where one is given, of at most so many tokens.
    async fn complete(
        &self,
        prompt: &str,
        grammar: Option<&str>,
        max_tokens: u32,
    ) -> Result<ScorerCompletion, ModelError>;
}

/// What a model wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScorerCompletion {
    /// The text.
    pub text: String,
    /// Whether it came to its end; else there was no room for more.
    pub whole: bool,
    /// What it cost.
    pub usage: ModelUsage,
}

/// A small model, made to call tools.
#[derive(Clone)]
pub struct SmallModel {
    scorer: Arc<dyn Scorer>,
    ids: Arc<dyn IdGenerator>,
    about: ModelInfo,
    /// Held for a whole answer: two at once would take turns to throw each other's prompt out of the model.
    calibrations: Arc<Mutex<BiasCache>>,
}

impl fmt::Debug for SmallModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmallModel")
            .field("about", &self.about)
            .field("scorer", &self.scorer)
            .finish_non_exhaustive()
    }
}

impl SmallModel {
    /// Around a scorer. Ids of calls are made with `ids`.
    pub fn new(scorer: Arc<dyn Scorer>, id: impl Into<String>, ids: Arc<dyn IdGenerator>) -> Self {
        let about = ModelInfo { id: id.into(), calling: CallingMode::Small };
        Self { scorer, ids, about, calibrations: Arc::default() }
    }

    /// The same model by another name.
    pub fn with_id(&self, id: impl Into<String>) -> Self {
        let about = ModelInfo { id: id.into(), ..self.about.clone() };
        Self { about, ..self.clone() }
    }

    /// The tool that fits the user's words, unless it is a reply.
    async fn choose_tool(
        &self,
        calibrations: &mut BiasCache,
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
        choose::choose_tool(&*self.scorer, calibrations, prompt, may_reply).await
    }

    /// Arguments that fit the tool's schema: the user's own words, or if they do not fit, others.
    async fn write_arguments(
        &self,
        prompt: &ChoicePrompt,
        tool: &ToolSpec,
        usage: &mut ModelUsage,
    ) -> Result<Option<Box<RawValue>>, ModelError> {
        // A schema that cannot be compiled is the turn's business; it says so in better words.
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
        let said = self.scorer.complete(&prompt::reply_prompt(request), None, most).await?;
        *usage += said.usage;
        let text = prompt::without_markers(said.text.trim());
        Ok((text, if said.whole { ModelStopReason::Done } else { ModelStopReason::Length }))
    }
}

#[async_trait]
impl Model for SmallModel {
    fn info(&self) -> &ModelInfo {
        &self.about
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut usage = ModelUsage::default();
        if let Some(ModelMessage::Tools(answers)) = request.messages.last() {
            let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
            return Ok(text_response(texts.join("\n"), ModelStopReason::Done, usage));
        }
        let prompt = ChoicePrompt::new(&fitting_tools(&request), prompt::last_words(&request.messages));
        let mut calibrations = self.calibrations.lock().await;
        if let Some(tool) = self.choose_tool(&mut calibrations, &request, &prompt).await? {
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

/// An answer in words.
fn text_response(text: String, stop: ModelStopReason, usage: ModelUsage) -> ModelStream {
    let end = ResponseEnd { stop, usage: Some(usage), vendor_state: None };
    stream::iter([Ok(ModelEvent::Text(text)), Ok(ModelEvent::End(end))]).boxed()
}

/// What was written, if it is whole, an object, and fits.
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
    // In the order of the request: the same tools make the same prompt, which the model has read and is calibrated for.
    best.sort_unstable();
    best.into_iter().filter_map(|key| request.tools.get(key).cloned()).collect()
}
