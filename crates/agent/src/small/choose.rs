//! The choice between tools and a reply, from two scores: how much more likely a name becomes after the user's words,
//! and how likely the user's words are for a user who wants what the tool does. Each score has its own errors, and the
//! sum has fewer.

use std::sync::Arc;

use toolyard_core::bounded_cache::BoundedCache;

use super::{Scorer, prompt::ChoicePrompt};
use crate::model::{ModelError, ToolSpec};

/// Texts without content. The scores after them are the model's bias.
const EMPTY: [&str; 4] = ["N/A", "", "[MASK]", "something"];
/// Texts without content look more like talk than like a request, which overestimates talk. This corrects it, in nats.
const FOR_REPLY: f64 = 2.0;
/// Sets of tools whose bias is cached.
pub(super) const MAX_CACHED_BIASES: usize = 64;

/// The model's bias for sets of tools, by the start of the prompt.
#[derive(Debug)]
pub(super) struct BiasCache(BoundedCache<String, Vec<f64>>);

impl Default for BiasCache {
    fn default() -> Self {
        Self(BoundedCache::new(MAX_CACHED_BIASES))
    }
}

impl BiasCache {
    /// The bias for each candidate of this prompt, measured if it is not cached.
    async fn get_or_measure(
        &self,
        scorer: &dyn Scorer,
        prompt: &ChoicePrompt,
        candidates: &[String],
    ) -> Result<Vec<f64>, ModelError> {
        if let Some(known) = self.0.get(prompt.prefix()).filter(|bias| bias.len() == candidates.len()) {
            return Ok(known);
        }
        let bias = measure_bias(scorer, prompt, candidates).await?;
        self.0.insert(prompt.prefix().to_owned(), bias.clone());
        Ok(bias)
    }
}

async fn measure_bias(
    scorer: &dyn Scorer,
    prompt: &ChoicePrompt,
    candidates: &[String],
) -> Result<Vec<f64>, ModelError> {
    let mut sums = vec![0.0; candidates.len()];
    for words in EMPTY {
        let scores = scorer.score(&prompt.choice_prompt(words), candidates).await?;
        sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score / EMPTY.len() as f64);
    }
    Ok(sums)
}

/// The tool whose name gains most from the user's words. None for a reply.
pub(super) async fn choose_tool(
    scorer: &dyn Scorer,
    bias_cache: &BiasCache,
    prompt: &ChoicePrompt,
    may_reply: bool,
) -> Result<Option<Arc<ToolSpec>>, ModelError> {
    // With the closing quote, so that no name is a prefix of another.
    let names = prompt.tools().iter().map(|tool| tool.name.as_str()).chain([prompt.reply_name()]);
    let candidates: Vec<String> = names.map(|name| format!("{name}\"")).collect();
    let bias = bias_cache.get_or_measure(scorer, prompt, &candidates).await?;
    let scores = scorer.score(&prompt.choice_prompt(prompt.user_text()), &candidates).await?;
    let mut gains: Vec<f64> = scores.iter().zip(&bias).map(|(score, bias)| score - bias).collect();
    let words = [prompt.wish_words()];
    for (at, gain) in gains.iter_mut().enumerate() {
        *gain += scorer.score(&prompt.wish_prompt(at), &words).await?.first().copied().unwrap_or_default();
    }
    let reply = prompt.tools().len();
    let best = gains
        .into_iter()
        .enumerate()
        .map(|(at, gain)| (at, if at == reply { gain + FOR_REPLY } else { gain }))
        .filter(|(at, _)| may_reply || *at != reply)
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(best.and_then(|(at, _)| prompt.tools().get(at).cloned()))
}
