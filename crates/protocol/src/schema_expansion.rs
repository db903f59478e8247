//! Limits for expanding the references of a schema: a few lines that refer to each other, or to one long text,
//! can expand to more than fits in memory.

use serde_json::Value;

/// Maximum number of bytes of names, texts and data in an expanded schema.
pub const MAX_EXPANDED_BYTES: usize = 1024 * 1024;

/// Approximate size of a value in bytes.
pub fn approximate_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 8 + approximate_bytes(item)).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| 8 + name.len() + approximate_bytes(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// Counts the bytes of an expansion.
#[derive(Debug, Default)]
pub struct ByteBudget(usize);

impl ByteBudget {
    /// Adds bytes. Returns false if the limit is exceeded.
    #[must_use]
    pub fn add(&mut self, bytes: usize) -> bool {
        self.0 = self.0.saturating_add(bytes);
        self.0 <= MAX_EXPANDED_BYTES
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_texts_and_data_count() {
        assert_eq!(approximate_bytes(&json!({ "ab": "xyz", "c": [1, "y"] })), 8 + 2 + 3 + 8 + 1 + 16 + 9);
    }

    #[test]
    fn a_budget_is_used_up() {
        let mut budget = ByteBudget::default();
        assert!(budget.add(MAX_EXPANDED_BYTES));
        assert!(!budget.add(1) && !budget.add(usize::MAX));
    }
}
