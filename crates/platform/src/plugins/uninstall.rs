//! Uninstalling a user's plugin, with its stored data.

use serde_json::json;
use toolyard_core::ports::Change;
use toolyard_protocol::{audit::AuditAction, plugin::PluginId};

use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Uninstalls a plugin. Also works if plugins no longer run on this server, because the stored data belongs to the
/// user.
pub async fn uninstall(platform: &Platform, actor: &ActorOfUser, id: &PluginId) -> Result<(), PlatformError> {
    if !platform.stores.plugins.remove_plugin(&actor.user, id).await? {
        return Err(PlatformError::not_found(format_args!("plugin {id} of this user")));
    }
    platform.stores.announcements.announce(Change::ViewChanged(actor.user.clone())).await;
    let subject = AuditSubject::of_user(id, &actor.user);
    platform.audit(&actor.actor, AuditAction::PluginUninstalled, subject, json!({})).await;
    Ok(())
}
