//! Listing the clients that a user connected.

use toolyard_core::ports::ClientGrant;

use crate::{ActorOfUser, Platform, PlatformError};

/// The user's connected clients, newest first.
pub async fn list(platform: &Platform, actor: &ActorOfUser) -> Result<Vec<ClientGrant>, PlatformError> {
    Ok(platform.stores.oauth.list_client_grants(&actor.user, platform.clock.now()).await?)
}
