//! The choice between tools and a reply, from both sides: how much more likely a name becomes by the user's words, and how
//! likely the user's words are of somebody who wants what a tool does. Each has its own errors, and the sum has fewer.

use std::{collections::VecDeque, sync::Arc};

use super::{Scorer, prompt::Prompt};
use crate::model::{ModelError, ToolSpec};

/// Texts without content: what the model scores after them is its bias.
const EMPTY: [&str; 4] = ["N/A", "", "[MASK]", "something"];
/// Texts without content look more like talk than like a request, so talk is held for too likely by them. In nats.
const FOR_REPLY: f64 = 2.0;
/// Sets of tools whose bias is kept.
pub(super) const MAX_KEPT: usize = 64;

/// The bias of the model for sets of tools, the one used last at the back.
#[derive(Debug, Default)]
pub(super) struct Calibrations {
    kept: VecDeque<(String, Vec<f64>)>,
}

impl Calibrations {
    /// Bias for each candidate of this prompt, asked for where it is not known.
    async fn of(
        &mut self,
        scorer: &dyn Scorer,
        prompt: &Prompt,
        candidates: &[String],
    ) -> Result<Vec<f64>, ModelError> {
        let known = self
            .kept
            .iter()
            .position(|(before, bias)| before == prompt.before() && bias.len() == candidates.len());
        let found = match known.and_then(|place| self.kept.remove(place)) {
            Some(found) => found,
            None => (prompt.before().to_owned(), bias(scorer, prompt, candidates).await?),
        };
        let bias = found.1.clone();
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(found);
        Ok(bias)
    }
}

async fn bias(scorer: &dyn Scorer, prompt: &Prompt, candidates: &[String]) -> Result<Vec<f64>, ModelError> {
    let mut sums = vec![0.0; candidates.len()];
    for words in EMPTY {
        let scores = scorer.score(&prompt.choice(words), candidates).await?;
        sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score / EMPTY.len() as f64);
    }
    Ok(sums)
}

/// The tool whose name gains most by the user's words; None for a reply.
pub(super) async fn choose(
    scorer: &dyn Scorer,
    calibrations: &mut Calibrations,
    prompt: &Prompt,
    may_reply: bool,
) -> Result<Option<Arc<ToolSpec>>, ModelError> {
    // With the quote that ends it, so that no name is the beginning of another.
    let names = prompt.tools().iter().map(|tool| tool.name.as_str()).chain([prompt.reply()]);
    let candidates: Vec<String> = names.map(|name| format!("{name}\"")).collect();
    let bias = calibrations.of(scorer, prompt, &candidates).await?;
    let scores = scorer.score(&prompt.choice(prompt.user()), &candidates).await?;
    let mut gains: Vec<f64> = scores.iter().zip(&bias).map(|(score, bias)| score - bias).collect();
    let words = [prompt.wish_words()];
    for (at, gain) in gains.iter_mut().enumerate() {
        *gain += scorer.score(&prompt.wish(at), &words).await?.first().copied().unwrap_or_default();
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
