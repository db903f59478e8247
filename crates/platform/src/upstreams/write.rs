//! Storing an upstream, and announcing it.

use toolyard_core::{
    ports::{Change, NewUpstreamRecord, UpstreamRecord, UpstreamWrite},
    upstream_secrets::{restore_secrets, seal_secrets},
};
use toolyard_protocol::{PackageName, upstream::UpstreamDetails};

use super::check::has_moved;
use crate::{Platform, PlatformError};

/// Seals the secrets, stores the upstream and announces it. None if the name is taken, or the upstream was removed.
pub(super) async fn write_upstream(
    platform: &Platform,
    package: &PackageName,
    owner: String,
    details: UpstreamDetails,
    before: Option<&UpstreamRecord>,
) -> Result<Option<UpstreamRecord>, PlatformError> {
    let details = restore_secrets(details, before, &*platform.secrets)
        .map_err(|error| PlatformError::invalid(error.to_string()))?;
    let (details, sealed) = seal_secrets(details, &*platform.secrets)?;
    let record = UpstreamRecord { details, sealed, managed: false, disabled: false };
    let new = NewUpstreamRecord {
        package: package.clone(),
        owner,
        upstream: record.clone(),
        at: platform.clock.now(),
        write: if before.is_some() { UpstreamWrite::Change } else { UpstreamWrite::Add },
        moved: before.is_some_and(|before| has_moved(&before.details, &record.details)),
    };
    if !platform.stores.upstreams.put_upstream(new).await? {
        return Ok(None);
    }
    let was_shared = before.is_some_and(|before| before.details.for_all);
    announce_upstream(platform, package, record.details.for_all || was_shared).await;
    Ok(Some(record))
}

/// Announces an upstream that was added or changed.
pub(super) async fn announce_upstream(platform: &Platform, package: &PackageName, is_shared: bool) {
    platform.stores.announcements.announce(Change::UpstreamChanged(package.clone())).await;
    if is_shared {
        platform.stores.announcements.announce(Change::SharedToolsChanged).await;
    }
}
