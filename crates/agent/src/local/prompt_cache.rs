//! Which prompts are in the model's memory. Holds tokens only, the memory itself belongs to the engine.

use llama_cpp_2::token::LlamaToken;

/// Number of cached prompts.
pub(super) const SLOTS: usize = 4;

/// A prompt that was read.
#[derive(Debug, Default, Clone)]
struct PromptSlot {
    tokens: Vec<LlamaToken>,
    /// When it was last used. The smallest is evicted first.
    used: u64,
}

/// The cached prompts, each in its own sequence.
#[derive(Debug)]
pub(super) struct PromptCache {
    slots: Vec<PromptSlot>,
    now: u64,
}

/// Where to read a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotChoice {
    /// The sequence.
    pub(super) slot: usize,
    /// The sequence to copy the beginning from, if it is another one.
    pub(super) copy_from: Option<usize>,
    /// How many tokens of the prompt are cached.
    pub(super) known: usize,
}

impl PromptCache {
    pub(super) fn new() -> Self {
        Self { slots: vec![PromptSlot::default(); SLOTS], now: 0 }
    }

    /// Where to read this prompt: in a slot that it continues, else in the least recently used slot, with the beginning
    /// copied from another slot. At least the last token is read again, because its logits are needed.
    pub(super) fn choose_slot(&self, prompt: &[LlamaToken]) -> SlotChoice {
        let most = prompt.len().saturating_sub(1);
        let common = |slot: &PromptSlot| {
            slot.tokens.iter().zip(prompt).take_while(|(one, other)| one == other).count().min(most)
        };
        let best = (0..self.slots.len()).max_by_key(|at| common(&self.slots[*at])).unwrap_or_default();
        let known = common(&self.slots[best]);
        // The prompt continues what is cached there, so nothing is lost.
        if known + 1 >= self.slots[best].tokens.len() {
            return SlotChoice { slot: best, copy_from: None, known };
        }
        let oldest = (0..self.slots.len()).filter(|at| *at != best).min_by_key(|at| self.slots[*at].used);
        match oldest {
            Some(slot) => SlotChoice { slot, copy_from: (known > 0).then_some(best), known },
            None => SlotChoice { slot: best, copy_from: None, known },
        }
    }

    /// Records the tokens of a slot.
    pub(super) fn store(&mut self, slot: usize, tokens: &[LlamaToken]) {
        self.now += 1;
        self.slots[slot] = PromptSlot { tokens: tokens.to_vec(), used: self.now };
    }

    /// Clears a slot.
    pub(super) fn clear(&mut self, slot: usize) {
        self.slots[slot] = PromptSlot::default();
    }

    /// Number of tokens in all other slots.
    pub(super) fn tokens_elsewhere(&self, slot: usize) -> usize {
        let others = self.slots.iter().enumerate().filter(|(at, _)| *at != slot);
        others.map(|(_, slot)| slot.tokens.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<LlamaToken> {
        text.bytes().map(|byte| LlamaToken(i32::from(byte))).collect()
    }

    #[test]
    fn a_prompt_that_goes_on_is_read_where_it_was() {
        let mut cache = PromptCache::new();
        cache.store(2, &tokens("tools"));
        assert_eq!(
            cache.choose_slot(&tokens("tools and words")),
            SlotChoice { slot: 2, copy_from: None, known: 5 }
        );
        // The same prompt again: its last token is read again.
        assert_eq!(cache.choose_slot(&tokens("tools")), SlotChoice { slot: 2, copy_from: None, known: 4 });
    }

    #[test]
    fn a_diverging_prompt_keeps_the_other_slot() {
        let mut cache = PromptCache::new();
        for (slot, text) in ["tools: one", "other", "third", "fourth"].into_iter().enumerate() {
            cache.store(slot, &tokens(text));
        }
        assert_eq!(
            cache.choose_slot(&tokens("tools: two")),
            SlotChoice { slot: 1, copy_from: Some(0), known: 7 }
        );
        cache.store(1, &tokens("tools: two"));
        assert_eq!(cache.choose_slot(&tokens("new")), SlotChoice { slot: 0, copy_from: None, known: 0 });
    }

    #[test]
    fn cleared_slots_are_not_counted() {
        let mut cache = PromptCache::new();
        cache.store(0, &tokens("abc"));
        cache.store(1, &tokens("de"));
        assert_eq!((cache.tokens_elsewhere(0), cache.tokens_elsewhere(3)), (2, 5));
        cache.clear(1);
        assert_eq!(cache.tokens_elsewhere(3), 3);
    }
}
