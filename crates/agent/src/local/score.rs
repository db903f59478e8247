//! The probability of a text after a prompt.

use llama_cpp_2::token::LlamaToken;

use super::engine::{LocalEngine, LogitsMode};
use crate::{model::ModelError, small::MAX_CONTINUATION};

impl LocalEngine<'_> {
    /// The logarithm of the probability of each continuation.
    pub(super) fn score_continuations(
        &mut self,
        prompt: &str,
        continuations: &[String],
        left: &dyn Fn() -> bool,
    ) -> Result<Vec<f64>, ModelError> {
        let prompt = self.tokenize(prompt, true, true);
        let read = self.read_prompt(&prompt, MAX_CONTINUATION, left)?;
        let after = LogSoftmax::new(self.next_logits());
        let firsts: Vec<_> = continuations
            .iter()
            .map(|text| {
                let mut tokens = self.tokenize(text, false, false);
                tokens.truncate(MAX_CONTINUATION);
                let first =
                    tokens.first().map_or(0.0, |first| after.log_probability(self.next_logits(), *first));
                (tokens, first)
            })
            .collect();
        let mut scores = Vec::with_capacity(firsts.len());
        for (tokens, mut score) in firsts {
            if let Some((_, but_last)) = tokens.split_last()
                && !but_last.is_empty()
            {
                self.decode(but_last, read.length, read.slot, LogitsMode::Each)?;
                for (at, next) in tokens.iter().enumerate().skip(1) {
                    let logits = self.context.get_logits_ith(at as i32 - 1);
                    score += LogSoftmax::new(logits).log_probability(logits, *next);
                }
                if !self.clear_slot(read.slot, read.length)? {
                    // The model cannot remove a part of a sequence, so the prompt is read again.
                    self.clear_slot(read.slot, 0)?;
                    self.cache_tokens(read.slot, &[]);
                    self.read_prompt(&prompt, MAX_CONTINUATION, left)?;
                }
            }
            scores.push(score);
        }
        Ok(scores)
    }
}

/// Turns logits into probabilities.
struct LogSoftmax {
    largest: f64,
    sum: f64,
}

impl LogSoftmax {
    fn new(logits: &[f32]) -> Self {
        let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let sum = logits.iter().map(|logit| (f64::from(*logit) - largest).exp()).sum();
        Self { largest, sum }
    }

    /// The logarithm of the probability of a token.
    fn log_probability(&self, logits: &[f32], token: LlamaToken) -> f64 {
        let logit = usize::try_from(token.0).ok().and_then(|at| logits.get(at));
        logit.map_or(NEVER, |logit| f64::from(*logit) - self.largest - self.sum.ln()).max(NEVER)
    }
}

/// The score of an impossible token.
const NEVER: f64 = -100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_become_logarithms_of_probabilities() {
        let logits = [0.0, 2.0_f32.ln(), f32::NEG_INFINITY];
        let softmax = LogSoftmax::new(&logits);
        for (token, want) in [(0, (1.0_f64 / 3.0).ln()), (1, (2.0_f64 / 3.0).ln()), (2, NEVER), (7, NEVER)] {
            assert!((softmax.log_probability(&logits, LlamaToken(token)) - want).abs() < 1e-6, "{token}");
        }
    }
}
