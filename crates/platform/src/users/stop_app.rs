//! Stopping an app in a session.

use toolyard_core::ports::StopError;
use toolyard_protocol::PackageName;

use super::NOT_FOR_APPS;
use crate::{ActorOfUser, Platform, PlatformError};

/// Stops an app that runs for the user.
pub async fn stop_app(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
) -> Result<(), PlatformError> {
    actor.actor.require_person(NOT_FOR_APPS)?;
    platform.sessions.close_app(&actor.user, package).await.map_err(|error| match error {
        StopError::NotRunning => PlatformError::not_found(format_args!("running app {package}")),
        StopError::NoSession => PlatformError::NoSession,
    })
}
