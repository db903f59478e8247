//! `/api/apps`: registering, reading, changing and removing apps.

use std::sync::Arc;

use axum::extract::State;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::ports::AppRecord;
use toolyard_platform::Platform;
use toolyard_platform::apps::{self, RegisteredApp};
use toolyard_protocol::{
    api::{AppCreated, AppSummary},
    app::{AppDetails, NewApp},
    session::iso_millis,
};

use super::{HandlerResult, no_content, ok_json, parse_package};
use crate::{
    auth::AppEditor,
    body::{JsonBody, LargeJsonBody},
    error::json_response,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/api/apps",
            RouteAccess::Developer,
            "Registers an app; shows its key and secret once",
            create_app,
        )
        .request_body::<NewApp>()
        .response_body::<AppCreated>()
        .success_status(201),
        Route::new(
            Method::GET,
            "/api/apps",
            RouteAccess::Developer,
            "The apps of this developer; operators see all",
            list_apps,
        )
        .response_body::<AppList>(),
        Route::new(Method::GET, "/api/apps/{package}", RouteAccess::Owner, "One app", get_app)
            .response_body::<AppSummary>(),
        Route::audited(
            Method::PATCH,
            "/api/apps/{package}",
            RouteAccess::Owner,
            "Changes an app; omitted fields stay as they are",
            change_app,
        )
        .request_body::<AppPatchBody>()
        .response_body::<AppSummary>(),
        Route::audited(
            Method::DELETE,
            "/api/apps/{package}",
            RouteAccess::Owner,
            "Removes an app with everything that belongs to it",
            remove_app,
        )
        .success_status(204),
    ]
}

/// The apps of a developer.
#[derive(Serialize, schemars::JsonSchema)]
struct AppList {
    apps: Vec<AppSummary>,
}

/// All fields are optional. Only operators may set `assistant`.
#[derive(Deserialize, schemars::JsonSchema)]
struct AppPatchBody {
    /// Operators: whether the app may call the tools of other apps for all users.
    assistant: Option<bool>,
    #[serde(flatten)]
    #[schemars(with = "AppDetails")]
    details: Map<String, Value>,
}

pub(crate) fn app_summary(app: &AppRecord) -> AppSummary {
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

async fn create_app(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    LargeJsonBody(new): LargeJsonBody<NewApp>,
) -> HandlerResult {
    let RegisteredApp { app, api_key, signing_secret } = apps::register(&platform, &actor, new).await?;
    Ok(json_response(StatusCode::CREATED, &AppCreated { app: app_summary(&app), api_key, signing_secret }))
}

async fn list_apps(State(platform): State<Arc<Platform>>, AppEditor(actor): AppEditor) -> HandlerResult {
    let apps = apps::list_owned(&platform, &actor).await?;
    ok_json(&AppList { apps: apps.iter().map(app_summary).collect() })
}

async fn get_app(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    ok_json(&app_summary(&apps::find_owned(&platform, &actor, &parse_package(&name)?).await?))
}

async fn change_app(
    State(state): State<ServerState>,
    AppEditor(actor): AppEditor,
    PathParams(name): PathParams<String>,
    JsonBody(AppPatchBody { assistant, details }): JsonBody<AppPatchBody>,
) -> HandlerResult {
    let patch = apps::AppUpdate { assistant, details };
    ok_json(&app_summary(&apps::change(&state.platform, &actor, &parse_package(&name)?, patch).await?))
}

async fn remove_app(
    State(platform): State<Arc<Platform>>,
    AppEditor(actor): AppEditor,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    apps::remove(&platform, &actor, &parse_package(&name)?).await?;
    no_content()
}
