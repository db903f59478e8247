//! Which prompts the model still has in its memory. Only tokens and numbers; the memory itself is the engine's.

use llama_cpp_2::token::LlamaToken;

/// Prompts that are kept.
pub(super) const SLOTS: usize = 4;

/// A prompt that was read.
#[derive(Debug, Default, Clone)]
struct Slot {
    tokens: Vec<LlamaToken>,
    /// When it was used last; the smallest goes first.
    used: u64,
}

/// The prompts that are kept, each in a sequence of its own.
#[derive(Debug)]
pub(super) struct Kept {
    slots: Vec<Slot>,
    now: u64,
}

/// Where to read a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The sequence.
    pub(super) slot: usize,
    /// The sequence from which the beginning is copied, if it is another one.
    pub(super) copy_from: Option<usize>,
    /// How much of it is known.
    pub(super) known: usize,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self { slots: vec![Slot::default(); SLOTS], now: 0 }
    }

    /// Where to read this prompt: where it goes on from what is there; else in the slot that was used least, with what it
    /// has in common with another. At least the last token is read anew, because only reading tells what comes next.
    pub(super) fn place(&self, prompt: &[LlamaToken]) -> Place {
        let most = prompt.len().saturating_sub(1);
        let common = |slot: &Slot| {
            slot.tokens.iter().zip(prompt).take_while(|(one, other)| one == other).count().min(most)
        };
        let best = (0..self.slots.len()).max_by_key(|at| common(&self.slots[*at])).unwrap_or_default();
        let known = common(&self.slots[best]);
        // Little more than what is kept there, so nothing is lost.
        if known + 1 >= self.slots[best].tokens.len() {
            return Place { slot: best, copy_from: None, known };
        }
        let oldest = (0..self.slots.len()).filter(|at| *at != best).min_by_key(|at| self.slots[*at].used);
        match oldest {
            Some(slot) => Place { slot, copy_from: (known > 0).then_some(best), known },
            None => Place { slot: best, copy_from: None, known },
        }
    }

    /// A slot holds these tokens now.
    pub(super) fn put(&mut self, slot: usize, tokens: &[LlamaToken]) {
        self.now += 1;
        self.slots[slot] = Slot { tokens: tokens.to_vec(), used: self.now };
    }

    /// A slot holds nothing any more.
    pub(super) fn forget(&mut self, slot: usize) {
        self.slots[slot] = Slot::default();
    }

    /// Tokens in all slots but this one.
    pub(super) fn others(&self, slot: usize) -> usize {
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
        let mut kept = Kept::new();
        kept.put(2, &tokens("tools"));
        assert_eq!(kept.place(&tokens("tools and words")), Place { slot: 2, copy_from: None, known: 5 });
        // The same prompt again: its last token is read anew.
        assert_eq!(kept.place(&tokens("tools")), Place { slot: 2, copy_from: None, known: 4 });
    }

    #[test]
    fn a_prompt_that_turns_off_leaves_the_other_one_as_it_is() {
        let mut kept = Kept::new();
        for (slot, text) in ["tools: one", "other", "third", "fourth"].into_iter().enumerate() {
            kept.put(slot, &tokens(text));
        }
        assert_eq!(kept.place(&tokens("tools: two")), Place { slot: 1, copy_from: Some(0), known: 7 });
        kept.put(1, &tokens("tools: two"));
        assert_eq!(kept.place(&tokens("new")), Place { slot: 0, copy_from: None, known: 0 });
    }

    #[test]
    fn what_is_forgotten_is_not_counted() {
        let mut kept = Kept::new();
        kept.put(0, &tokens("abc"));
        kept.put(1, &tokens("de"));
        assert_eq!((kept.others(0), kept.others(3)), (2, 5));
        kept.forget(1);
        assert_eq!(kept.others(3), 3);
    }
}
