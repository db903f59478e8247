//! Switching a plugin of a user on or off.

use serde_json::json;
use toolyard_core::ports::{Change, InstalledPlugin, PluginSwitch};
use toolyard_protocol::{UserId, audit::AuditAction, plugin::PluginId};

use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// The plugin, if the user has it.
pub async fn find_installed(
    platform: &Platform,
    user: &UserId,
    id: &PluginId,
) -> Result<InstalledPlugin, PlatformError> {
    let plugin = platform.stores.plugins.find_installed(user, id).await?;
    plugin.ok_or_else(|| PlatformError::not_found(format_args!("plugin {id} of this user")))
}

/// Switches a plugin on or off. A plugin that the platform stopped stays off.
pub async fn switch(
    platform: &Platform,
    actor: &ActorOfUser,
    id: &PluginId,
    enabled: bool,
) -> Result<InstalledPlugin, PlatformError> {
    let user = &actor.user;
    platform.plugins.require_enabled()?;
    let mut plugin = find_installed(platform, user, id).await?;
    match (&plugin.switch, enabled) {
        (PluginSwitch::Stopped(why), true) => {
            return Err(PlatformError::conflict(format!("{id} stays off: {why}")));
        }
        (PluginSwitch::Stopped(_), false) => return Ok(plugin),
        (PluginSwitch::On | PluginSwitch::Off, _) => {}
    }
    plugin.switch = if enabled { PluginSwitch::On } else { PluginSwitch::Off };
    if !platform.stores.plugins.switch_plugin(user, id, &plugin.hash, &plugin.switch).await? {
        let text = format!("{id} was changed or removed meanwhile; look at it again");
        return Err(PlatformError::conflict(text));
    }
    platform.stores.announcements.announce(Change::ViewChanged(user.clone())).await;
    let (subject, detail) = (AuditSubject::of_user(id, user), json!({ "enabled": enabled }));
    platform.audit(&actor.actor, AuditAction::PluginSwitched, subject, detail).await;
    Ok(plugin)
}
