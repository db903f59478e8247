//! `/api/installs`: which apps the user has, and what they allow them.

use axum::extract::State;
use http::Method;
use serde::Serialize;
use toolyard_platform::installs;
use toolyard_protocol::{api::InstallSummary, session::iso_millis};

use super::{HandlerResult, no_content, ok_json, parse_package};
use crate::{
    auth::TargetUser,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/installs",
            RouteAccess::User,
            "The user's apps, the earliest install first",
            list_installs,
        )
        .response_body::<InstallList>(),
        Route::new(Method::PUT, "/api/installs/{package}", RouteAccess::User, "Installs an app", install_app)
            .success_status(204),
        Route::new(
            Method::DELETE,
            "/api/installs/{package}",
            RouteAccess::User,
            "Removes an app and what it keeps for the user",
            uninstall_app,
        )
        .success_status(204),
        Route::new(
            Method::PUT,
            "/api/installs/{package}/assistant",
            RouteAccess::User,
            "Lets the app call the tools of other apps for this user",
            grant_assistant,
        )
        .success_status(204),
        Route::new(
            Method::DELETE,
            "/api/installs/{package}/assistant",
            RouteAccess::User,
            "Takes that back",
            revoke_assistant,
        )
        .success_status(204),
    ]
}

#[derive(Serialize, schemars::JsonSchema)]
struct InstallList {
    installs: Vec<InstallSummary>,
}

async fn list_installs(State(state): State<ServerState>, who: TargetUser) -> HandlerResult {
    let mut installs = Vec::new();
    for install in state.stores.installs.list_installs(&who.user).await? {
        // From the cache of the catalog, so that a long list does not ask the store for each app.
        let app = state.catalog.find_app(&install.package).await?;
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
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::install(&state.platform, &who.into(), &parse_package(&name)?).await?;
    no_content()
}

async fn uninstall_app(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::uninstall(&state.platform, &who.into(), &parse_package(&name)?).await?;
    no_content()
}

async fn grant_assistant(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::grant_assistant(&state.platform, &who.into(), &parse_package(&name)?, true).await?;
    no_content()
}

async fn revoke_assistant(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    installs::grant_assistant(&state.platform, &who.into(), &parse_package(&name)?, false).await?;
    no_content()
}
