//! Upstreams of the configuration file: stored like all others on every start, and disabled when they are removed from
//! the file.

use std::collections::{BTreeMap, HashSet};

use toolyard_core::{
    ports::{NewUpstreamRecord, StoreError, UpstreamRecord, UpstreamWrite},
    upstream_secrets::seal_secrets,
};
use toolyard_protocol::{
    PackageName,
    upstream::{UpstreamDetails, upstream_package},
};

use super::{check::has_moved, write::announce_upstream};
use crate::Platform;

/// The owner of upstreams in the file.
const OWNER: &str = "(configuration)";

/// Brings the store in line with the file. An upstream that was removed from the file keeps its installs, in case it
/// returns.
pub async fn sync_from_config(
    platform: &Platform,
    configured: &BTreeMap<String, UpstreamDetails>,
) -> Result<(), StoreError> {
    let mut named = HashSet::new();
    for (id, details) in configured {
        let package = upstream_package(id).map_err(|error| StoreError::Failed(error.to_string()))?;
        let (details, sealed) = seal_secrets(details.clone(), &*platform.secrets)
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        let record = UpstreamRecord { details, sealed, managed: true, disabled: false };
        if !put_configured(platform, package.clone(), OWNER.to_owned(), record).await? {
            return Err(StoreError::Failed(format!("upstreams.{id}: {package} belongs to an app")));
        }
        named.insert(package);
    }
    for (package, owner, record) in platform.stores.upstreams.list_upstreams().await? {
        if record.managed && !record.disabled && !named.contains(&package) {
            tracing::warn!(upstream = %package, "upstream removed from the configuration file; its tools are hidden");
            put_configured(platform, package, owner, UpstreamRecord { disabled: true, ..record }).await?;
        }
    }
    Ok(())
}

async fn put_configured(
    platform: &Platform,
    package: PackageName,
    owner: String,
    upstream: UpstreamRecord,
) -> Result<bool, StoreError> {
    let before = platform.stores.apps.find_app(&package).await?;
    let before = before.as_ref().and_then(|app| app.upstream());
    let moved = before.is_some_and(|before| has_moved(&before.details, &upstream.details));
    let is_shared = upstream.details.for_all || before.is_some_and(|before| before.details.for_all);
    let new = NewUpstreamRecord {
        package: package.clone(),
        owner,
        upstream,
        at: platform.clock.now(),
        write: UpstreamWrite::Configure,
        moved,
    };
    let is_stored = platform.stores.upstreams.put_upstream(new).await?;
    if is_stored {
        announce_upstream(platform, &package, is_shared).await;
    }
    Ok(is_stored)
}
