//! The name of a model: a provider, and the model's name there.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest name, including the provider.
pub(super) const MAX_NAME: usize = 256;

/// Longest name of a provider.
const MAX_PROVIDER: usize = 32;

/// A model's name, such as `openai/gpt-5-mini` or `local/qwen3:8b`. The provider is a vendor, a local server or a
/// configured endpoint. It ends at the first slash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelName {
    text: Arc<str>,
    slash: usize,
}

impl ModelName {
    /// A name from its parts.
    pub fn new(provider: &str, model: &str) -> Result<Self, InvalidModelName> {
        format!("{provider}/{model}").parse()
    }

    /// The part before the first slash.
    pub fn provider(&self) -> &str {
        &self.text[..self.slash]
    }

    /// The model's name at its provider. May contain slashes.
    pub fn model(&self) -> &str {
        &self.text[self.slash + 1..]
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Why a text is not a model's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidModelName {
    /// No slash.
    #[error("a model is named provider/model, such as openai/gpt-5-mini or ollama/llama3.2")]
    NoProvider,
    /// The part before the slash.
    #[error("the provider before the slash is 1 to 32 of a-z, 0-9, _ and -")]
    Provider,
    /// The part after the slash.
    #[error("the model after the slash is printable ASCII without spaces")]
    Model,
    /// Too long.
    #[error("a model's name has at most 256 characters")]
    TooLong,
}

/// Whether this is a valid name of a provider.
pub(super) fn is_provider_name(text: &str) -> bool {
    (1..=MAX_PROVIDER).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

impl FromStr for ModelName {
    type Err = InvalidModelName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > MAX_NAME {
            return Err(InvalidModelName::TooLong);
        }
        let (provider, model) = text.split_once('/').ok_or(InvalidModelName::NoProvider)?;
        if !is_provider_name(provider) {
            return Err(InvalidModelName::Provider);
        }
        if model.is_empty() || !model.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidModelName::Model);
        }
        Ok(Self { text: text.into(), slash: provider.len() })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for ModelName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_ends_at_the_first_slash() {
        let name: ModelName = "openrouter/anthropic/claude-sonnet-5:free".parse().unwrap();
        assert_eq!((name.provider(), name.model()), ("openrouter", "anthropic/claude-sonnet-5:free"));
        assert_eq!(name.to_string(), "openrouter/anthropic/claude-sonnet-5:free");
        assert_eq!(ModelName::new("ollama", "llama3.2").unwrap().as_str(), "ollama/llama3.2");
    }

    #[test]
    fn invalid_names_are_rejected_with_a_reason() {
        let long = format!("local/{}", "x".repeat(MAX_NAME - 5));
        let longest = format!("local/{}", "x".repeat(MAX_NAME - 6));
        assert!(longest.parse::<ModelName>().is_ok());
        let provider = format!("{}/m", "p".repeat(MAX_PROVIDER + 1));
        for (text, why) in [
            ("gpt-5-mini", InvalidModelName::NoProvider),
            ("", InvalidModelName::NoProvider),
            ("/m", InvalidModelName::Provider),
            ("Local/m", InvalidModelName::Provider),
            (provider.as_str(), InvalidModelName::Provider),
            ("local/", InvalidModelName::Model),
            ("local/a b", InvalidModelName::Model),
            ("local/a\n", InvalidModelName::Model),
            (long.as_str(), InvalidModelName::TooLong),
        ] {
            assert_eq!(text.parse::<ModelName>(), Err(why), "{text}");
        }
    }

    #[test]
    fn a_name_is_serialised_as_text() {
        let name: ModelName = serde_json::from_str("\"local/m\"").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"local/m\"");
        assert!(serde_json::from_str::<ModelName>("\"local\"").is_err());
    }
}
