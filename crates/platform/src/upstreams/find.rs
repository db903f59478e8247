//! Which upstreams an actor may see and change.

use toolyard_core::ports::UpstreamRecord;
use toolyard_protocol::{
    PackageName, UserId,
    upstream::{self, UpstreamAuth},
};

use crate::{Actor, Platform, PlatformError};

/// An upstream as it is stored.
#[derive(Debug, Clone)]
pub struct FoundUpstream {
    /// Its package.
    pub package: PackageName,
    /// Who owns it.
    pub owner: String,
    /// How it is reached.
    pub record: UpstreamRecord,
}

fn missing(id: &str) -> PlatformError {
    PlatformError::not_found(format_args!("upstream {id}"))
}

async fn find(platform: &Platform, id: &str) -> Result<FoundUpstream, PlatformError> {
    let package = upstream::package_of(id).map_err(|_| missing(id))?;
    let app = platform.stores.apps.find(&package).await?.ok_or_else(|| missing(id))?;
    let record = app.upstream().cloned().ok_or_else(|| missing(id))?;
    Ok(FoundUpstream { package, owner: app.owner, record })
}

fn may_change(actor: &Actor, owner: &str, package: &PackageName) -> bool {
    !actor.is_app() && actor.may_change(owner, package)
}

/// The upstream, if this actor may see and change it. What an actor does not own does not exist for them.
pub async fn find_owned(
    platform: &Platform,
    actor: &Actor,
    id: &str,
) -> Result<FoundUpstream, PlatformError> {
    let found = find(platform, id).await?;
    if may_change(actor, &found.owner, &found.package) { Ok(found) } else { Err(missing(id)) }
}

/// The upstreams of this actor; operators see all.
pub async fn list_owned(platform: &Platform, actor: &Actor) -> Result<Vec<FoundUpstream>, PlatformError> {
    let all = platform.stores.upstreams.upstreams().await?.into_iter();
    let owned = all.filter(|(package, owner, _)| may_change(actor, owner, package));
    Ok(owned.map(|(package, owner, record)| FoundUpstream { package, owner, record }).collect())
}

/// An upstream that the user has, installed or shared, and that its users authorize.
pub async fn find_for_user(
    platform: &Platform,
    user: &UserId,
    id: &str,
) -> Result<FoundUpstream, PlatformError> {
    let found = find(platform, id).await?;
    let installs = platform.stores.installs.of(user).await?;
    let is_installed = installs.iter().any(|install| install.package == found.package);
    if !is_installed && !found.record.details.for_all {
        return Err(missing(id));
    }
    if found.record.details.auth != UpstreamAuth::OAuth {
        return Err(PlatformError::invalid(format!("{id} needs no authorization of its users")));
    }
    Ok(found)
}
