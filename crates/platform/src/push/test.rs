//! Checking whether a user may send a test notification.

use super::require_user;
use crate::{ActorOfUser, Platform, PlatformError};

/// Counts a test notification of the user: each one sends a request to every browser's push service.
pub fn test(platform: &Platform, actor: &ActorOfUser) -> Result<(), PlatformError> {
    require_user(actor)?;
    platform.limits.check_costly(&actor.actor)
}
