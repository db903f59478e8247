//! What a definition says beyond MCP, and the hints that the platform uses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The category of a tool.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Category {
    Productivity,
    Media,
    Communication,
    Utility,
    #[default]
    Other,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 5] =
        [Self::Productivity, Self::Media, Self::Communication, Self::Utility, Self::Other];
}

impl std::str::FromStr for Category {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_value(Value::String(text.to_owned())).map_err(|_| {
            format!("`{text}` is not a category: productivity, media, communication, utility or other")
        })
    }
}

/// Phrases that suggest the tool to an assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ActivationPhrases {
    /// One list for all languages.
    Plain(Vec<String>),
    /// A list per language tag (`en`, `de-AT`).
    ByLanguage(BTreeMap<String, Vec<String>>),
}

impl ActivationPhrases {
    /// Every phrase.
    pub fn phrases(&self) -> impl Iterator<Item = &str> {
        let (plain, by_language) = match self {
            Self::Plain(list) => (Some(list), None),
            Self::ByLanguage(map) => (None, Some(map)),
        };
        plain
            .into_iter()
            .chain(by_language.into_iter().flat_map(BTreeMap::values))
            .flatten()
            .map(String::as_str)
    }
}

/// `mentraExtensions` of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolExtensions {
    /// Phrases that suggest the tool to an assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_phrases: Option<ActivationPhrases>,
    /// The category of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// The hints of a definition that the platform uses. Untrusted: they can only add caution or allow a retry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// The tool changes nothing.
    pub read_only_hint: bool,
    /// Running it twice has the same effect as once.
    pub idempotent_hint: bool,
    /// Whether it may delete or overwrite something, if the definition says so.
    pub destructive_hint: Option<bool>,
    /// Whether it reaches beyond the app, if the definition says so: sends, pays, publishes.
    pub open_world_hint: Option<bool>,
}
