//! What the person must see (`prompt` of OpenID Connect).

use serde::{Deserialize, Serialize};

use crate::parameters::ParameterError;

/// Longest `prompt`, in bytes.
const MAX_PROMPT_BYTES: usize = 200;

/// One value of `prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptValue {
    /// No page at all: fail instead.
    None,
    /// Sign in again.
    Login,
    /// Show the consent page again.
    Consent,
    /// Let the person choose an account.
    SelectAccount,
}

/// The values of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptSet(Vec<PromptValue>);

impl PromptSet {
    /// Reads the parameter. Unknown values are ignored; `none` excludes all others.
    pub(super) fn parse(text: &str) -> Result<Self, ParameterError> {
        if text.len() > MAX_PROMPT_BYTES {
            return Err(ParameterError::TooLong("prompt", MAX_PROMPT_BYTES));
        }
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let value = |word: &&str| match *word {
            "none" => Some(PromptValue::None),
            "login" => Some(PromptValue::Login),
            "consent" => Some(PromptValue::Consent),
            "select_account" => Some(PromptValue::SelectAccount),
            _ => None,
        };
        let mut values: Vec<PromptValue> = words.iter().filter_map(value).collect();
        values.sort_unstable();
        values.dedup();
        if values.contains(&PromptValue::None) && words.len() > 1 {
            return Err(ParameterError::Invalid("prompt", "`none` cannot be combined with another value"));
        }
        Ok(Self(values))
    }

    /// Whether a value is there.
    pub fn has(&self, value: PromptValue) -> bool {
        self.0.contains(&value)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        assert_eq!(PromptSet::parse("").unwrap(), PromptSet::default());
        let prompt = PromptSet::parse("consent login create login").unwrap();
        assert!(prompt.has(PromptValue::Login) && prompt.has(PromptValue::Consent) && !prompt.is_empty());
        assert!(!prompt.has(PromptValue::None));
        assert!(PromptSet::parse("none").unwrap().has(PromptValue::None));
    }

    #[test]
    fn none_stands_alone_and_texts_are_bounded() {
        for bad in ["none login", "consent none", "none create"] {
            assert!(matches!(PromptSet::parse(bad), Err(ParameterError::Invalid("prompt", _))), "{bad}");
        }
        let long = "login ".repeat(MAX_PROMPT_BYTES);
        assert_eq!(PromptSet::parse(&long), Err(ParameterError::TooLong("prompt", MAX_PROMPT_BYTES)));
    }
}
