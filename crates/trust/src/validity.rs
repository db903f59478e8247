//! For how long a verdict stands, as far as the time decides.

use std::ops::Range;

use jiff::Timestamp;
use toolyard_protocol::plugin::Manifest;

use crate::judge::TrustContext;

/// Around [`TrustContext::now`]: as long as the rest of the ground stays what it is, judging the manifest at any time in here comes
/// to the same. It may end earlier than it has to: every date in the lists counts, whomever it is about.
pub fn verdict_validity(manifest: &Manifest, ground: &TrustContext<'_>) -> Range<Timestamp> {
    let keys = ground.keys.keys.iter().flat_map(|key| [key.not_before, key.expires_at, key.revoked_at]);
    let lists = [ground.keys.expires_at, ground.revocations.expires_at, manifest.expires_at];
    let turns = keys.chain(lists).flatten();
    turns.fold(Timestamp::MIN..Timestamp::MAX, |steady, at| {
        // What turns at a time is the new thing at that time already.
        if at <= ground.now { steady.start.max(at)..steady.end } else { steady.start..steady.end.min(at) }
    })
}
