//! Switching one tool on or off for a user.

use toolyard_core::{catalog::ViewScope, ports::Change};
use toolyard_protocol::ToolName;

use super::require_installed;
use crate::{ActorOfUser, Platform, PlatformError};

/// Switches a tool on or off.
pub async fn switch_tool(
    platform: &Platform,
    actor: &ActorOfUser,
    tool: &ToolName,
    enabled: bool,
) -> Result<(), PlatformError> {
    let user = &actor.user;
    // Only existing tools can be switched off, which bounds the number of settings. Built-in tools, shared upstreams
    // and plugins need no install, so the view decides; hidden tools count too.
    let view = platform.catalog.view(user, ViewScope::Everything).await?;
    let mut visible =
        view.tools().map(|tool| &tool.name).chain(view.hidden_tools().map(|hidden| &hidden.name));
    if !visible.any(|name| name == tool) {
        if !enabled {
            return Err(PlatformError::not_found(format_args!("tool {tool}")));
        }
        // The setting of a tool that no longer exists can be removed.
        require_installed(platform, user, tool.package()).await?;
    }
    platform.stores.settings.switch_tool(user, tool, enabled).await?;
    platform.stores.announcements.announce(Change::ViewChanged(user.clone())).await;
    Ok(())
}
