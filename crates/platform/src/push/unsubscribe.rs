//! Removing a browser.

use toolyard_protocol::PushSubscriptionId;

use super::require_user;
use crate::{ActorOfUser, Platform, PlatformError};

/// Removes a browser of the user: it gets no further notifications.
pub async fn unsubscribe(
    platform: &Platform,
    actor: &ActorOfUser,
    id: &PushSubscriptionId,
) -> Result<(), PlatformError> {
    require_user(actor)?;
    if platform.stores.push_subscriptions.remove_push_subscription(&actor.user, id).await? {
        return Ok(());
    }
    Err(PlatformError::not_found(format_args!("browser {id}")))
}
