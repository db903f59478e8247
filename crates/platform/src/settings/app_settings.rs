//! A user's values for the settings of an app.

use serde_json::{Map, Value};
use toolyard_core::ports::{AppRecord, Change};
use toolyard_protocol::{PackageName, app::MAX_APP_SETTINGS_BYTES, raw::to_raw};

use crate::{ActorOfUser, Platform, PlatformError, installs::require_installed};

/// Replaces the user's values, and returns the app. A running app receives them.
pub async fn set_app_settings(
    platform: &Platform,
    actor: &ActorOfUser,
    package: &PackageName,
    values: Map<String, Value>,
) -> Result<AppRecord, PlatformError> {
    require_installed(platform, &actor.user, package).await?;
    let app = platform.stores.apps.find_app(package).await?;
    let app = app.ok_or_else(|| PlatformError::not_found(format_args!("app {package}")))?;
    let is_known =
        |key: &str| app.details.settings.iter().any(|s| s.get("key").and_then(Value::as_str) == Some(key));
    if let Some(unknown) = values.keys().find(|key| !is_known(key)) {
        return Err(PlatformError::invalid(format!("`{unknown}` is not a setting of {package}")));
    }
    if to_raw(&values).get().len() > MAX_APP_SETTINGS_BYTES {
        let text = format!("the values are larger than {MAX_APP_SETTINGS_BYTES} bytes");
        return Err(PlatformError::invalid(text));
    }
    platform.stores.app_data.set_app_settings(&actor.user, package, values).await?;
    let change = Change::AppSettingsChanged { user: actor.user.clone(), package: package.clone() };
    platform.stores.announcements.announce(change).await;
    Ok(app)
}
