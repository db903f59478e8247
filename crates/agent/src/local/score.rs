//! How likely the model finds a text after a prompt.

use llama_cpp_2::token::LlamaToken;

use super::engine::{Engine, Tell};
use crate::{model::ModelError, small::MAX_CONTINUATION};

impl Engine<'_> {
    /// The logarithm of the probability of each continuation.
    pub(super) fn score(
        &mut self,
        prompt: &str,
        continuations: &[String],
        left: &dyn Fn() -> bool,
    ) -> Result<Vec<f64>, ModelError> {
        let prompt = self.tokens(prompt, true, true);
        let read = self.read(&prompt, MAX_CONTINUATION, left)?;
        let after = Likely::new(self.next());
        let firsts: Vec<_> = continuations
            .iter()
            .map(|text| {
                let mut tokens = self.tokens(text, false, false);
                tokens.truncate(MAX_CONTINUATION);
                let first = tokens.first().map_or(0.0, |first| after.of(self.next(), *first));
                (tokens, first)
            })
            .collect();
        let mut scores = Vec::with_capacity(firsts.len());
        for (tokens, mut score) in firsts {
            if let Some((_, but_last)) = tokens.split_last()
                && !but_last.is_empty()
            {
                self.decode(but_last, read.length, read.slot, Tell::Each)?;
                for (at, next) in tokens.iter().enumerate().skip(1) {
                    let told = self.context.get_logits_ith(at as i32 - 1);
                    score += Likely::new(told).of(told, *next);
                }
                if !self.clear(read.slot, read.length)? {
                    // It cannot forget a part, so the prompt is read again.
                    self.clear(read.slot, 0)?;
                    self.keep(read.slot, &[]);
                    self.read(&prompt, MAX_CONTINUATION, left)?;
                }
            }
            scores.push(score);
        }
        Ok(scores)
    }
}

/// What makes logits probabilities.
struct Likely {
    largest: f64,
    sum: f64,
}

impl Likely {
    fn new(logits: &[f32]) -> Self {
        let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let sum = logits.iter().map(|logit| (f64::from(*logit) - largest).exp()).sum();
        Self { largest, sum }
    }

    /// The logarithm of the probability of a token.
    fn of(&self, logits: &[f32], token: LlamaToken) -> f64 {
        let logit = usize::try_from(token.0).ok().and_then(|at| logits.get(at));
        logit.map_or(NEVER, |logit| f64::from(*logit) - self.largest - self.sum.ln()).max(NEVER)
    }
}

/// What a token that cannot come at all counts.
const NEVER: f64 = -100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_become_logarithms_of_probabilities() {
        let logits = [0.0, 2.0_f32.ln(), f32::NEG_INFINITY];
        let likely = Likely::new(&logits);
        for (token, want) in [(0, (1.0_f64 / 3.0).ln()), (1, (2.0_f64 / 3.0).ln()), (2, NEVER), (7, NEVER)] {
            assert!((likely.of(&logits, LlamaToken(token)) - want).abs() < 1e-6, "{token}");
        }
    }
}
