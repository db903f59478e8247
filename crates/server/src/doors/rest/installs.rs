//! `/api/installs`: which apps the user has, and what they allow them.

use axum::extract::State;
use http::Method;
use serde::Serialize;
use toolyard_platform::installs;
use toolyard_protocol::{api::InstallSummary, session::iso_millis};

use super::{Answer, nothing, ok, package};
use crate::{
    auth::ForUser,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/installs",
            Access::User,
            "The user's apps, the earliest install first",
            list,
        )
        .gives::<InstallList>(),
        Route::new(Method::PUT, "/api/installs/{package}", Access::User, "Installs an app", install)
            .success(204),
        Route::new(
            Method::DELETE,
            "/api/installs/{package}",
            Access::User,
            "Removes an app and what it keeps for the user",
            uninstall,
        )
        .success(204),
        Route::new(
            Method::PUT,
            "/api/installs/{package}/assistant",
            Access::User,
            "Lets the app call the tools of other apps for this user",
            grant,
        )
        .success(204),
        Route::new(
            Method::DELETE,
            "/api/installs/{package}/assistant",
            Access::User,
            "Takes that back",
            revoke,
        )
        .success(204),
    ]
}

#[derive(Serialize, schemars::JsonSchema)]
struct InstallList {
    installs: Vec<InstallSummary>,
}

async fn list(State(state): State<AppState>, who: ForUser) -> Answer {
    let mut installs = Vec::new();
    for install in state.stores.installs.of(&who.user).await? {
        // From the cache of the catalog, so that a long list does not ask the store for each app.
        let app = state.catalog.app(&install.package).await?;
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
    ok(&InstallList { installs })
}

async fn install(State(state): State<AppState>, who: ForUser, Path(name): Path<String>) -> Answer {
    installs::install(&state.platform, &who.into(), &package(&name)?).await?;
    nothing()
}

async fn uninstall(State(state): State<AppState>, who: ForUser, Path(name): Path<String>) -> Answer {
    installs::uninstall(&state.platform, &who.into(), &package(&name)?).await?;
    nothing()
}

async fn grant(State(state): State<AppState>, who: ForUser, Path(name): Path<String>) -> Answer {
    installs::grant_assistant(&state.platform, &who.into(), &package(&name)?, true).await?;
    nothing()
}

async fn revoke(State(state): State<AppState>, who: ForUser, Path(name): Path<String>) -> Answer {
    installs::grant_assistant(&state.platform, &who.into(), &package(&name)?, false).await?;
    nothing()
}
