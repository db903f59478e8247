//! How long a verdict stays valid.

use std::ops::Range;

use jiff::Timestamp;
use toolyard_protocol::plugin::Manifest;

use crate::judge::TrustContext;

/// The time span around [`TrustContext::now`] in which judging the manifest gives the same result, if the rest of the context
/// does not change. It may be shorter than necessary: every date in the lists counts.
pub fn verdict_validity(manifest: &Manifest, context: &TrustContext<'_>) -> Range<Timestamp> {
    let keys = context.keys.keys.iter().flat_map(|key| [key.not_before, key.expires_at, key.revoked_at]);
    let lists = [context.keys.expires_at, context.revocations.expires_at, manifest.expires_at];
    let dates = keys.chain(lists).flatten();
    dates.fold(Timestamp::MIN..Timestamp::MAX, |span, at| {
        // A change at a time is already in effect at that time.
        if at <= context.now { span.start.max(at)..span.end } else { span.start..span.end.min(at) }
    })
}
