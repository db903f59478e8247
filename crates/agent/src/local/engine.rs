//! The model at work: prompts are read here, and what was read is kept.

use std::num::NonZeroU32;

use llama_cpp_2::{
    context::{LlamaContext, params::LlamaContextParams},
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::LlamaModel,
    token::LlamaToken,
};

use super::{
    LocalFile,
    kept::{Kept, Place, SLOTS},
    trouble,
};
use crate::model::{ModelError, ModelTrouble};

/// Tokens that are read at once; between two of these it is seen whether anybody still wants to know.
pub(super) const BATCH: usize = 256;

/// The model, and what it has read.
pub(super) struct Engine<'a> {
    pub(super) model: &'a LlamaModel,
    pub(super) context: LlamaContext<'a>,
    pub(super) batch: LlamaBatch<'a>,
    kept: Kept,
}

/// A prompt that was read. What comes next is told by the last token of the engine's batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) slot: usize,
    pub(super) length: usize,
}

impl<'a> Engine<'a> {
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
            // One memory for all slots, so that what they have in common is there once.
            .with_kv_unified(true)
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        let context = model.new_context(backend, params)?;
        Ok(Self { model, context, batch: LlamaBatch::new(BATCH, 1), kept: Kept::new() })
    }

    /// Most tokens of a prompt with its answer.
    pub(super) fn room(&self) -> usize {
        self.context.n_ctx() as usize
    }

    /// Text as tokens. Only in our own text do the marks of the model's language mean something.
    pub(super) fn tokens(&self, text: &str, first: bool, ours: bool) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), first, ours)
    }

    /// Reads a prompt, as far as it is not known, and leaves room for so many more tokens.
    pub(super) fn read(
        &mut self,
        prompt: &[LlamaToken],
        more: usize,
        left: &dyn Fn() -> bool,
    ) -> Result<Read, ModelError> {
        if prompt.is_empty() || prompt.len() + more > self.room() {
            let text = format!(
                "The conversation has {} tokens, and the model has room for {} with its answer. Say less, or give the model \
                 more `context`.",
                prompt.len(),
                self.room()
            );
            return Err(trouble(ModelTrouble::Refused, text));
        }
        let place = self.kept.place(prompt);
        let Place { slot, .. } = place;
        let known = self.prepare(place, prompt.len() + more)?;
        // Nothing holds if this breaks off in the middle.
        self.kept.forget(slot);
        let mut at = known;
        for part in prompt[known..].chunks(BATCH) {
            if left() {
                self.clear(slot, 0)?;
                return Err(trouble(ModelTrouble::Broken, "Nobody waits for the answer.".to_owned()));
            }
            let last = at + part.len() == prompt.len();
            self.decode(part, at, slot, if last { Tell::Last } else { Tell::Nothing })?;
            at += part.len();
        }
        self.kept.put(slot, prompt);
        Ok(Read { slot, length: prompt.len() })
    }

    /// Makes the slot begin with what is known of the prompt; says how much that is in the end.
    fn prepare(&mut self, place: Place, needed: usize) -> Result<usize, ModelError> {
        let Place { slot, copy_from, known } = place;
        let mut known = known;
        match copy_from {
            Some(from) => {
                self.clear(slot, 0)?;
                let (from, to) = (from as i32, slot as i32);
                let end = u32::try_from(known).ok();
                self.context.copy_kv_cache_seq(from, to, Some(0), end).map_err(|error| broken(&error))?;
            }
            // Some models cannot forget a part.
            None if !self.clear(slot, known)? => {
                self.clear(slot, 0)?;
                known = 0;
            }
            None => {}
        }
        if self.kept.others(slot) + needed > self.room() {
            for other in (0..SLOTS).filter(|other| *other != slot) {
                self.clear(other, 0)?;
                self.kept.forget(other);
            }
        }
        Ok(known)
    }

    /// Forgets a slot from there on.
    pub(super) fn clear(&mut self, slot: usize, from: usize) -> Result<bool, ModelError> {
        let (slot, from) = (u32::try_from(slot).ok(), u32::try_from(from).ok());
        self.context.clear_kv_cache_seq(slot, from, None).map_err(|error| broken(&error))
    }

    /// A slot holds the prompt and what was written after it.
    pub(super) fn keep(&mut self, slot: usize, tokens: &[LlamaToken]) {
        self.kept.put(slot, tokens);
    }

    /// Reads tokens at a place. Afterwards what they tell can be asked for by their number.
    pub(super) fn decode(
        &mut self,
        tokens: &[LlamaToken],
        from: usize,
        slot: usize,
        tell: Tell,
    ) -> Result<(), ModelError> {
        self.batch.clear();
        for (at, token) in tokens.iter().enumerate() {
            let tells = match tell {
                Tell::Nothing => false,
                Tell::Last => at + 1 == tokens.len(),
                Tell::Each => true,
            };
            let place = i32::try_from(from + at).map_err(|error| broken(&error))?;
            self.batch.add(*token, place, &[slot as i32], tells).map_err(|error| broken(&error))?;
        }
        self.context.decode(&mut self.batch).map_err(|error| broken(&error))
    }

    /// What may come after the last token that was read, by token.
    pub(super) fn next(&self) -> &[f32] {
        self.context.get_logits_ith(self.batch.n_tokens() - 1)
    }
}

/// After which tokens the model shall tell what may come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tell {
    Nothing,
    Last,
    Each,
}

pub(super) fn broken(error: &dyn std::fmt::Display) -> ModelError {
    let text = "The model in this process failed. Ask again.".to_owned();
    ModelError { cause: Some(error.to_string()), ..trouble(ModelTrouble::Broken, text) }
}
