//! Pinned definitions: what was accepted, which changes wait for an answer, and what was applied with a note.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_definitions::{
    ContentDigest, DefinitionChange, PinSubject, PinnedContent, ScanFinding,
    review::{AcceptedSet, AcceptedVersion},
};
use toolyard_protocol::{
    DefinitionChangeId, PackageName, UserId,
    definitions::{DefinitionChangeKind, DefinitionChangeState, PinOrigin},
};

use super::{StoreError, UpstreamOffer};

/// Earlier accepted versions that are remembered for each subject.
pub const MAX_EARLIER_VERSIONS: usize = 16;
/// Notes that are kept for each package.
pub const MAX_NOTES_PER_PACKAGE: u32 = 100;
/// Pins for everyone that are kept for one package. More than a package can offer at once: a tool that is gone keeps its pin
/// for a while.
pub const MAX_PINS_PER_PACKAGE: u64 = 2_000;
/// Pins that one user may have of their own.
pub const MAX_PINS_PER_USER: u64 = 1_000;
/// Users who may have pins of their own for one package.
pub const MAX_USERS_WITH_PINS: u32 = 10_000;

/// The accepted version of a subject.
#[derive(Debug, Clone)]
pub struct DefinitionPin {
    /// What is pinned.
    pub subject: PinSubject,
    /// The user who accepted it for themselves; `None` if it applies to all users.
    pub user: Option<UserId>,
    /// The content, its digest, and what was accepted before.
    pub version: AcceptedVersion,
    /// Why it is pinned.
    pub origin: PinOrigin,
    /// Who accepted or published it.
    pub by: Option<String>,
    /// Since when.
    pub at: Timestamp,
    /// What the scanner found in it.
    pub findings: Vec<ScanFinding>,
}

impl DefinitionPin {
    /// The versions before the one that replaces this pin.
    pub fn earlier_than_next(&self, next: &ContentDigest) -> Vec<ContentDigest> {
        let known = std::iter::once(&self.version.digest).chain(&self.version.earlier);
        known.filter(|digest| *digest != next).take(MAX_EARLIER_VERSIONS).copied().collect()
    }
}

/// The pins of a package that count for one user, or for everyone.
#[derive(Debug, Clone, Default)]
pub struct PackagePins {
    /// When the package was reviewed first; `None` if it never was.
    pub first_seen: Option<Timestamp>,
    /// The pins of everyone, and those of the user.
    pub pins: Vec<DefinitionPin>,
    /// The changes that wait or were rejected, of this user's offer or of the shared one, with their digests.
    pub waiting: BTreeMap<PinSubject, ContentDigest>,
}

impl PackagePins {
    /// The pin that counts for each subject: the user's own, otherwise that of everyone.
    pub fn effective(&self) -> BTreeMap<&PinSubject, &DefinitionPin> {
        let mut effective: BTreeMap<&PinSubject, &DefinitionPin> = BTreeMap::new();
        for pin in &self.pins {
            let place = effective.entry(&pin.subject).or_insert(pin);
            if pin.user.is_some() {
                *place = pin;
            }
        }
        effective
    }

    /// What was accepted.
    pub fn accepted(&self) -> AcceptedSet {
        self.effective().into_iter().map(|(subject, pin)| (subject.clone(), pin.version.clone())).collect()
    }
}

/// A change that is not in use.
#[derive(Debug, Clone)]
pub struct QuarantinedChange {
    /// Its id.
    pub id: DefinitionChangeId,
    /// The package.
    pub package: PackageName,
    /// The user, if only this user's offer has it.
    pub user: Option<UserId>,
    /// What changed.
    pub subject: PinSubject,
    /// How.
    pub kind: DefinitionChangeKind,
    /// The other tool of a renamed, swapped or taken-over one.
    pub other: Option<String>,
    /// The new content.
    pub content: PinnedContent,
    /// The digest of the new content.
    pub digest: ContentDigest,
    /// What differs.
    pub changes: Vec<DefinitionChange>,
    /// What the scanner found in the new content.
    pub findings: Vec<ScanFinding>,
    /// When this version was seen first.
    pub at: Timestamp,
    /// Whether it was answered, for the reader of the list.
    pub state: DefinitionChangeState,
}

/// Something that was applied without a question.
#[derive(Debug, Clone)]
pub struct DefinitionNote {
    /// What it is about.
    pub subject: PinSubject,
    /// When.
    pub at: Timestamp,
    /// What happened, for people.
    pub text: String,
}

/// The outcome of a review, written in one transaction.
#[derive(Debug, Clone, Default)]
pub struct ReviewOutcome {
    /// Pins to add or replace.
    pub pins: Vec<DefinitionPin>,
    /// Subjects whose pins of single users end, because a version for everyone replaces them.
    pub ended_user_pins: Vec<PinSubject>,
    /// All changes that wait, in place of those before.
    pub changes: Vec<QuarantinedChange>,
    /// What was applied without a question.
    pub notes: Vec<DefinitionNote>,
    /// Subjects that are offered now. If there are too many pins, others go first.
    pub offered: Vec<PinSubject>,
}

/// Which changes to list.
#[derive(Debug, Clone, Default)]
pub struct QuarantineFilter {
    /// Only what concerns this user: changes of these packages that are offered to everyone or to the user. `None` lists
    /// everything, for operators.
    pub viewer: Option<(UserId, Vec<PackageName>)>,
    /// Only this package.
    pub package: Option<PackageName>,
    /// Only this state.
    pub state: Option<DefinitionChangeState>,
    /// Only this change.
    pub id: Option<DefinitionChangeId>,
    /// After this place.
    pub after: Option<QuarantinePlace>,
    /// How many at most.
    pub limit: u32,
}

/// A place in the order of changes: package, kind, name and user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinePlace(pub [String; 4]);

/// An answer to a change.
#[derive(Debug, Clone)]
pub struct QuarantineAnswer {
    /// Which change.
    pub id: DefinitionChangeId,
    /// The version that was shown.
    pub digest: ContentDigest,
    /// For this user only; `None` for everyone.
    pub user: Option<UserId>,
    /// Who answers.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuarantineOutcome {
    /// It was stored.
    Stored,
    /// The definition changed since it was shown.
    Conflict,
    /// There is no such change.
    NotFound,
    /// The user has too many pins, or too many users have pins.
    Full,
}

/// Stores pins and notes.
#[async_trait]
pub trait PinStore: Send + Sync {
    /// The pins that count for this user, or for everyone.
    async fn find_pins(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<PackagePins, StoreError>;
    /// Users who have pins of their own for this package, at most [`MAX_USERS_WITH_PINS`].
    async fn users_with_pins(&self, package: &PackageName) -> Result<Vec<UserId>, StoreError>;
    /// Writes a review of the offer for this user, or of the shared one. False if the package does not exist.
    async fn save_review(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        outcome: &ReviewOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError>;
    /// The latest notes, the newest first.
    async fn list_notes(&self, package: &PackageName) -> Result<Vec<DefinitionNote>, StoreError>;
    /// Pinned tools of other packages, to find imitations.
    async fn tools_of_others(
        &self,
        package: &PackageName,
        limit: u32,
    ) -> Result<Vec<(PackageName, Box<RawValue>)>, StoreError>;
}

/// Stores the changes that wait, and the answers.
#[async_trait]
pub trait QuarantineStore: Send + Sync {
    /// The changes, by package, subject and user, each with the place that continues the list after it.
    async fn list_quarantined(
        &self,
        filter: &QuarantineFilter,
    ) -> Result<Vec<(QuarantinedChange, QuarantinePlace)>, StoreError>;
    /// Makes the new version the pinned one.
    async fn accept_change(&self, answer: &QuarantineAnswer) -> Result<QuarantineOutcome, StoreError>;
    /// Whether an operator rejected this version for everyone.
    async fn is_rejected_for_all(&self, change: &QuarantinedChange) -> Result<bool, StoreError>;
    /// Keeps the pinned version. This version of the change is not asked about again.
    async fn reject_change(&self, answer: &QuarantineAnswer) -> Result<QuarantineOutcome, StoreError>;
}

/// Compares what an upstream offers with what was accepted, and stores the outcome.
#[async_trait]
pub trait OfferReview: Send + Sync {
    /// Reviews the offer for one user, or the shared one. True if something changed for users or operators.
    async fn review_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: &UpstreamOffer,
    ) -> Result<bool, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_versions_are_bounded_and_never_name_the_next_one() {
        let digest = |number: usize| ContentDigest::from_content(&number.to_be_bytes());
        let pin = DefinitionPin {
            subject: PinSubject::Instructions,
            user: None,
            version: AcceptedVersion {
                content: PinnedContent::new(String::new()),
                digest: digest(0),
                earlier: (1..=MAX_EARLIER_VERSIONS).map(digest).collect(),
            },
            origin: PinOrigin::FirstUse,
            by: None,
            at: Timestamp::UNIX_EPOCH,
            findings: Vec::new(),
        };
        let newest: Vec<_> = (0..MAX_EARLIER_VERSIONS).map(digest).collect();
        assert_eq!(pin.earlier_than_next(&digest(99)), newest, "the oldest goes");
        assert!(!pin.earlier_than_next(&digest(3)).contains(&digest(3)));
    }
}
