//! Upstreams of the configuration file: stored like all others at every start, and switched off when they left the file.

use std::collections::HashSet;

use toolyard_core::ports::{NewUpstream, StoreError, UpstreamRecord, UpstreamWrite};
use toolyard_protocol::{PackageName, upstream::package_of};
use toolyard_sources::upstream::{is_elsewhere, seal};

use crate::state::AppState;

/// Who owns what stands in the file.
const OWNER: &str = "(configuration)";

/// Brings the store in line with the file. What left the file keeps its installs, and comes back with them.
pub(crate) async fn upstreams(state: &AppState) -> Result<(), StoreError> {
    let mut named = HashSet::new();
    for (id, details) in &state.config.upstreams {
        let package = package_of(id).map_err(|error| StoreError::Failed(error.to_string()))?;
        let (details, sealed) = seal(details.clone(), &*state.secrets);
        let record = UpstreamRecord { details, sealed, managed: true, disabled: false };
        if !put(state, package.clone(), OWNER.to_owned(), record).await? {
            return Err(StoreError::Failed(format!("upstreams.{id}: {package} belongs to an app")));
        }
        named.insert(package);
    }
    for (package, owner, record) in state.stores.upstreams.upstreams().await? {
        if record.managed && !record.disabled && !named.contains(&package) {
            tracing::warn!(%package, "it left the configuration file; its tools are hidden");
            put(state, package, owner, UpstreamRecord { disabled: true, ..record }).await?;
        }
    }
    Ok(())
}

async fn put(
    state: &AppState,
    package: PackageName,
    owner: String,
    upstream: UpstreamRecord,
) -> Result<bool, StoreError> {
    let before = state.stores.apps.find(&package).await?;
    let before = before.as_ref().and_then(|app| app.upstream());
    let moved = before.is_some_and(|before| is_elsewhere(&before.details, &upstream.details));
    let (at, write) = (state.clock.now(), UpstreamWrite::Configure);
    let new = NewUpstream { package, owner, upstream, at, write, moved };
    state.stores.upstreams.put_upstream(new).await
}
