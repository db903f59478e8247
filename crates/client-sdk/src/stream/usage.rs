//! Tokens used, as servers report them.

use serde_json::{Value, value::RawValue};

/// The tokens that were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl TokenUsage {
    /// Reads the usage from the metadata of a message, with the field names of all AI SDK versions.
    pub(crate) fn from_metadata(metadata: &RawValue) -> Option<Self> {
        let metadata: Value = serde_json::from_str(metadata.get()).ok()?;
        let usage = metadata.get("totalUsage").or_else(|| metadata.get("usage"))?;
        let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
        Some(Self {
            input_tokens: count(["inputTokens", "promptTokens"])?,
            output_tokens: count(["outputTokens", "completionTokens"])?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    #[test]
    fn token_usage_is_read_from_the_metadata() {
        let read = |metadata: Value| TokenUsage::from_metadata(&to_raw(&metadata));
        let usage = Some(TokenUsage { input_tokens: 3, output_tokens: 4 });
        assert_eq!(read(json!({ "usage": { "inputTokens": 3, "outputTokens": 4 } })), usage);
        assert_eq!(read(json!({ "totalUsage": { "promptTokens": 3, "completionTokens": 4 } })), usage);
        assert_eq!(read(json!({ "usage": { "inputTokens": 3 } })), None);
        assert_eq!(read(json!("odd")), None);
    }
}
