//! What changed between two versions of a definition, or of all definitions of one source.
//!
//! Harmless is narrow: the model reads the same words, and no guard becomes weaker. Everything else needs acceptance,
//! removals as well, because a removed sentence can be the warning that kept a model from calling the tool.
//!
//! | harmless | why |
//! | --- | --- |
//! | ASCII whitespace in a text, a final period, typographic quotes and dashes | the words are the same |
//! | the order of `required`, `enum` and `type` in a schema | JSON Schema defines them as sets |
//! | annotations that become stricter | they can only add a question to the user |
//! | the URL of an icon with the same content | people see the same picture |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    digest::{ContentDigest, PinnedSurface, SurfacePart, without_excluded},
    excerpt::excerpt,
};

mod judge;
mod list;
mod walk;

pub use list::{AcceptedHistory, ListChange, MAX_LISTED_TOOLS, NamedDefinition, TooManyTools, compare_lists};

/// Maximum number of changes reported for one definition. If there are more, the last one says so.
pub const MAX_CHANGES: usize = 200;

/// What to do with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeClass {
    /// Apply it and leave a note.
    Harmless,
    /// Keep the accepted version until someone accepts the new one.
    NeedsAcceptance,
}

/// One change of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionChange {
    /// JSON pointer of the changed value.
    pub pointer: String,
    /// Excerpt of the old value; `None` if it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// Excerpt of the new value; `None` if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// What to do with it.
    pub class: ChangeClass,
    /// Why, for people.
    pub reason: String,
}

impl DefinitionChange {
    pub(crate) fn new(
        pointer: &str,
        old: Option<&Value>,
        new: Option<&Value>,
        (class, reason): (ChangeClass, &str),
    ) -> Self {
        let show = |value: &Value| match value {
            Value::String(text) => excerpt(text),
            other => excerpt(&other.to_string()),
        };
        Self {
            pointer: excerpt(pointer),
            old: old.map(show),
            new: new.map(show),
            class,
            reason: reason.to_owned(),
        }
    }
}

/// The content behind the icon URLs of the two versions, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct IconContents<'c> {
    /// Icons of the old version, by URL.
    pub old: Option<&'c BTreeMap<String, ContentDigest>>,
    /// Icons of the new version, by URL.
    pub new: Option<&'c BTreeMap<String, ContentDigest>>,
}

impl IconContents<'_> {
    fn are_equal(self, old_url: &str, new_url: &str) -> bool {
        let digest = |icons: Option<&BTreeMap<String, ContentDigest>>, url| icons?.get(url).copied();
        digest(self.old, old_url).is_some_and(|old| digest(self.new, new_url) == Some(old))
    }
}

/// The changes between two versions of one definition. Empty if their digests are equal.
pub fn compare_definitions(old: &Value, new: &Value, icons: IconContents<'_>) -> Vec<DefinitionChange> {
    walk::list_changes(&without_excluded(old), &without_excluded(new), icons)
}

/// The class of a list of changes: that of its worst one.
pub fn worst_class(changes: &[DefinitionChange]) -> Option<ChangeClass> {
    changes.iter().map(|change| change.class).max()
}

/// The changes of what a definition points to. The definition itself is left to [`compare_definitions`].
///
/// Text and pages reach the model or run in a client, and a picture can imitate another app, so each needs acceptance.
pub fn compare_pointed_content(old: &PinnedSurface, new: &PinnedSurface) -> Vec<DefinitionChange> {
    let mut changes = Vec::new();
    for part in old.changed_parts(new) {
        let needed = |reason| (ChangeClass::NeedsAcceptance, reason);
        match part {
            SurfacePart::Definition => {}
            SurfacePart::Icons => {
                // The same pictures under other URLs show as a change of the definition, where it is judged.
                let pictures = |surface: &PinnedSurface| {
                    let mut all: Vec<_> = surface.icons.values().copied().collect();
                    all.sort_unstable();
                    all
                };
                if pictures(old) != pictures(new) {
                    let reason = needed("the picture of an icon changed");
                    push_map_changes("/icons", &old.icons, &new.icons, reason, &mut changes);
                }
            }
            SurfacePart::Pages => {
                let reason = needed("the content of a page changed");
                push_map_changes("/pages", &old.pages, &new.pages, reason, &mut changes);
            }
            SurfacePart::Instructions => {
                let show =
                    |digest: Option<ContentDigest>| digest.map(|digest| Value::String(digest.to_string()));
                let (old, new) = (show(old.instructions), show(new.instructions));
                let reason = needed("the instructions of the server changed");
                changes.push(DefinitionChange::new("/instructions", old.as_ref(), new.as_ref(), reason));
            }
        }
    }
    changes
}

fn push_map_changes(
    base: &str,
    old: &BTreeMap<String, ContentDigest>,
    new: &BTreeMap<String, ContentDigest>,
    reason: (ChangeClass, &str),
    changes: &mut Vec<DefinitionChange>,
) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let show = |map: &BTreeMap<String, ContentDigest>| map.get(key).map(|d| Value::String(d.to_string()));
        let (before, after) = (show(old), show(new));
        if before != after && changes.len() < MAX_CHANGES {
            let pointer = format!("{base}/{}", walk::escape_pointer(key));
            changes.push(DefinitionChange::new(&pointer, before.as_ref(), after.as_ref(), reason));
        }
    }
}

#[cfg(test)]
mod tests;
