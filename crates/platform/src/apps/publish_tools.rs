//! Publishing an app's tools: the whole set is checked and switched in one transaction.

use serde_json::json;
use toolyard_core::{catalog::validate_tool_set_on_pool, ports::Change};
use toolyard_protocol::{PackageName, api::ToolSet, audit::AuditAction, items::AppItems};

use super::{
    find::find_owned,
    tool_set::{alias_conflicts, stored_set},
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject, legacy::to_definitions};

/// Replaces the app's tools, prompts and resources, and returns the new version.
pub async fn publish_tools(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
    set: ToolSet,
) -> Result<u64, PlatformError> {
    find_owned(platform, actor, package).await?;
    let ToolSet { tools, prompts, resources, resource_templates } = set;
    let items = AppItems { prompts, resources, resource_templates };
    let not_changed = |problems| PlatformError::invalid_with("the tools were not changed", problems);
    let tools = to_definitions(tools).map_err(not_changed)?;
    let definitions = validate_tool_set_on_pool(package, &tools, &items).await.map_err(not_changed)?;
    let conflicts = alias_conflicts(platform, package, &definitions).await?;
    if !conflicts.is_empty() {
        return Err(not_changed(conflicts));
    }

    let set = stored_set(tools, items, actor);
    let hash = set.hash.clone();
    let published = platform.stores.definitions.publish_tools(package, set, platform.clock.now()).await?;
    let version = published.ok_or_else(|| PlatformError::not_found(format_args!("app {package}")))?;
    let detail = json!({ "version": version, "hash": hash });
    platform.audit(actor, AuditAction::AppToolsPublished, AuditSubject::named(package), detail).await;

    let app = find_owned(platform, actor, package).await?;
    platform.definitions.review_app(&app, Some(actor)).await?;
    platform.stores.announcements.announce(Change::AppChanged(package.clone())).await;
    Ok(version)
}

/// Makes an older version the current one.
pub async fn activate_tools(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
    version: u64,
) -> Result<(), PlatformError> {
    find_owned(platform, actor, package).await?;
    if !platform.stores.definitions.activate_version(package, version, platform.clock.now()).await? {
        return Err(PlatformError::not_found(format_args!("version {version} of {package}")));
    }
    let detail = json!({ "version": version });
    platform.audit(actor, AuditAction::AppToolsActivated, AuditSubject::named(package), detail).await;
    let app = find_owned(platform, actor, package).await?;
    platform.definitions.review_app(&app, Some(actor)).await?;
    platform.stores.announcements.announce(Change::AppChanged(package.clone())).await;
    Ok(())
}
