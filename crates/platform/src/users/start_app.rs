//! Starting an app in a session.

use toolyard_protocol::PackageName;

use super::NOT_FOR_APPS;
use crate::{ActorOfUser, Platform, PlatformError, installs::require_installed};

/// Opens an app that the user has installed: it starts, or comes to the front.
pub async fn start_app(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
) -> Result<(), PlatformError> {
    actor.actor.require_person(NOT_FOR_APPS)?;
    require_installed(platform, &actor.user, package).await?;
    let record = platform.stores.apps.find_app(package).await?;
    let record = record.ok_or_else(|| PlatformError::not_found(format_args!("install of {package}")))?;
    let started = platform.sessions.open_app(&actor.user, record).await;
    started.map(drop).map_err(|error| PlatformError::Unavailable(error.for_model))
}
