//! Installing an app for a user.

use toolyard_core::ports::Change;
use toolyard_protocol::PackageName;

use crate::{ActorOfUser, Platform, PlatformError};

/// Installs an app. Installing it twice changes nothing.
pub async fn install(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
) -> Result<(), PlatformError> {
    if !platform.stores.installs.install_app(&actor.user, package, platform.clock.now()).await? {
        return Err(PlatformError::not_found(format_args!("app {package}")));
    }
    platform.stores.announcements.announce(Change::ViewChanged(actor.user.clone())).await;
    Ok(())
}
