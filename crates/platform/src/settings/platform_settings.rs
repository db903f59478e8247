//! User settings that do not belong to an app.

use toolyard_core::ports::Change;
use toolyard_protocol::PlatformSettings;

use crate::{ActorOfUser, Platform, PlatformError};

/// What to change. Missing fields stay as they are.
#[derive(Debug, Default)]
pub struct PlatformSettingsUpdate {
    /// An IANA time zone; an empty text removes it.
    pub user_timezone: Option<String>,
    /// Whether the user prefers metric units.
    pub metric_system_enabled: Option<bool>,
}

/// Changes the user's time zone and units. Running apps receive the new values.
pub async fn set_platform_settings(
    platform: &Platform,
    actor: &ActorOfUser,
    patch: PlatformSettingsUpdate,
) -> Result<PlatformSettings, PlatformError> {
    let mut settings = platform.stores.preferences.platform_settings(&actor.user).await?;
    if let Some(zone) = patch.user_timezone {
        if !zone.is_empty() && jiff::tz::TimeZone::get(&zone).is_err() {
            let text = "userTimezone: not a time zone; expected a name such as Europe/London";
            return Err(PlatformError::invalid(text));
        }
        settings.user_timezone = Some(zone).filter(|zone| !zone.is_empty());
    }
    if let Some(metric) = patch.metric_system_enabled {
        settings.metric_system_enabled = metric;
    }
    platform.stores.preferences.set_platform_settings(&actor.user, &settings).await?;
    platform.stores.announcements.announce(Change::PlatformSettingsChanged(actor.user.clone())).await;
    Ok(settings)
}
