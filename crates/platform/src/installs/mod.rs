//! A user's installs, grants and switched-off tools.

mod grant;
mod install;
mod switch_tool;
mod uninstall;

use toolyard_protocol::{PackageName, UserId};

pub use self::{grant::grant_assistant, install::install, switch_tool::switch_tool, uninstall::uninstall};
use crate::{Platform, PlatformError};

/// Fails unless the user has installed the app.
pub async fn require_installed(
    platform: &Platform,
    user: &UserId,
    package: &PackageName,
) -> Result<(), PlatformError> {
    let installs = platform.stores.installs.list_installs(user).await?;
    if installs.iter().any(|install| install.package == *package) {
        return Ok(());
    }
    Err(PlatformError::not_found(format_args!("install of {package}")))
}
