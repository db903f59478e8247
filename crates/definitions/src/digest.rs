//! What a user or operator accepted, as digests.
//!
//! The digest of a definition covers the whole document, not a list of known fields: a field that a later revision of MCP
//! adds is covered from its first day. Excluded are only values that change with every response and cannot hold words:
//!
//! | excluded | only if |
//! | --- | --- |
//! | `_meta.progressToken` | it is a number |
//! | `_meta.traceparent` | it has the format of W3C Trace Context |
//!
//! What a definition points to is pinned with it, as digests that the caller computes from the content.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};
use toolyard_protocol::tool::MAX_DEFINITION_BYTES;

mod duplicate_names;

/// Why a definition cannot be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnpinnableDefinition {
    /// It exceeds the size limit of definitions.
    #[error("the definition is larger than {MAX_DEFINITION_BYTES} bytes")]
    TooLarge,
    /// It is not a JSON object.
    #[error("the definition is not a JSON object")]
    NotAnObject,
    /// Two parsers could read different definitions from it.
    #[error("the definition has the member `{0}` twice, so parsers can disagree about it")]
    DuplicateName(String),
}

/// The largest integer below which every integer is a double of its own: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// SHA-256 of some content: an icon, a page, instructions, or a definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// The digest of these bytes.
    pub fn from_content(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The digest as bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentDigest {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// The digest of a definition: SHA-256 over its canonical form (RFC 8785), so neither the order of members nor the way
/// numbers and strings are written matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DefinitionDigest(ContentDigest);

impl DefinitionDigest {
    /// The digest of a definition as received.
    pub fn from_raw(raw: &RawValue) -> Result<Self, UnpinnableDefinition> {
        parse_definition(raw).map(|definition| Self::from_value(&definition))
    }

    /// The digest of a definition from [`parse_definition`].
    pub fn from_value(definition: &Value) -> Self {
        Self(canonical_digest(&without_excluded(definition)))
    }

    /// The digest of everything except the name. Two tools with equal content have equal digests.
    pub fn from_content(definition: &Value) -> Self {
        let mut content = without_excluded(definition);
        if let Value::Object(members) = &mut content {
            members.remove("name");
        }
        Self(canonical_digest(&content))
    }

    /// The digest as bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Display for DefinitionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Parses a definition, or says why it cannot be pinned.
pub fn parse_definition(raw: &RawValue) -> Result<Value, UnpinnableDefinition> {
    if raw.get().len() > MAX_DEFINITION_BYTES {
        return Err(UnpinnableDefinition::TooLarge);
    }
    if let Some(name) = duplicate_names::find_duplicate(raw.get()) {
        return Err(UnpinnableDefinition::DuplicateName(crate::excerpt::excerpt(&name)));
    }
    match serde_json::from_str(raw.get()) {
        Ok(definition @ Value::Object(_)) => Ok(definition),
        _ => Err(UnpinnableDefinition::NotAnObject),
    }
}

/// The definition without the excluded members.
pub(crate) fn without_excluded(definition: &Value) -> Value {
    let mut covered = definition.clone();
    if let Some(Value::Object(meta)) = covered.get_mut("_meta") {
        if meta.get("progressToken").is_some_and(Value::is_number) {
            meta.remove("progressToken");
        }
        if meta.get("traceparent").and_then(Value::as_str).is_some_and(is_traceparent) {
            meta.remove("traceparent");
        }
        if meta.is_empty()
            && let Value::Object(members) = &mut covered
        {
            members.remove("_meta");
        }
    }
    covered
}

fn is_traceparent(text: &str) -> bool {
    text.len() == 55 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// The digest of a value in canonical form (RFC 8785), with every digit of its integers.
pub fn canonical_digest(value: &Value) -> ContentDigest {
    // A parsed value has string keys and finite numbers only, so it has a canonical form. If that ever failed, the plain
    // form would still cover every member.
    let mut bytes =
        serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes());
    append_large_integers(value, &mut bytes);
    ContentDigest::from_content(&bytes)
}

/// The canonical form writes numbers as doubles, so integers beyond 2^53 share one. They are appended exactly, in the order
/// of the canonical form. The separator does not occur in JSON.
fn append_large_integers(value: &Value, to: &mut Vec<u8>) {
    match value {
        Value::Number(number) => {
            let magnitude = number.as_u64().or(number.as_i64().map(i64::unsigned_abs));
            if magnitude.is_some_and(|magnitude| magnitude > MAX_SAFE_INTEGER) {
                to.push(0);
                to.extend_from_slice(number.to_string().as_bytes());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| append_large_integers(item, to)),
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| name.as_str());
            sorted.into_iter().for_each(|(_, member)| append_large_integers(member, to));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// What is pinned for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedSurface {
    /// The definition.
    pub definition: DefinitionDigest,
    /// The content of its icons, by URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub icons: BTreeMap<String, ContentDigest>,
    /// The content of its `ui://` pages, by URI.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pages: BTreeMap<String, ContentDigest>,
    /// The `instructions` of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<ContentDigest>,
}

/// A part of a pinned surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SurfacePart {
    Definition,
    Icons,
    Pages,
    Instructions,
}

impl PinnedSurface {
    /// A definition that points to nothing.
    pub fn new(definition: DefinitionDigest) -> Self {
        Self { definition, icons: BTreeMap::new(), pages: BTreeMap::new(), instructions: None }
    }

    /// One digest over all parts.
    pub fn combined(&self) -> ContentDigest {
        canonical_digest(&serde_json::json!({
            "definition": self.definition,
            "icons": self.icons,
            "pages": self.pages,
            "instructions": self.instructions,
        }))
    }

    /// The digest of one part; `None` if there is nothing to pin.
    pub fn part(&self, part: SurfacePart) -> Option<ContentDigest> {
        let of_map = |map: &BTreeMap<String, ContentDigest>| {
            (!map.is_empty()).then(|| canonical_digest(&serde_json::json!(map)))
        };
        match part {
            SurfacePart::Definition => Some(self.definition.0),
            SurfacePart::Icons => of_map(&self.icons),
            SurfacePart::Pages => of_map(&self.pages),
            SurfacePart::Instructions => self.instructions,
        }
    }

    /// The parts in which two surfaces differ.
    pub fn changed_parts(&self, other: &Self) -> Vec<SurfacePart> {
        use SurfacePart::{Definition, Icons, Instructions, Pages};
        [Definition, Icons, Pages, Instructions]
            .into_iter()
            .filter(|part| self.part(*part) != other.part(*part))
            .collect()
    }
}

#[cfg(test)]
mod tests;
