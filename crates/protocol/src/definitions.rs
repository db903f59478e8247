//! Pinned definitions: what was accepted, which changes wait, and what people answer.

use serde::{Deserialize, Serialize};

use crate::{
    approval::wire_enum,
    id::{DefinitionChangeId, UserId},
    name::{PackageName, ToolName},
};

wire_enum! {
    /// What is pinned.
    PinKind {
        /// The definition of a tool, with the content of its icons.
        Tool = "tool",
        /// The content of a `ui://` page.
        Page = "page",
        /// The `instructions` of a server.
        Instructions = "instructions",
    }
}

wire_enum! {
    /// How a definition differs from what was accepted.
    DefinitionChangeKind {
        /// It is new, and the operator wants to accept everything.
        Added = "added",
        /// It changed.
        Changed = "changed",
        /// The content of another tool, which is gone, under a new name.
        Renamed = "renamed",
        /// It exchanged its content with another tool.
        Swapped = "swapped",
        /// It has the content that another tool had.
        TookOver = "took-over",
        /// The name is listed several times with different content.
        Duplicated = "duplicated",
        /// It returned to content that was accepted before the current one.
        Reverted = "reverted",
    }
}

wire_enum! {
    /// Why a definition is pinned.
    PinOrigin {
        /// It was the first one that this server saw.
        FirstUse = "first-use",
        /// A person accepted it.
        Accepted = "accepted",
        /// An operator published it.
        Published = "published",
        /// The operator's settings apply changes with a note.
        Noted = "noted",
    }
}

wire_enum! {
    /// An answer to a changed definition.
    DefinitionAnswer {
        /// Use the new one.
        Accept = "accept",
        /// Keep the old one.
        Reject = "reject",
    }
}

wire_enum! {
    /// Whom an answer is for.
    AnswerScope {
        /// Everyone. Only operators can answer for everyone.
        Everyone = "everyone",
        /// The user who answers.
        Me = "me",
    }
}

wire_enum! {
    /// Whether a changed definition was answered.
    DefinitionChangeState {
        /// It waits for an answer.
        Pending = "pending",
        /// It was rejected: the old definition stays.
        Rejected = "rejected",
    }
}

/// A definition that changed and is not in use.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionChangeInfo {
    /// Its id. It stays the same if the definition changes again.
    pub id: DefinitionChangeId,
    /// The app or upstream.
    pub package: PackageName,
    /// What changed.
    pub subject: PinKind,
    /// The name of the tool as its source lists it, or the URI of the page. Empty for instructions.
    pub name: String,
    /// The tool as it is called here, if a tool changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// The user, if the server offers this to one user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// How it differs from what was accepted.
    pub kind: DefinitionChangeKind,
    /// The other tool of a renamed, swapped or taken-over one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// Identifies this version. An answer names it.
    pub digest: String,
    /// Whether it was answered.
    pub state: DefinitionChangeState,
    /// When this version was seen first.
    pub since: String,
    /// How many findings of the scanner a person should look at.
    pub flagged: usize,
    /// Whether an accepted version is still in use.
    pub old_in_use: bool,
}

/// A page of changed definitions.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DefinitionChangeList {
    /// The changes, by package and name.
    pub changes: Vec<DefinitionChangeInfo>,
    /// Send it as `after` to get the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A changed definition with everything that a person needs to decide.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DefinitionChangeDetails {
    /// The change.
    #[serde(flatten)]
    pub change: DefinitionChangeInfo,
    /// The lines that differ, with `@` for places, `-` for removed and `+` for added lines.
    pub diff: Vec<String>,
    /// Why each change needs acceptance, or does not.
    pub reasons: Vec<ChangeReason>,
    /// What the scanner found in the new version.
    pub findings: Vec<DefinitionFinding>,
}

/// One change of a definition, judged.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangeReason {
    /// JSON pointer of the changed value.
    pub pointer: String,
    /// Whether it would be applied without a question.
    pub harmless: bool,
    /// Why.
    pub reason: String,
}

/// Something suspicious in a definition.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DefinitionFinding {
    /// The rule of the scanner, such as `imitation`.
    pub rule: String,
    /// `low`, `medium` or `high`. From `medium` on, a person should look.
    pub severity: String,
    /// JSON pointer of the text.
    pub pointer: String,
    /// Excerpt of the text.
    pub excerpt: String,
    /// Why it is suspicious.
    pub reason: String,
}

/// An answer to a changed definition.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefinitionAnswerRequest {
    /// The answer.
    pub answer: DefinitionAnswer,
    /// The digest of the version that was shown. If the definition changed since, the answer is refused.
    pub digest: String,
    /// Whom it is for. Default: everyone if an operator answers, otherwise the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<AnswerScope>,
}

/// What is pinned for a package.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackagePinsInfo {
    /// The app or upstream.
    pub package: PackageName,
    /// When this server saw it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<String>,
    /// What is pinned.
    pub pins: Vec<DefinitionPinInfo>,
    /// What was applied without a question, the newest first.
    pub notes: Vec<DefinitionNoteInfo>,
}

/// One pinned definition.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DefinitionPinInfo {
    /// What is pinned.
    pub subject: PinKind,
    /// The name of the tool as its source lists it, or the URI of the page. Empty for instructions.
    pub name: String,
    /// The user, if it is pinned for one user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Identifies the pinned version.
    pub digest: String,
    /// Why it is pinned.
    pub origin: PinOrigin,
    /// Who accepted or published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Since when.
    pub since: String,
    /// What the scanner found when it was pinned.
    pub findings: Vec<DefinitionFinding>,
}

/// Something that happened to the pins of a package.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DefinitionNoteInfo {
    /// What it is about.
    pub subject: PinKind,
    /// The name of the tool as its source lists it, or the URI of the page. Empty for instructions.
    pub name: String,
    /// When.
    pub at: String,
    /// What happened.
    pub text: String,
}
