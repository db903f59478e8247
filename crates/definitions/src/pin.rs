//! What is pinned: tools, pages and instructions, each with its accepted content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use toolyard_protocol::definitions::PinKind;

use crate::digest::{
    ContentDigest, DefinitionDigest, PinnedSurface, UnpinnableDefinition, canonical_digest, parse_definition,
};

/// Something that is pinned on its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PinSubject {
    /// A tool, by the name that its source lists.
    Tool(String),
    /// A page, by its URI.
    Page(String),
    /// The instructions of a server.
    Instructions,
}

impl PinSubject {
    /// The subject of this kind and name.
    pub fn new(kind: PinKind, name: &str) -> Self {
        match kind {
            PinKind::Tool => Self::Tool(name.to_owned()),
            PinKind::Page => Self::Page(name.to_owned()),
            PinKind::Instructions => Self::Instructions,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> PinKind {
        match self {
            Self::Tool(_) => PinKind::Tool,
            Self::Page(_) => PinKind::Page,
            Self::Instructions => PinKind::Instructions,
        }
    }

    /// Its name; empty for instructions.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(name) | Self::Page(name) => name,
            Self::Instructions => "",
        }
    }
}

/// The content of a subject, as it was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedContent {
    /// The definition or the page as JSON, or the instructions. No instructions are an empty text.
    pub text: String,
    /// The content of a tool's icons, by URL, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub icons: BTreeMap<String, ContentDigest>,
}

impl PinnedContent {
    /// Content without icons.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), icons: BTreeMap::new() }
    }

    /// One digest over everything.
    pub fn digest(&self, kind: PinKind) -> Result<ContentDigest, UnpinnableDefinition> {
        match kind {
            PinKind::Tool => Ok(self.surface(&self.definition()?).combined()),
            PinKind::Page => Ok(canonical_digest(&self.to_value(kind))),
            PinKind::Instructions => Ok(ContentDigest::from_content(self.text.as_bytes())),
        }
    }

    /// The definition of a tool, or why it cannot be pinned.
    pub(crate) fn definition(&self) -> Result<Value, UnpinnableDefinition> {
        let raw = serde_json::from_str::<&RawValue>(&self.text);
        parse_definition(raw.map_err(|_| UnpinnableDefinition::NotAnObject)?)
    }

    /// What is pinned of a tool with this definition.
    pub(crate) fn surface(&self, definition: &Value) -> PinnedSurface {
        let mut surface = PinnedSurface::new(DefinitionDigest::from_value(definition));
        surface.icons.clone_from(&self.icons);
        surface
    }

    /// The content as a value, to compare and to show it.
    pub fn to_value(&self, kind: PinKind) -> Value {
        let text = || Value::String(self.text.clone());
        match kind {
            PinKind::Instructions => text(),
            PinKind::Tool | PinKind::Page => serde_json::from_str(&self.text).unwrap_or_else(|_| text()),
        }
    }

    /// The digest of an icon is unknown if it could not be fetched. What one side knows then counts for both, if both name
    /// the URL.
    pub(crate) fn share_icons(&mut self, other: &Self, own_definition: &Value) {
        let urls = icon_urls(own_definition);
        for (url, digest) in &other.icons {
            if urls.contains(&url.as_str()) {
                self.icons.entry(url.clone()).or_insert(*digest);
            }
        }
    }
}

/// The icon URLs of a definition.
pub fn icon_urls(definition: &Value) -> Vec<&str> {
    let icons = definition.get("icons").and_then(Value::as_array).into_iter().flatten();
    icons.filter_map(|icon| icon.get("src").and_then(Value::as_str)).collect()
}
