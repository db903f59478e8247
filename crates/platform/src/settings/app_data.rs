//! What an app stores for a user: a small key-value store. No cache depends on it, so nothing is announced.

use serde_json::{Map, Value};
use toolyard_protocol::{PackageName, UserId};

use crate::{Actor, Platform, PlatformError};

/// Largest value, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 100 * 1024;
/// Total size of what one app stores for one user, in bytes.
const MAX_TOTAL_BYTES: usize = 1024 * 1024;
/// Longest key.
const MAX_KEY_BYTES: usize = 256;

/// All entries that the app stored for the user.
pub async fn read_app_data(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
) -> Result<Map<String, Value>, PlatformError> {
    let package = require_own(platform, actor, user).await?;
    Ok(platform.stores.app_data.read_entries(user, &package).await?)
}

/// Adds or replaces entries.
pub async fn write_app_data(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
    entries: Map<String, Value>,
) -> Result<(), PlatformError> {
    let package = require_own(platform, actor, user).await?;
    for (key, value) in &entries {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(PlatformError::invalid(format!("a key has 1 to {MAX_KEY_BYTES} bytes")));
        }
        if value.to_string().len() > MAX_VALUE_BYTES {
            return Err(PlatformError::TooLarge(format!("`{key}` is larger than {MAX_VALUE_BYTES} bytes")));
        }
    }
    if !platform.stores.app_data.write_entries(user, &package, entries, MAX_TOTAL_BYTES).await? {
        let text = format!("an app may store at most {MAX_TOTAL_BYTES} bytes for a user; nothing was stored");
        return Err(PlatformError::TooLarge(text));
    }
    Ok(())
}

/// Removes one entry, or all.
pub async fn remove_app_data(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
    key: Option<&str>,
) -> Result<(), PlatformError> {
    let package = require_own(platform, actor, user).await?;
    platform.stores.app_data.remove_entries(user, &package, key).await?;
    Ok(())
}

/// The app's package, if the actor is an app and the user has installed it.
async fn require_own(
    platform: &Platform,
    actor: &Actor,
    user: &UserId,
) -> Result<PackageName, PlatformError> {
    let Actor::App(app) = actor else {
        let text = "this needs the app's key: `Authorization: Bearer package:key`";
        return Err(PlatformError::forbidden(text));
    };
    let package = app.head.package();
    let installs = platform.stores.installs.list_installs(user).await?;
    if installs.iter().any(|install| install.package == *package) {
        return Ok(package.clone());
    }
    Err(PlatformError::not_found("such user"))
}
