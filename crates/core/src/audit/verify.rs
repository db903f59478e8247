//! Verifies a chain, entry by entry, and says what is wrong with the first bad one.

use super::{AuditAnchor, AuditHead, AuditKeys, chain::content_hash};
use crate::ports::AuditRecord;

/// How far after its place the original number of a moved entry is searched.
const MOVED_SEARCH: u64 = 100_000;

/// What is wrong with a log. The first bad entry decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// The content of an entry does not fit its hash.
    #[error("entry {number} was changed: its content does not match its hash")]
    Changed {
        /// Which entry.
        number: u64,
    },
    /// An entry has a valid hash that no server with this root key wrote.
    #[error("entry {number} was inserted or rewritten: no server with this root key wrote it")]
    Inserted {
        /// Which entry.
        number: u64,
    },
    /// Entries are missing.
    #[error("entries {first} to {last} were removed")]
    Removed {
        /// The first missing entry.
        first: u64,
        /// The last missing entry.
        last: u64,
    },
    /// An entry is in the place of another.
    #[error("entry {number} was reordered: it was written as entry {written_as}")]
    Reordered {
        /// Where it is.
        number: u64,
        /// Where it was.
        written_as: u64,
    },
    /// An entry was written after another entry than the one before it.
    #[error(
        "entry {number} does not follow the entry before it: the two belong to different copies of the database, for example one \
         from before a backup was restored"
    )]
    Detached {
        /// Which entry.
        number: u64,
    },
    /// The anchor was not written by a server.
    #[error("the record of what retention removed, up to entry {number}, was changed")]
    AnchorChanged {
        /// The last entry that was removed, if the anchor is to be believed.
        number: u64,
    },
    /// The log ends before an entry that existed.
    #[error("entries {first} to {last} were removed from the end: the given head proves that they existed")]
    Truncated {
        /// The first missing entry.
        first: u64,
        /// The entry of the head.
        last: u64,
    },
    /// The entry of the given head is another one.
    #[error("entry {number} is not the one of the given head: this entry, or one before it, was replaced")]
    HeadDiffers {
        /// Which entry.
        number: u64,
    },
}

impl AuditFault {
    /// A short code for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "changed",
            Self::Inserted { .. } => "inserted",
            Self::Removed { .. } => "removed",
            Self::Reordered { .. } => "reordered",
            Self::Detached { .. } => "detached",
            Self::AnchorChanged { .. } => "anchor_changed",
            Self::Truncated { .. } => "truncated",
            Self::HeadDiffers { .. } => "head_differs",
        }
    }

    /// The first bad entry.
    pub const fn number(&self) -> u64 {
        match self {
            Self::Changed { number }
            | Self::Inserted { number }
            | Self::Reordered { number, .. }
            | Self::Detached { number }
            | Self::AnchorChanged { number }
            | Self::HeadDiffers { number } => *number,
            Self::Removed { first, .. } | Self::Truncated { first, .. } => *first,
        }
    }
}

/// A log without a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSummary {
    /// How many entries were verified.
    pub entries: u64,
    /// The last entry that retention removed; 0 if none was.
    pub removed_up_to: u64,
    /// The end of the log, to be noted elsewhere.
    pub head: AuditHead,
    /// Whether the given head was found. False if none was given, or retention removed its entry.
    pub is_head_found: bool,
}

/// Verifies entries in the order of their numbers.
pub struct ChainVerifier<'a> {
    keys: &'a AuditKeys,
    expected: Option<AuditHead>,
    anchor: AuditHead,
    last: AuditHead,
    is_head_found: bool,
}

impl<'a> ChainVerifier<'a> {
    /// Begins after what retention removed. `expected` is a head that was noted before.
    pub fn new(
        keys: &'a AuditKeys,
        anchor: Option<AuditAnchor>,
        expected: Option<AuditHead>,
    ) -> Result<Self, AuditFault> {
        if let Some(anchor) = anchor.filter(|anchor| !keys.is_proved_anchor(anchor)) {
            return Err(AuditFault::AnchorChanged { number: anchor.head.number });
        }
        let anchor = anchor.map(|anchor| anchor.head).unwrap_or_default();
        let mut verifier = Self { keys, expected, anchor, last: anchor, is_head_found: false };
        verifier.compare_with_head()?;
        Ok(verifier)
    }

    /// Verifies the next entry.
    pub fn check(&mut self, record: &AuditRecord) -> Result<(), AuditFault> {
        let (number, next) = (record.number, self.last.number + 1);
        if number > next {
            return Err(AuditFault::Removed { first: next, last: number - 1 });
        }
        if number < next {
            // Before the anchor: retention removed what had this number.
            return Err(AuditFault::Inserted { number });
        }
        if content_hash(record, number) != record.hash {
            return Err(match find_original_number(record) {
                Some(written_as) => AuditFault::Reordered { number, written_as },
                None => AuditFault::Changed { number },
            });
        }
        if !self.keys.is_proved(record) {
            return Err(AuditFault::Inserted { number });
        }
        if record.previous != self.last.hash {
            return Err(AuditFault::Detached { number });
        }
        self.last = record.head();
        self.compare_with_head()
    }

    /// Ends the verification after the last entry.
    pub fn finish(self) -> Result<AuditSummary, AuditFault> {
        if let Some(expected) = self.expected.filter(|expected| expected.number > self.last.number) {
            return Err(AuditFault::Truncated { first: self.last.number + 1, last: expected.number });
        }
        Ok(AuditSummary {
            entries: self.last.number - self.anchor.number,
            removed_up_to: self.anchor.number,
            head: self.last,
            is_head_found: self.is_head_found,
        })
    }

    fn compare_with_head(&mut self) -> Result<(), AuditFault> {
        match self.expected {
            Some(expected) if expected.number == self.last.number => {
                self.is_head_found = expected.hash == self.last.hash;
                if self.is_head_found {
                    Ok(())
                } else {
                    Err(AuditFault::HeadDiffers { number: expected.number })
                }
            }
            _ => Ok(()),
        }
    }
}

/// The number under which the content fits the hash, if the entry was moved as a whole.
fn find_original_number(record: &AuditRecord) -> Option<u64> {
    (1..=record.number.saturating_add(MOVED_SEARCH))
        .find(|number| content_hash(record, *number) == record.hash)
}
