//! Changing the details of an app.

use serde_json::{Map, Value, json};
use toolyard_core::ports::{AppChange, AppRecord, Change};
use toolyard_protocol::{PackageName, app::AppDetails, audit::AuditAction};

use super::{details, find::find_owned};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// What to change. Missing fields stay as they are.
#[derive(Debug, Default)]
pub struct AppUpdate {
    /// Operators only: whether the app may call the tools of other apps for every user.
    pub assistant: Option<bool>,
    /// Fields of the details.
    pub details: Map<String, Value>,
}

/// Changes an app, and returns the changed app.
pub async fn change(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
    patch: AppUpdate,
) -> Result<AppRecord, PlatformError> {
    let app = find_owned(platform, actor, package).await?;
    actor.require_person("an app key cannot change the app; use a developer's token")?;
    if patch.assistant.is_some() && !actor.is_operator() {
        return Err(PlatformError::forbidden("only an operator may change the assistant grant"));
    }
    let fields: Vec<String> = patch.details.keys().cloned().collect();
    let details = Some(apply_patch(&app.details, patch.details)?).filter(|details| *details != app.details);
    let problems =
        details.as_ref().map(|details| details::find_problems(platform, details)).unwrap_or_default();
    if !problems.is_empty() {
        return Err(PlatformError::invalid_with(format!("{package} cannot be changed like this"), problems));
    }

    // Nothing is written before everything is checked.
    let details = details.map(|details| AppChange::Details(Box::new(details)));
    for change in details.into_iter().chain(patch.assistant.map(AppChange::Assistant)) {
        platform.stores.apps.change_app(package, change, platform.clock.now()).await?;
    }

    platform.stores.announcements.announce(Change::AppChanged(package.clone())).await;
    let detail = json!({ "fields": fields, "assistant": patch.assistant });
    platform.audit(actor, AuditAction::AppChanged, AuditSubject::named(package), detail).await;
    find_owned(platform, actor, package).await
}

/// The details with some fields replaced.
fn apply_patch(details: &AppDetails, patch: Map<String, Value>) -> Result<AppDetails, PlatformError> {
    let invalid =
        |error: serde_json::Error| PlatformError::invalid(format!("the body cannot be read: {error}"));
    let mut all = match serde_json::to_value(details).map_err(invalid)? {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    all.extend(patch);
    serde_json::from_value(Value::Object(all)).map_err(invalid)
}
