//! Compares what a package offers now with what was accepted, and judges each difference.
//!
//! Pure: who may accept, what is listed meanwhile and what is stored is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolyard_protocol::definitions::{DefinitionChangeKind, PinKind};

use crate::{
    change::{
        AcceptedHistory, ChangeClass, DefinitionChange, IconContents, ListChange, MAX_LISTED_TOOLS,
        NamedDefinition, TooManyTools, compare_definitions, compare_lists, compare_pointed_content,
        worst_class,
    },
    digest::ContentDigest,
    pin::{PinSubject, PinnedContent},
};

/// The accepted version of a subject.
#[derive(Debug, Clone)]
pub struct AcceptedVersion {
    /// Its content.
    pub content: PinnedContent,
    /// Its digest.
    pub digest: ContentDigest,
    /// Versions that were accepted before it.
    pub earlier: Vec<ContentDigest>,
}

/// Everything that was accepted of a package.
pub type AcceptedSet = BTreeMap<PinSubject, AcceptedVersion>;

/// What a package offers now.
#[derive(Debug, Clone, Default)]
pub struct CurrentOffer {
    /// The tools in order, by the name that their source lists. A name can occur twice.
    pub tools: Vec<(String, PinnedContent)>,
    /// The pages that could be read, by URI.
    pub pages: BTreeMap<String, PinnedContent>,
    /// The instructions; `None` if the package cannot have any.
    pub instructions: Option<PinnedContent>,
}

/// The judgement of one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectVerdict {
    /// It is what was accepted.
    Unchanged,
    /// It is new, and no other subject under a new name.
    FirstUse,
    /// It can be applied with a note.
    Harmless(Vec<DefinitionChange>),
    /// It must be accepted first.
    NeedsAcceptance(JudgedChange),
}

/// A change that must be accepted first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedChange {
    /// How it differs.
    pub kind: DefinitionChangeKind,
    /// The other tool of a renamed, swapped or taken-over one.
    pub other: Option<String>,
    /// What differs.
    pub changes: Vec<DefinitionChange>,
}

/// One subject as it is offered now, judged.
#[derive(Debug, Clone)]
pub struct ReviewedSubject {
    /// The subject.
    pub subject: PinSubject,
    /// Its content now.
    pub content: PinnedContent,
    /// The digest of that content.
    pub digest: ContentDigest,
    /// The judgement.
    pub verdict: SubjectVerdict,
}

/// Judges everything that a package offers now. Tools that cannot be pinned are left out. If the package is known, what it
/// says in its instructions for the first time is a change.
pub fn review_offer(
    accepted: &AcceptedSet,
    current: &CurrentOffer,
    is_known: bool,
) -> Result<Vec<ReviewedSubject>, TooManyTools> {
    let mut reviewed = review_tools(accepted, &current.tools)?;
    for (uri, page) in &current.pages {
        reviewed.extend(review_text(accepted, PinSubject::Page(uri.clone()), page, false));
    }
    if let Some(instructions) = &current.instructions {
        reviewed.extend(review_text(accepted, PinSubject::Instructions, instructions, is_known));
    }
    Ok(reviewed)
}

/// A page or instructions: any difference must be accepted.
fn review_text(
    accepted: &AcceptedSet,
    subject: PinSubject,
    content: &PinnedContent,
    is_known: bool,
) -> Option<ReviewedSubject> {
    let kind = subject.kind();
    let digest = content.digest(kind).ok()?;
    let needs = |changes, kind| SubjectVerdict::NeedsAcceptance(JudgedChange { kind, other: None, changes });
    let verdict = match accepted.get(&subject) {
        Some(version) if version.digest == digest => SubjectVerdict::Unchanged,
        Some(version) => {
            let changes = text_changes(kind, &version.content, content);
            needs(changes, changed_or_reverted(version, &digest))
        }
        None if is_known && !content.text.is_empty() => {
            let changes = text_changes(kind, &PinnedContent::new(""), content);
            needs(changes, DefinitionChangeKind::Changed)
        }
        None => SubjectVerdict::FirstUse,
    };
    Some(ReviewedSubject { subject, content: content.clone(), digest, verdict })
}

fn text_changes(kind: PinKind, old: &PinnedContent, new: &PinnedContent) -> Vec<DefinitionChange> {
    let (pointer, reason) = match kind {
        PinKind::Instructions => ("/instructions", "the instructions of the server changed"),
        PinKind::Page | PinKind::Tool => ("/page", "the content of a page changed"),
    };
    let (old, new) = (Value::String(old.text.clone()), Value::String(new.text.clone()));
    vec![DefinitionChange::new(pointer, Some(&old), Some(&new), (ChangeClass::NeedsAcceptance, reason))]
}

fn changed_or_reverted(version: &AcceptedVersion, digest: &ContentDigest) -> DefinitionChangeKind {
    if version.earlier.contains(digest) {
        DefinitionChangeKind::Reverted
    } else {
        DefinitionChangeKind::Changed
    }
}

/// A tool as it is offered now.
struct OfferedTool {
    content: PinnedContent,
    definition: Value,
    digest: ContentDigest,
    /// Whether the name occurs again with different content.
    is_duplicated: bool,
}

fn review_tools(
    accepted: &AcceptedSet,
    tools: &[(String, PinnedContent)],
) -> Result<Vec<ReviewedSubject>, TooManyTools> {
    if tools.len() > MAX_LISTED_TOOLS {
        return Err(TooManyTools);
    }
    let accepted_version = |name: &str| accepted.get(&PinSubject::Tool(name.to_owned()));
    let mut offered: BTreeMap<&str, OfferedTool> = BTreeMap::new();
    for (name, content) in tools {
        let Some(tool) = read_tool(content, accepted_version(name)) else { continue };
        match offered.get_mut(name.as_str()) {
            None => drop(offered.insert(name, tool)),
            Some(first) if first.digest == tool.digest => {}
            Some(first) => {
                // What differs from the accepted version is what a person must see.
                let is_accepted =
                    accepted_version(name).is_some_and(|version| version.digest == first.digest);
                if is_accepted {
                    *first = tool;
                }
                first.is_duplicated = true;
            }
        }
    }
    let is_unchanged = |name: &str, tool: &OfferedTool| {
        !tool.is_duplicated && accepted_version(name).is_some_and(|version| version.digest == tool.digest)
    };
    let moved = if offered.iter().all(|(name, tool)| is_unchanged(name, tool)) {
        BTreeMap::new()
    } else {
        find_list_changes(accepted, &offered)?
    };
    let judged = offered.into_iter().map(|(name, tool)| {
        let verdict = if is_unchanged(name, &tool) {
            SubjectVerdict::Unchanged
        } else {
            judge_tool(accepted_version(name), &tool, moved.get(name))
        };
        let subject = PinSubject::Tool(name.to_owned());
        ReviewedSubject { subject, content: tool.content, digest: tool.digest, verdict }
    });
    Ok(judged.collect())
}

fn read_tool(content: &PinnedContent, accepted: Option<&AcceptedVersion>) -> Option<OfferedTool> {
    let definition = content.definition().ok()?;
    let mut content = content.clone();
    if let Some(version) = accepted {
        content.share_icons(&version.content, &definition);
    }
    let digest = content.surface(&definition).combined();
    Some(OfferedTool { content, definition, digest, is_duplicated: false })
}

/// Renames, swaps and edits between the accepted tools and the current ones, by the current name.
fn find_list_changes(
    accepted: &AcceptedSet,
    offered: &BTreeMap<&str, OfferedTool>,
) -> Result<BTreeMap<String, ListChange>, TooManyTools> {
    let old: Vec<(&str, Value)> = accepted
        .iter()
        .filter_map(|(subject, version)| match subject {
            PinSubject::Tool(name) => Some((name.as_str(), version.content.definition().ok()?)),
            PinSubject::Page(_) | PinSubject::Instructions => None,
        })
        .collect();
    let old: Vec<NamedDefinition<'_>> =
        old.iter().map(|(name, definition)| NamedDefinition { name, definition }).collect();
    let new: Vec<NamedDefinition<'_>> =
        offered.iter().map(|(name, tool)| NamedDefinition { name, definition: &tool.definition }).collect();
    let mut by_name = BTreeMap::new();
    for change in compare_lists(&old, &new, &AcceptedHistory::new())? {
        let names: BTreeSet<String> = match &change {
            ListChange::Swapped { first, second } => [first.clone(), second.clone()].into(),
            ListChange::Renamed { to, .. } => [to.clone()].into(),
            ListChange::Added { name }
            | ListChange::Changed { name, .. }
            | ListChange::TookOver { name, .. }
            | ListChange::Reverted { name, .. } => [name.clone()].into(),
            ListChange::Removed { .. } | ListChange::Duplicated { .. } => BTreeSet::new(),
        };
        by_name.extend(names.into_iter().map(|name| (name, change.clone())));
    }
    Ok(by_name)
}

fn judge_tool(
    accepted: Option<&AcceptedVersion>,
    tool: &OfferedTool,
    moved: Option<&ListChange>,
) -> SubjectVerdict {
    let changes = accepted.map(|version| tool_changes(version, tool)).unwrap_or_default();
    let needs = |kind, other: Option<&String>, changes| {
        SubjectVerdict::NeedsAcceptance(JudgedChange { kind, other: other.cloned(), changes })
    };
    if tool.is_duplicated {
        return needs(DefinitionChangeKind::Duplicated, None, changes);
    }
    match (moved, accepted) {
        (Some(ListChange::Renamed { from, changes, .. }), _) => {
            needs(DefinitionChangeKind::Renamed, Some(from), changes.clone())
        }
        (Some(ListChange::Swapped { first, second }), _) => {
            let name = tool.definition.get("name").and_then(Value::as_str);
            let other = if name == Some(first) { second } else { first };
            needs(DefinitionChangeKind::Swapped, Some(other), changes)
        }
        (Some(ListChange::TookOver { content_of, .. }), _) => {
            needs(DefinitionChangeKind::TookOver, Some(content_of), changes)
        }
        (_, None) => SubjectVerdict::FirstUse,
        (_, Some(version)) => match changed_or_reverted(version, &tool.digest) {
            DefinitionChangeKind::Reverted => needs(DefinitionChangeKind::Reverted, None, changes),
            _ if worst_class(&changes) == Some(ChangeClass::NeedsAcceptance) => {
                needs(DefinitionChangeKind::Changed, None, changes)
            }
            _ => SubjectVerdict::Harmless(changes),
        },
    }
}

/// What differs between the accepted version of a tool and the current one, with its icons.
fn tool_changes(version: &AcceptedVersion, tool: &OfferedTool) -> Vec<DefinitionChange> {
    let Ok(old) = version.content.definition() else {
        let reason = "the accepted version cannot be read".to_owned();
        let class = ChangeClass::NeedsAcceptance;
        return vec![DefinitionChange { pointer: String::new(), old: None, new: None, class, reason }];
    };
    let mut before = version.content.clone();
    before.share_icons(&tool.content, &old);
    let icons = IconContents { old: Some(&before.icons), new: Some(&tool.content.icons) };
    let mut changes = compare_definitions(&old, &tool.definition, icons);
    let pointed = compare_pointed_content(&before.surface(&old), &tool.content.surface(&tool.definition));
    changes.extend(pointed);
    changes
}

#[cfg(test)]
mod tests;
