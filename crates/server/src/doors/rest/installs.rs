//! `/api/installs`: the user's apps and their grants.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use serde::Serialize;
use toolyard_core::Catalog;
use toolyard_core::ports::Stores;
use toolyard_platform::Platform;
use toolyard_platform::installs;
use toolyard_protocol::{api::InstallSummary, session::iso_millis};

use super::{HandlerResult, no_content, ok_json, parse_package};
use crate::{
    auth::TargetUser,
    extract::PathParams,
    routes::{Route, RouteAccess},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/installs",
            RouteAccess::User,
            "The user's apps, oldest install first",
            list_installs,
        )
        .response_body::<InstallList>(),
        Route::audited(
            Method::PUT,
            "/api/installs/{package}",
            RouteAccess::User,
            "Installs an app",
            install_app,
        )
        .success_status(204),
        Route::audited(
            Method::DELETE,
            "/api/installs/{package}",
            RouteAccess::User,
            "Removes an app and its stored values for the user",
            uninstall_app,
        )
        .success_status(204),
        Route::audited(
            Method::PUT,
            "/api/installs/{package}/assistant",
            RouteAccess::User,
            "Allows the app to call the tools of other apps for this user",
            grant_assistant,
        )
        .success_status(204),
        Route::audited(
            Method::DELETE,
            "/api/installs/{package}/assistant",
            RouteAccess::User,
            "Revokes that permission",
            revoke_assistant,
        )
        .success_status(204),
    ]
}

#[derive(Serialize, schemars::JsonSchema)]
struct InstallList {
    installs: Vec<InstallSummary>,
}

async fn list_installs(
    State(catalog): State<Arc<Catalog>>,
    State(stores): State<Stores>,
    who: TargetUser,
) -> HandlerResult {
    let mut installs = Vec::new();
    for install in stores.installs.list_installs(&who.user).await? {
        // Read from the catalog's cache, so that a long list does not query the store for each app.
        let app = catalog.find_app(&install.package).await?;
        let details = app.as_ref().map(|app| &app.head.record.details);
        let name = details.map(|details| details.name.clone()).filter(|name| !name.is_empty());
        installs.push(InstallSummary {
            name: name.unwrap_or_else(|| install.package.to_string()),
            icon_url: details.and_then(|details| details.icon_url.clone()),
            package_name: install.package,
            installed_at: iso_millis(install.at),
            assistant: install.assistant,
        });
    }
    ok_json(&InstallList { installs })
}

async fn install_app(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::install(&platform, &who.into(), &parse_package(&name)?).await?;
    no_content()
}

async fn uninstall_app(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::uninstall(&platform, &who.into(), &parse_package(&name)?).await?;
    no_content()
}

async fn grant_assistant(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::grant_assistant(&platform, &who.into(), &parse_package(&name)?, true).await?;
    no_content()
}

async fn revoke_assistant(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::grant_assistant(&platform, &who.into(), &parse_package(&name)?, false).await?;
    no_content()
}
