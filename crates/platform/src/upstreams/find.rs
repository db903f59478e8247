//! Which upstreams an actor may see and change.

use toolyard_core::ports::UpstreamRecord;
use toolyard_protocol::{
    PackageName, UserId,
    upstream::{self, UpstreamAuth},
};

use crate::{Actor, Platform, PlatformError};

/// A stored upstream.
#[derive(Debug, Clone)]
pub struct StoredUpstream {
    /// Its package.
    pub package: PackageName,
    /// Its owner.
    pub owner: String,
    /// How to reach it.
    pub record: UpstreamRecord,
}

fn upstream_not_found(id: &str) -> PlatformError {
    PlatformError::not_found(format_args!("upstream {id}"))
}

async fn find_upstream(platform: &Platform, id: &str) -> Result<StoredUpstream, PlatformError> {
    let package = upstream::upstream_package(id).map_err(|_| upstream_not_found(id))?;
    let app = platform.stores.apps.find_app(&package).await?.ok_or_else(|| upstream_not_found(id))?;
    let record = app.upstream().cloned().ok_or_else(|| upstream_not_found(id))?;
    Ok(StoredUpstream { package, owner: app.owner, record })
}

fn may_change(actor: &Actor, owner: &str, package: &PackageName) -> bool {
    !actor.is_app() && actor.may_change(owner, package)
}

/// The upstream, if this actor may see and change it. For anyone else it does not exist.
pub async fn find_owned(
    platform: &Platform,
    actor: &Actor,
    id: &str,
) -> Result<StoredUpstream, PlatformError> {
    let found = find_upstream(platform, id).await?;
    if may_change(actor, &found.owner, &found.package) { Ok(found) } else { Err(upstream_not_found(id)) }
}

/// The upstreams of this actor; operators see all.
pub async fn list_owned(platform: &Platform, actor: &Actor) -> Result<Vec<StoredUpstream>, PlatformError> {
    let all = platform.stores.upstreams.list_upstreams().await?.into_iter();
    let owned = all.filter(|(package, owner, _)| may_change(actor, owner, package));
    Ok(owned.map(|(package, owner, record)| StoredUpstream { package, owner, record }).collect())
}

/// An upstream that the user has, installed or shared, and that requires user authorization.
pub async fn find_for_user(
    platform: &Platform,
    user: &UserId,
    id: &str,
) -> Result<StoredUpstream, PlatformError> {
    let found = find_upstream(platform, id).await?;
    let installs = platform.stores.installs.list_installs(user).await?;
    let is_installed = installs.iter().any(|install| install.package == found.package);
    if !is_installed && !found.record.details.for_all {
        return Err(upstream_not_found(id));
    }
    if found.record.details.auth != UpstreamAuth::OAuth {
        return Err(PlatformError::invalid(format!("{id} does not need user authorization")));
    }
    Ok(found)
}
