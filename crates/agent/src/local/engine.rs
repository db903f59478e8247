//! The engine: reads prompts, and caches what it has read.

use std::num::NonZeroU32;

use llama_cpp_2::{
    context::{LlamaContext, params::LlamaContextParams},
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::LlamaModel,
    token::LlamaToken,
};

use super::{
    LocalFile, model_error,
    prompt_cache::{PromptCache, SLOTS, SlotChoice},
};
use crate::model::{ModelError, ModelErrorKind};

/// Tokens that are decoded at once. Between two batches it is checked whether the caller still waits.
pub(super) const BATCH: usize = 256;

/// The model, and its cached prompts.
pub(super) struct LocalEngine<'a> {
    pub(super) model: &'a LlamaModel,
    pub(super) context: LlamaContext<'a>,
    pub(super) batch: LlamaBatch<'a>,
    cache: PromptCache,
}

/// A prompt that was read. The last token of the engine's batch has the logits of the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPrompt {
    pub(super) slot: usize,
    pub(super) length: usize,
}

impl<'a> LocalEngine<'a> {
    pub(super) fn new(
        backend: &LlamaBackend,
        model: &'a LlamaModel,
        file: &LocalFile,
    ) -> Result<Self, llama_cpp_2::LlamaContextLoadError> {
        let threads = i32::try_from(file.threads.max(1)).unwrap_or(1);
        let room = file.context.min(model.n_ctx_train().max(1));
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(room))
            .with_n_batch(BATCH as u32)
            .with_n_ubatch(BATCH as u32)
            .with_n_seq_max(SLOTS as u32)
            // One memory for all slots, so that a common beginning is stored once.
            .with_kv_unified(true)
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        let context = model.new_context(backend, params)?;
        Ok(Self { model, context, batch: LlamaBatch::new(BATCH, 1), cache: PromptCache::new() })
    }

    /// Most tokens of a prompt including the response.
    pub(super) fn context_size(&self) -> usize {
        self.context.n_ctx() as usize
    }

    /// Text as tokens. Control tokens are parsed in our own text only.
    pub(super) fn tokenize(&self, text: &str, first: bool, ours: bool) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), first, ours)
    }

    /// Reads a prompt, as far as it is not cached, and leaves room for `more` tokens.
    pub(super) fn read_prompt(
        &mut self,
        prompt: &[LlamaToken],
        more: usize,
        left: &dyn Fn() -> bool,
    ) -> Result<ReadPrompt, ModelError> {
        if prompt.is_empty() || prompt.len() + more > self.context_size() {
            let text = format!(
                "The conversation has {} tokens, and the model has room for {} including its response. Shorten the \
                 conversation, or increase the model's `context`.",
                prompt.len(),
                self.context_size()
            );
            return Err(model_error(ModelErrorKind::Refused, text));
        }
        let place = self.cache.choose_slot(prompt);
        let SlotChoice { slot, .. } = place;
        let known = self.prepare_slot(place, prompt.len() + more)?;
        // The slot is invalid if this fails in the middle.
        self.cache.clear(slot);
        let mut at = known;
        for part in prompt[known..].chunks(BATCH) {
            if left() {
                self.clear_slot(slot, 0)?;
                return Err(model_error(ModelErrorKind::Broken, "The request was cancelled.".to_owned()));
            }
            let last = at + part.len() == prompt.len();
            self.decode(part, at, slot, if last { LogitsMode::Last } else { LogitsMode::Nothing })?;
            at += part.len();
        }
        self.cache.store(slot, prompt);
        Ok(ReadPrompt { slot, length: prompt.len() })
    }

    /// Makes the slot begin with the cached part of the prompt. Returns how many tokens that is.
    fn prepare_slot(&mut self, place: SlotChoice, needed: usize) -> Result<usize, ModelError> {
        let SlotChoice { slot, copy_from, known } = place;
        let mut known = known;
        match copy_from {
            Some(from) => {
                self.clear_slot(slot, 0)?;
                let (from, to) = (from as i32, slot as i32);
                let end = u32::try_from(known).ok();
                self.context
                    .copy_kv_cache_seq(from, to, Some(0), end)
                    .map_err(|error| engine_error(&error))?;
            }
            // Some models cannot remove a part of a sequence.
            None if !self.clear_slot(slot, known)? => {
                self.clear_slot(slot, 0)?;
                known = 0;
            }
            None => {}
        }
        if self.cache.tokens_elsewhere(slot) + needed > self.context_size() {
            for other in (0..SLOTS).filter(|other| *other != slot) {
                self.clear_slot(other, 0)?;
                self.cache.clear(other);
            }
        }
        Ok(known)
    }

    /// Clears a slot from this token on.
    pub(super) fn clear_slot(&mut self, slot: usize, from: usize) -> Result<bool, ModelError> {
        let (slot, from) = (u32::try_from(slot).ok(), u32::try_from(from).ok());
        self.context.clear_kv_cache_seq(slot, from, None).map_err(|error| engine_error(&error))
    }

    /// Records that a slot holds the prompt and the text after it.
    pub(super) fn cache_tokens(&mut self, slot: usize, tokens: &[LlamaToken]) {
        self.cache.store(slot, tokens);
    }

    /// Decodes tokens at a position. Afterwards their logits can be read by index.
    pub(super) fn decode(
        &mut self,
        tokens: &[LlamaToken],
        from: usize,
        slot: usize,
        mode: LogitsMode,
    ) -> Result<(), ModelError> {
        self.batch.clear();
        for (at, token) in tokens.iter().enumerate() {
            let with_logits = match mode {
                LogitsMode::Nothing => false,
                LogitsMode::Last => at + 1 == tokens.len(),
                LogitsMode::Each => true,
            };
            let place = i32::try_from(from + at).map_err(|error| engine_error(&error))?;
            self.batch
                .add(*token, place, &[slot as i32], with_logits)
                .map_err(|error| engine_error(&error))?;
        }
        self.context.decode(&mut self.batch).map_err(|error| engine_error(&error))
    }

    /// The logits of the next token.
    pub(super) fn next_logits(&self) -> &[f32] {
        self.context.get_logits_ith(self.batch.n_tokens() - 1)
    }
}

/// The tokens whose logits are computed.
#[derive(Debug, Clone, Copy)]
pub(super) enum LogitsMode {
    Nothing,
    Last,
    Each,
}

pub(super) fn engine_error(error: &dyn std::fmt::Display) -> ModelError {
    let text = "The model in this process failed. Try again.".to_owned();
    ModelError { cause: Some(error.to_string()), ..model_error(ModelErrorKind::Broken, text) }
}
