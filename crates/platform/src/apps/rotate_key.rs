//! Rotating an app's API key and signing secret.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolyard_core::ports::{AppChange, AppRecord, Change};
use toolyard_protocol::{PackageName, audit::AuditAction};

use super::find::find_owned;
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Creates a new API key and returns it; the old one becomes invalid.
pub async fn rotate_key(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
) -> Result<String, PlatformError> {
    find_rotatable(platform, actor, package).await?;
    let api_key = platform.ids.new_secret();
    let change = AppChange::Key(Sha256::digest(api_key.as_bytes()).into());
    write_change(platform, package, change).await?;
    platform.audit(actor, AuditAction::AppKeyRotated, AuditSubject::named(package), json!({})).await;
    Ok(api_key)
}

/// Creates a new signing secret and returns it. Requests are signed with the old and the new one until the next
/// rotation.
pub async fn rotate_secret(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
) -> Result<String, PlatformError> {
    let app = find_rotatable(platform, actor, package).await?;
    let signing_secret = platform.ids.new_secret();
    let before = app.keys().and_then(|keys| keys.signing.first().cloned());
    let signing = std::iter::once(platform.secrets.seal(&signing_secret)?).chain(before).collect();
    write_change(platform, package, AppChange::Signing(signing)).await?;
    platform.audit(actor, AuditAction::AppSecretRotated, AuditSubject::named(package), json!({})).await;
    Ok(signing_secret)
}

async fn find_rotatable(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
) -> Result<AppRecord, PlatformError> {
    let app = find_owned(platform, actor, package).await?;
    actor.require_person("an app cannot rotate its own credentials")?;
    Ok(app)
}

async fn write_change(
    platform: &Platform,
    package: &PackageName,
    change: AppChange,
) -> Result<(), PlatformError> {
    platform.stores.apps.change_app(package, change, platform.clock.now()).await?;
    platform.stores.announcements.announce(Change::AppChanged(package.clone())).await;
    Ok(())
}
