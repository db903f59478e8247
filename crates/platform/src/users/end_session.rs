//! Ending a session.

use super::NOT_FOR_APPS;
use crate::{ActorOfUser, Platform, PlatformError};

/// Ends the user's session: its apps stop, and its device is disconnected. Nothing happens if there is none. The session
/// itself announces that the view changed.
pub async fn end_session(platform: &Platform, actor: &ActorOfUser) -> Result<(), PlatformError> {
    actor.actor.require_person(NOT_FOR_APPS)?;
    platform.sessions.end_session(&actor.user).await;
    Ok(())
}
