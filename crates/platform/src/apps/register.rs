//! Registering an app.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolyard_core::{
    catalog::validate_tool_set_on_pool,
    ports::{AppRecord, Change, NewAppRecord},
};
use toolyard_protocol::{Problem, app::NewApp, audit::AuditAction, items::AppItems};

use super::{
    details,
    find::find_owned,
    tool_set::{alias_conflicts, stored_set},
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject, legacy};

/// A registered app. Key and secret are shown once and never stored in plain text.
#[derive(Debug)]
pub struct RegisteredApp {
    /// The app.
    pub app: AppRecord,
    /// Its API key; empty if the app keeps an existing key.
    pub api_key: String,
    /// The secret that signs requests to it.
    pub signing_secret: String,
}

/// Registers an app that belongs to this actor.
pub async fn register(
    platform: &Platform,
    actor: &Actor,
    mut new: NewApp,
) -> Result<RegisteredApp, PlatformError> {
    actor.require_person("an app key cannot register apps")?;
    new.details.kind = new.kind.unwrap_or(platform.config.load().default_app_kind);
    if new.read_config {
        platform.limits.check_costly(actor)?;
        legacy::complete_from_file(platform, &mut new.details, &mut new.tools).await?;
    }
    let package = new.package_name;
    let mut problems = details::find_problems(platform, &new.details);
    if package.is_reserved() {
        let text = format!("`{package}` is reserved for the platform; choose another name");
        problems.insert(0, Problem::new("packageName", text));
    }
    let known_key = new.api_key_hash.as_deref().map(parse_key_hash).transpose().unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let tools = legacy::to_definitions(new.tools.unwrap_or_default()).unwrap_or_else(|found| {
        problems.extend(found);
        Vec::new()
    });
    let items = AppItems {
        prompts: new.prompts,
        resources: new.resources,
        resource_templates: new.resource_templates,
    };
    problems.extend(match validate_tool_set_on_pool(&package, &tools, &items).await {
        Ok(definitions) => alias_conflicts(platform, &package, &definitions).await?,
        Err(problems) => problems,
    });
    if !problems.is_empty() {
        return Err(PlatformError::invalid_with(format!("{package} cannot be registered"), problems));
    }

    // An app with an existing key keeps it; only its hash is known.
    let api_key = if known_key.is_some() { String::new() } else { platform.ids.new_secret() };
    let signing_secret = platform.ids.new_secret();
    let created = platform.stores.apps.create_app(NewAppRecord {
        package: package.clone(),
        details: new.details,
        owner: actor.name(),
        key_hash: known_key.unwrap_or_else(|| Sha256::digest(api_key.as_bytes()).into()),
        signing: platform.secrets.seal(&signing_secret)?,
        at: platform.clock.now(),
        tools: (!tools.is_empty() || !items.is_empty()).then(|| stored_set(tools, items, actor)),
    });
    if !created.await? {
        return Err(PlatformError::conflict(format!("{package} is registered already; choose another name")));
    }

    let detail = json!({ "keepsKey": known_key.is_some() });
    platform.audit(actor, AuditAction::AppRegistered, AuditSubject::named(&package), detail).await;
    let app = find_owned(platform, actor, &package).await?;
    platform.definitions.review_app(&app, Some(actor)).await?;
    platform.stores.announcements.announce(Change::AppChanged(package.clone())).await;
    Ok(RegisteredApp { app, api_key, signing_secret })
}

/// SHA-256 in hex.
fn parse_key_hash(text: &str) -> Result<[u8; 32], Problem> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash)
        .map_err(|_| Problem::new("apiKeyHash", "expected the SHA-256 of the API key in 64 hex digits"))?;
    Ok(hash)
}
