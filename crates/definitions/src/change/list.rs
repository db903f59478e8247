//! What changed between two lists of definitions of one source.
//!
//! A name is what users remember and what policies match, so content that moves to another name is reported as such: a
//! renamed tool must not look like one that vanished and one that is new, and two tools that exchange their content must not
//! look like two unrelated edits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ChangeClass, DefinitionChange, IconContents, compare_definitions, worst_class};
use crate::{
    digest::DefinitionDigest,
    sketch::{SketchIndex, TextSketch},
};

/// Maximum number of tools in a list.
pub const MAX_LISTED_TOOLS: usize = 2_000;
/// From this similarity on, two definitions are taken for versions of one.
const SAME_TOOL: f64 = 0.6;

/// A list has too many tools to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the list has more than {MAX_LISTED_TOOLS} tools")]
pub struct TooManyTools;

/// A definition under the name that its source lists.
#[derive(Debug, Clone, Copy)]
pub struct NamedDefinition<'d> {
    /// The name.
    pub name: &'d str,
    /// The whole definition.
    pub definition: &'d Value,
}

/// Digests that were accepted before the current ones, by tool name.
pub type AcceptedHistory = BTreeMap<String, Vec<DefinitionDigest>>;

/// One change of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ListChange {
    /// A tool with a new name and new content.
    Added {
        /// Its name.
        name: String,
    },
    /// A tool that is no longer listed.
    Removed {
        /// Its name.
        name: String,
    },
    /// A tool whose definition changed.
    Changed {
        /// Its name.
        name: String,
        /// What changed.
        changes: Vec<DefinitionChange>,
    },
    /// The same or almost the same content under another name.
    Renamed {
        /// The old name, no longer listed.
        from: String,
        /// The new name.
        to: String,
        /// What else changed.
        changes: Vec<DefinitionChange>,
    },
    /// Two tools exchanged their content.
    Swapped {
        /// One of them, the first by name.
        first: String,
        /// The other one.
        second: String,
    },
    /// A tool has the content that another tool of the list had.
    TookOver {
        /// The tool that has it now.
        name: String,
        /// The tool that had it.
        content_of: String,
    },
    /// The list has a name twice, so it is open which definition counts. The last one is compared.
    Duplicated {
        /// The name.
        name: String,
    },
    /// A tool has again the definition that was accepted before the current one.
    Reverted {
        /// Its name.
        name: String,
        /// What changed compared to the current one.
        changes: Vec<DefinitionChange>,
    },
}

impl ListChange {
    /// What to do with it. Removing a tool is harmless, because nothing can run. Going back to an earlier definition is not: a
    /// source that alternates between two versions would otherwise choose when each of them is shown.
    pub fn class(&self) -> ChangeClass {
        match self {
            Self::Removed { .. } => ChangeClass::Harmless,
            Self::Changed { changes, .. } => worst_class(changes).unwrap_or(ChangeClass::Harmless),
            Self::Added { .. }
            | Self::Renamed { .. }
            | Self::Swapped { .. }
            | Self::TookOver { .. }
            | Self::Duplicated { .. }
            | Self::Reverted { .. } => ChangeClass::NeedsAcceptance,
        }
    }
}

/// Compares the accepted list of a source with the one it sends now. The cost grows linearly with the number of tools.
pub fn compare_lists(
    old: &[NamedDefinition<'_>],
    new: &[NamedDefinition<'_>],
    history: &AcceptedHistory,
) -> Result<Vec<ListChange>, TooManyTools> {
    if old.len() > MAX_LISTED_TOOLS || new.len() > MAX_LISTED_TOOLS {
        return Err(TooManyTools);
    }
    let by_name = |list: &[NamedDefinition<'_>]| -> BTreeMap<String, ToolVersion> {
        list.iter().map(|named| (named.name.to_owned(), ToolVersion::new(named.definition))).collect()
    };
    let mut comparison = ListComparison {
        old: by_name(old),
        new: by_name(new),
        owners: BTreeMap::new(),
        changes: find_duplicates(new),
        handled: BTreeSet::new(),
    };
    comparison.drop_unchanged();
    comparison.find_moves();
    comparison.find_renames();
    comparison.find_edits(history);
    Ok(comparison.changes)
}

fn find_duplicates(list: &[NamedDefinition<'_>]) -> Vec<ListChange> {
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for named in list {
        if !seen.insert(named.name) {
            twice.insert(named.name);
        }
    }
    twice.into_iter().map(|name| ListChange::Duplicated { name: name.to_owned() }).collect()
}

/// One version of a tool, with what is compared often.
struct ToolVersion {
    definition: Value,
    digest: DefinitionDigest,
    content: DefinitionDigest,
    sketch: TextSketch,
}

impl ToolVersion {
    fn new(definition: &Value) -> Self {
        Self {
            definition: definition.clone(),
            digest: DefinitionDigest::from_value(definition),
            content: DefinitionDigest::from_content(definition),
            sketch: TextSketch::from_definition(definition),
        }
    }
}

struct ListComparison {
    old: BTreeMap<String, ToolVersion>,
    new: BTreeMap<String, ToolVersion>,
    /// For each tool that changed, the tool whose old content it has now.
    owners: BTreeMap<String, String>,
    changes: Vec<ListChange>,
    /// Names of new definitions that are reported.
    handled: BTreeSet<String>,
}

impl ListComparison {
    fn drop_unchanged(&mut self) {
        let same: Vec<String> = self
            .new
            .iter()
            .filter(|(name, new)| self.old.get(*name).is_some_and(|old| old.digest == new.digest))
            .map(|(name, _)| name.clone())
            .collect();
        for name in same {
            self.new.remove(&name);
            self.old.remove(&name);
        }
    }

    /// Content that is now under another name that existed before.
    fn find_moves(&mut self) {
        // Tools that were equal before could not be told apart, so only unique content has an owner.
        let mut exact: BTreeMap<DefinitionDigest, Option<&str>> = BTreeMap::new();
        let mut index = SketchIndex::default();
        let old_names: Vec<&str> = self.old.keys().map(String::as_str).collect();
        for (name, version) in &self.old {
            exact.entry(version.content).and_modify(|owner| *owner = None).or_insert(Some(name));
            index.insert(version.sketch.clone());
        }
        for (name, version) in self.new.iter().filter(|(name, _)| self.old.contains_key(*name)) {
            let own = self.old[name].sketch.similarity(&version.sketch);
            let near = || {
                let (number, similarity) =
                    index.nearest(&version.sketch, |number| old_names[number] != name.as_str())?;
                (similarity >= SAME_TOOL && similarity > own).then_some(old_names[number])
            };
            let owner = exact.get(&version.content).copied().flatten().or_else(near);
            if let Some(owner) = owner.filter(|owner| *owner != name.as_str()) {
                self.owners.insert(name.clone(), owner.to_owned());
            }
        }
        for (name, owner) in &self.owners {
            let is_swap = self.owners.get(owner) == Some(name);
            if is_swap && name < owner {
                self.changes.push(ListChange::Swapped { first: name.clone(), second: owner.clone() });
            } else if !is_swap {
                self.changes.push(ListChange::TookOver { name: name.clone(), content_of: owner.clone() });
            }
            self.handled.insert(name.clone());
        }
    }

    /// Tools that are gone, and tools that are new, with the same or almost the same content.
    fn find_renames(&mut self) {
        let gone: Vec<&String> = self.old.keys().filter(|name| !self.new.contains_key(*name)).collect();
        let mut index = SketchIndex::default();
        let mut exact: BTreeMap<DefinitionDigest, usize> = BTreeMap::new();
        for (number, name) in gone.iter().enumerate() {
            index.insert(self.old[*name].sketch.clone());
            exact.entry(self.old[*name].content).or_insert(number);
        }
        let mut taken = vec![false; gone.len()];
        for (name, version) in self.new.iter().filter(|(name, _)| !self.old.contains_key(*name)) {
            let near = || {
                let (number, similarity) = index.nearest(&version.sketch, |number| !taken[number])?;
                (similarity >= SAME_TOOL).then_some(number)
            };
            let source = exact.get(&version.content).copied().filter(|number| !taken[*number]).or_else(near);
            self.handled.insert(name.clone());
            match source {
                Some(number) => {
                    taken[number] = true;
                    let old = &self.old[gone[number]].definition;
                    let changes = compare_definitions(old, &version.definition, IconContents::default());
                    self.changes.push(ListChange::Renamed {
                        from: gone[number].clone(),
                        to: name.clone(),
                        changes,
                    });
                }
                None => self.changes.push(ListChange::Added { name: name.clone() }),
            }
        }
        for (number, name) in gone.into_iter().enumerate() {
            if !taken[number] {
                self.changes.push(ListChange::Removed { name: name.clone() });
            }
        }
    }

    fn find_edits(&mut self, history: &AcceptedHistory) {
        for (name, version) in self.new.iter().filter(|(name, _)| !self.handled.contains(*name)) {
            let changes =
                compare_definitions(&self.old[name].definition, &version.definition, IconContents::default());
            let was_accepted = history.get(name).is_some_and(|earlier| earlier.contains(&version.digest));
            self.changes.push(if was_accepted {
                ListChange::Reverted { name: name.clone(), changes }
            } else {
                ListChange::Changed { name: name.clone(), changes }
            });
        }
    }
}
