//! The size of a value, in the dimensions that decide how long its validation takes.

use serde_json::Value;

use super::pattern::MAX_BACKTRACKING_TEXT;

/// Bytes of text that are processed in about one step.
const BYTES_A_STEP: usize = 32;
/// Numbers are hashed by their nearest double; at most this many different numbers share a hash.
const NUMBERS_A_HASH: usize = 2_048;

/// The size of one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ValueMeasure {
    /// Values and names; long texts count more than once.
    pub(super) steps: u64,
    /// Values and names.
    pub(super) values: u64,
    /// Bytes of all texts and names.
    pub(super) text: u64,
    /// The same, but each text only up to the limit for backtracking patterns.
    pub(super) short_text: u64,
    /// Pairwise comparisons of list items that a hash may not distinguish.
    pub(super) pairs: u64,
    /// Nesting depth: 0 for a text or a number.
    pub(super) depth: usize,
}

impl ValueMeasure {
    /// Measures a value in one pass.
    pub(super) fn from_value(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::from_text(text),
            Value::Array(items) => {
                let mut all = Self { steps: 1, values: 1, ..Self::default() };
                let (mut parts, mut numbers) = (0, 0);
                for item in items {
                    all.add(Self::from_value(item));
                    parts += usize::from(item.is_object() || item.is_array());
                    numbers += usize::from(item.is_number());
                }
                let alike = if parts > 0 { items.len() } else { numbers.min(NUMBERS_A_HASH) };
                all.pairs = all.pairs.saturating_add(all.steps.saturating_mul(alike as u64));
                all
            }
            Value::Object(members) => {
                let mut all = Self { steps: 1, values: 1, ..Self::default() };
                for (name, member) in members {
                    let name = Self::from_text(name);
                    all.add(Self { depth: 0, ..name });
                    all.add(Self::from_value(member));
                }
                all.depth = all.depth.max(1);
                all
            }
            _ => Self { steps: 1, values: 1, ..Self::default() },
        }
    }

    fn from_text(text: &str) -> Self {
        Self {
            steps: 1 + (text.len() / BYTES_A_STEP) as u64,
            values: 1,
            text: text.len() as u64,
            short_text: text.len().min(MAX_BACKTRACKING_TEXT) as u64,
            ..Self::default()
        }
    }

    fn add(&mut self, part: Self) {
        self.steps += part.steps;
        self.values += part.values;
        self.text += part.text;
        self.short_text += part.short_text;
        self.pairs = self.pairs.saturating_add(part.pairs);
        self.depth = self.depth.max(part.depth + 1);
    }
}
