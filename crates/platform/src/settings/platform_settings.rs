//! A user's settings that belong to no app.

use toolyard_core::ports::Change;
use toolyard_protocol::PlatformSettings;

use crate::{ActorOfUser, Platform, PlatformError};

/// What to change. What is missing stays.
#[derive(Debug, Default)]
pub struct PlatformSettingsUpdate {
    /// A time zone of the IANA database; an empty text removes it.
    pub user_timezone: Option<String>,
    /// Whether the user reads metres and degrees Celsius.
    pub metric_system_enabled: Option<bool>,
}

/// Changes time zone and units of a user. Running apps receive the new values.
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
