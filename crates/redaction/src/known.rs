//! Secrets that a call received: they are replaced in its result wherever they are, whatever their format.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use zeroize::Zeroizing;

/// Shorter secrets are not searched: they would match everywhere.
pub const MIN_KNOWN_BYTES: usize = 4;

/// The kind of a known secret that has lost its own, because it is no longer stored.
pub(crate) const KNOWN_KIND: &str = "restored-secret";

/// Secrets to search for verbatim.
#[derive(Default)]
pub struct KnownSecrets(Option<AhoCorasick>);

impl KnownSecrets {
    /// A search for these secrets.
    pub fn new(secrets: &[Zeroizing<String>]) -> Self {
        let long: Vec<&str> = secrets
            .iter()
            .map(|secret| secret.as_str())
            .filter(|secret| secret.len() >= MIN_KNOWN_BYTES)
            .collect();
        if long.is_empty() {
            return Self::default();
        }
        // Their total size is bounded, so they fit into an automaton.
        Self(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(long).ok())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.0.iter().flat_map(move |search| search.find_iter(text).map(|hit| hit.range()))
    }
}

impl std::fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}
