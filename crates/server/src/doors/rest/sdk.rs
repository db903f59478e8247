//! The HTTP endpoints that the SDK of apps calls, in its format: key-value storage, settings, permissions.

use std::sync::Arc;

use axum::extract::State;
use http::{HeaderMap, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolyard_platform::Platform;
use toolyard_platform::settings;
use toolyard_protocol::{AppSessionId, PackageName, UserId, app::DeclaredPermission};

use super::{HandlerResult, ok_json, parse_package};
use crate::{
    auth::{AuthRefusal, KnownActor, bearer_credential},
    body::JsonBody,
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    const ALL: &str = "/api/sdk/simple-storage/{user}";
    const ONE: &str = "/api/sdk/simple-storage/{user}/{key}";
    vec![
        Route::new(
            Method::GET,
            ALL,
            RouteAccess::App,
            "All entries that the app stores for the user",
            read_all,
        )
        .response_body::<StorageContents>(),
        Route::new(Method::PUT, ALL, RouteAccess::App, "Adds or replaces entries", write_entries)
            .request_body::<StorageEntries>()
            .response_body::<StorageOutcome>(),
        Route::new(Method::DELETE, ALL, RouteAccess::App, "Removes every entry", remove_all)
            .response_body::<StorageOutcome>(),
        Route::new(Method::GET, ONE, RouteAccess::App, "One entry", read_one)
            .response_body::<StorageContents>(),
        Route::new(Method::PUT, ONE, RouteAccess::App, "Adds or replaces one entry", write_one)
            .request_body::<StorageEntryValue>()
            .response_body::<StorageOutcome>(),
        Route::new(Method::DELETE, ONE, RouteAccess::App, "Removes one entry", remove_one)
            .response_body::<StorageOutcome>(),
        Route::checked_by_handler(
            Method::GET,
            "/appsettings/user/{package}",
            RouteAccess::App,
            "The user's settings of an app, authenticated by the session id",
            app_settings,
        ),
        Route::new(
            Method::GET,
            "/api/public/permissions/{package}",
            RouteAccess::Public,
            "The permissions that an app declares",
            list_permissions,
        )
        .response_body::<PermissionsBody>(),
    ]
}

#[derive(Serialize, schemars::JsonSchema)]
struct StorageOutcome {
    success: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct StorageContents {
    success: bool,
    data: Value,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct StorageEntries {
    data: Map<String, Value>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct StorageEntryValue {
    value: Value,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PermissionsBody {
    success: bool,
    package_name: PackageName,
    permissions: Vec<DeclaredPermission>,
}

fn parse_user(text: &str) -> Result<UserId, RequestError> {
    text.parse().map_err(|error| RequestError::invalid_request(format!("{error}")))
}

async fn read_all(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    PathParams(user): PathParams<String>,
) -> HandlerResult {
    let data = settings::read_app_data(&platform, &who, &parse_user(&user)?).await?;
    ok_json(&StorageContents { success: true, data: Value::Object(data) })
}

async fn read_one(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    PathParams((user, key)): PathParams<(String, String)>,
) -> HandlerResult {
    let data = settings::read_app_data(&platform, &who, &parse_user(&user)?).await?.remove(&key);
    ok_json(&StorageContents {
        success: true,
        data: data.ok_or_else(|| RequestError::not_found("such key"))?,
    })
}

async fn write_entries(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    PathParams(user): PathParams<String>,
    JsonBody(entries): JsonBody<StorageEntries>,
) -> HandlerResult {
    settings::write_app_data(&platform, &who, &parse_user(&user)?, entries.data).await?;
    ok_json(&StorageOutcome { success: true })
}

async fn write_one(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    PathParams((user, key)): PathParams<(String, String)>,
    JsonBody(entry): JsonBody<StorageEntryValue>,
) -> HandlerResult {
    let entries = Map::from_iter([(key, entry.value)]);
    settings::write_app_data(&platform, &who, &parse_user(&user)?, entries).await?;
    ok_json(&StorageOutcome { success: true })
}

async fn remove_all(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    PathParams(user): PathParams<String>,
) -> HandlerResult {
    settings::remove_app_data(&platform, &who, &parse_user(&user)?, None).await?;
    ok_json(&StorageOutcome { success: true })
}

async fn remove_one(
    State(platform): State<Arc<Platform>>,
    KnownActor(who): KnownActor,
    PathParams((user, key)): PathParams<(String, String)>,
) -> HandlerResult {
    settings::remove_app_data(&platform, &who, &parse_user(&user)?, Some(&key)).await?;
    ok_json(&StorageOutcome { success: true })
}

/// The SDK sends the session id as its credential. It is unguessable, and only the app knows it.
async fn app_settings(
    State(state): State<ServerState>,
    PathParams(name): PathParams<String>,
    headers: HeaderMap,
) -> HandlerResult {
    let name = parse_package(&name)?;
    let session = bearer_credential(&headers).and_then(|id| id.parse::<AppSessionId>().ok());
    let session = session.ok_or(AuthRefusal::NoCredential)?;
    let user = state.sessions.user_of(&session, &name);
    let user = user
        .ok_or_else(|| AuthRefusal::BadCredential("no running session of this app has that id".to_owned()))?;
    let record = state
        .stores
        .apps
        .find_app(&name)
        .await?
        .ok_or_else(|| RequestError::not_found(format_args!("app {name}")))?;
    ok_json(&json!({ "success": true, "settings": state.sessions.settings_of(&user, &record).await? }))
}

async fn list_permissions(
    State(state): State<ServerState>,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    let name = parse_package(&name)?;
    let app = state
        .catalog
        .find_app(&name)
        .await?
        .ok_or_else(|| RequestError::not_found(format_args!("app {name}")))?;
    let permissions = app.head.record.details.permissions.clone();
    ok_json(&PermissionsBody { success: true, package_name: name, permissions })
}
