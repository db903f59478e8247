//! Uninstalling a plugin of a user, with what it stored.

use toolyard_core::ports::Change;
use toolyard_protocol::plugin::PluginId;

use crate::{ActorOfUser, Platform, PlatformError};

/// Uninstalls a plugin. Works also if plugins no longer run on this server: what they stored is the user's.
pub async fn uninstall(platform: &Platform, actor: &ActorOfUser, id: &PluginId) -> Result<(), PlatformError> {
    if !platform.stores.plugins.remove_plugin(&actor.user, id).await? {
        return Err(PlatformError::not_found(format_args!("plugin {id} of this user")));
    }
    platform.stores.announcements.announce(Change::ViewChanged(actor.user.clone())).await;
    Ok(())
}
