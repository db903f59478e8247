//! Which apps an actor may see and change.

use toolyard_core::ports::AppRecord;
use toolyard_protocol::PackageName;

use crate::{Actor, Platform, PlatformError};

/// The app, if this actor may see and change it. For anyone else it does not exist.
pub async fn find_owned(
    platform: &Platform,
    actor: &Actor,
    package: &PackageName,
) -> Result<AppRecord, PlatformError> {
    let app = platform.stores.apps.find_app(package).await?;
    let app = app.filter(|app| actor.may_change(&app.owner, package));
    app.ok_or_else(|| PlatformError::not_found(format_args!("app {package}")))
}

/// The apps of this actor; operators see all.
pub async fn list_owned(platform: &Platform, actor: &Actor) -> Result<Vec<AppRecord>, PlatformError> {
    Ok(match actor {
        Actor::App(app) => vec![app.head.record.clone()],
        actor if actor.is_operator() => platform.stores.apps.list_apps(None).await?,
        actor => platform.stores.apps.list_apps(Some(&actor.name())).await?,
    })
}
