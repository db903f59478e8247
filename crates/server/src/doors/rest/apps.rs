//! `/api/apps`: registering, reading, changing and removing apps.

use axum::extract::State;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::ports::AppRecord;
use toolyard_platform::apps::{self, RegisteredApp};
use toolyard_protocol::{
    api::{AppCreated, AppSummary},
    app::{AppDetails, NewApp},
    session::iso_millis,
};

use super::{Answer, nothing, ok, package};
use crate::{
    auth::Builder,
    body::{JsonBody, LargeJsonBody},
    error::json,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/apps",
            Access::Builder,
            "Registers an app; shows its key and secret once",
            create,
        )
        .takes::<NewApp>()
        .gives::<AppCreated>()
        .success(201),
        Route::new(
            Method::GET,
            "/api/apps",
            Access::Builder,
            "The apps of this developer; operators see all",
            list,
        )
        .gives::<AppList>(),
        Route::new(Method::GET, "/api/apps/{package}", Access::Owner, "One app", get).gives::<AppSummary>(),
        Route::new(
            Method::PATCH,
            "/api/apps/{package}",
            Access::Owner,
            "Changes an app; what is missing stays",
            change,
        )
        .takes::<AppPatch>()
        .gives::<AppSummary>(),
        Route::new(
            Method::DELETE,
            "/api/apps/{package}",
            Access::Owner,
            "Removes an app with all that hangs on it",
            remove,
        )
        .success(204),
    ]
}

/// The apps of a developer.
#[derive(Serialize, schemars::JsonSchema)]
struct AppList {
    apps: Vec<AppSummary>,
}

/// Every field of the details may be left out; `assistant` is the operator's.
#[derive(Deserialize, schemars::JsonSchema)]
struct AppPatch {
    /// Operators: whether the app may call the tools of other apps for everybody.
    assistant: Option<bool>,
    #[serde(flatten)]
    #[schemars(with = "AppDetails")]
    details: Map<String, Value>,
}

pub(crate) fn summary(app: &AppRecord) -> AppSummary {
    AppSummary {
        package_name: app.package.clone(),
        details: app.details.clone(),
        owner: app.owner.clone(),
        tools_version: app.tools_version,
        tool_count: app.tool_count,
        created_at: iso_millis(app.created_at),
        updated_at: iso_millis(app.updated_at),
    }
}

async fn create(
    State(state): State<AppState>,
    Builder(actor): Builder,
    LargeJsonBody(new): LargeJsonBody<NewApp>,
) -> Answer {
    let RegisteredApp { app, api_key, signing_secret } = apps::register(&state.platform, &actor, new).await?;
    Ok(json(StatusCode::CREATED, &AppCreated { app: summary(&app), api_key, signing_secret }))
}

async fn list(State(state): State<AppState>, Builder(actor): Builder) -> Answer {
    let apps = apps::list_owned(&state.platform, &actor).await?;
    ok(&AppList { apps: apps.iter().map(summary).collect() })
}

async fn get(State(state): State<AppState>, Builder(actor): Builder, Path(name): Path<String>) -> Answer {
    ok(&summary(&apps::find_owned(&state.platform, &actor, &package(&name)?).await?))
}

async fn change(
    State(state): State<AppState>,
    Builder(actor): Builder,
    Path(name): Path<String>,
    JsonBody(AppPatch { assistant, details }): JsonBody<AppPatch>,
) -> Answer {
    let patch = apps::AppPatch { assistant, details };
    ok(&summary(&apps::change(&state.platform, &actor, &package(&name)?, patch).await?))
}

async fn remove(State(state): State<AppState>, Builder(actor): Builder, Path(name): Path<String>) -> Answer {
    apps::remove(&state.platform, &actor, &package(&name)?).await?;
    nothing()
}
