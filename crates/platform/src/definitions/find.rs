//! Which changed definitions an actor may see.

use toolyard_core::ports::{QuarantineFilter, QuarantinedChange};
use toolyard_protocol::{DefinitionChangeId, PackageName, UserId};

use crate::{Actor, Platform, PlatformError};

/// The packages that a user has: installed, or shared by everyone.
pub async fn visible_packages(platform: &Platform, user: &UserId) -> Result<Vec<PackageName>, PlatformError> {
    let installs = platform.stores.installs.list_installs(user).await?;
    let mut packages: Vec<PackageName> = installs.into_iter().map(|install| install.package).collect();
    packages.extend(platform.stores.upstreams.list_shared_upstreams().await?);
    Ok(packages)
}

/// A change, if this actor may see it. For anyone else it does not exist. Operators see all.
pub async fn find_change(
    platform: &Platform,
    actor: &Actor,
    user: Option<&UserId>,
    id: &DefinitionChangeId,
) -> Result<QuarantinedChange, PlatformError> {
    let missing = || PlatformError::not_found(format_args!("changed definition {id}"));
    let viewer = match (actor.is_operator(), user) {
        (true, _) => None,
        (false, Some(user)) => Some((user.clone(), visible_packages(platform, user).await?)),
        (false, None) => return Err(missing()),
    };
    let filter = QuarantineFilter { viewer, id: Some(id.clone()), limit: 1, ..QuarantineFilter::default() };
    let found = platform.stores.quarantine.list_quarantined(&filter).await?;
    found.into_iter().next().map(|(change, _)| change).ok_or_else(missing)
}
