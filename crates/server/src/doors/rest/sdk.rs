//! What apps on the SDK call over HTTP, in the form that it expects: key-value storage, settings, permissions.

use axum::extract::State;
use http::{HeaderMap, Method, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolyard_platform::settings;
use toolyard_protocol::{AppSessionId, PackageName, UserId, app::DeclaredPermission};

use super::{Answer, ok, package};
use crate::{
    auth::{Anybody, Refusal},
    body::JsonBody,
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    const ALL: &str = "/api/sdk/simple-storage/{user}";
    const ONE: &str = "/api/sdk/simple-storage/{user}/{key}";
    vec![
        Route::new(Method::GET, ALL, Access::App, "Everything that the app keeps for the user", read_all)
            .gives::<Stored>(),
        Route::new(Method::PUT, ALL, Access::App, "Adds or replaces entries", write)
            .takes::<Entries>()
            .gives::<Done>(),
        Route::new(Method::DELETE, ALL, Access::App, "Removes every entry", remove_all).gives::<Done>(),
        Route::new(Method::GET, ONE, Access::App, "One entry", read_one).gives::<Stored>(),
        Route::new(Method::PUT, ONE, Access::App, "Adds or replaces one entry", write_one)
            .takes::<OneValue>()
            .gives::<Done>(),
        Route::new(Method::DELETE, ONE, Access::App, "Removes one entry", remove_one).gives::<Done>(),
        Route::checked_by_handler(
            Method::GET,
            "/appsettings/user/{package}",
            Access::App,
            "The user's settings of an app, by the session's id",
            app_settings,
        ),
        Route::new(
            Method::GET,
            "/api/public/permissions/{package}",
            Access::Public,
            "The permissions that an app declares",
            permissions,
        )
        .gives::<PermissionsBody>(),
    ]
}

#[derive(Serialize, schemars::JsonSchema)]
struct Done {
    success: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Stored {
    success: bool,
    data: Value,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Entries {
    data: Map<String, Value>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct OneValue {
    value: Value,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PermissionsBody {
    success: bool,
    package_name: PackageName,
    permissions: Vec<DeclaredPermission>,
}

fn user_id(text: &str) -> Result<UserId, Failure> {
    text.parse().map_err(|error| Failure::invalid(format!("{error}")))
}

async fn read_all(State(state): State<AppState>, Anybody(who): Anybody, Path(user): Path<String>) -> Answer {
    let data = settings::read_app_data(&state.platform, &who, &user_id(&user)?).await?;
    ok(&Stored { success: true, data: Value::Object(data) })
}

async fn read_one(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path((user, key)): Path<(String, String)>,
) -> Answer {
    let data = settings::read_app_data(&state.platform, &who, &user_id(&user)?).await?.remove(&key);
    ok(&Stored { success: true, data: data.ok_or_else(|| Failure::not_found("such key"))? })
}

async fn write(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path(user): Path<String>,
    JsonBody(entries): JsonBody<Entries>,
) -> Answer {
    settings::write_app_data(&state.platform, &who, &user_id(&user)?, entries.data).await?;
    ok(&Done { success: true })
}

async fn write_one(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path((user, key)): Path<(String, String)>,
    JsonBody(entry): JsonBody<OneValue>,
) -> Answer {
    let entries = Map::from_iter([(key, entry.value)]);
    settings::write_app_data(&state.platform, &who, &user_id(&user)?, entries).await?;
    ok(&Done { success: true })
}

async fn remove_all(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path(user): Path<String>,
) -> Answer {
    settings::remove_app_data(&state.platform, &who, &user_id(&user)?, None).await?;
    ok(&Done { success: true })
}

async fn remove_one(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path((user, key)): Path<(String, String)>,
) -> Answer {
    settings::remove_app_data(&state.platform, &who, &user_id(&user)?, Some(&key)).await?;
    ok(&Done { success: true })
}

/// The SDK sends the session's id as its credential; it is unguessable and known to the app alone.
async fn app_settings(State(state): State<AppState>, Path(name): Path<String>, headers: HeaderMap) -> Answer {
    let name = package(&name)?;
    let bearer = headers.get(header::AUTHORIZATION).and_then(|text| text.to_str().ok());
    let session =
        bearer.and_then(|text| text.strip_prefix("Bearer ")).and_then(|id| id.parse::<AppSessionId>().ok());
    let session = session.ok_or(Refusal::NoCredential)?;
    let user = state.sessions.user_of(&session, &name);
    let user =
        user.ok_or_else(|| Refusal::BadCredential("no running session of this app has that id".to_owned()))?;
    let record =
        state.stores.apps.find(&name).await?.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
    ok(&json!({ "success": true, "settings": state.sessions.settings_of(&user, &record).await? }))
}

async fn permissions(State(state): State<AppState>, Path(name): Path<String>) -> Answer {
    let name = package(&name)?;
    let app =
        state.catalog.app(&name).await?.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
    let permissions = app.head.record.details.permissions.clone();
    ok(&PermissionsBody { success: true, package_name: name, permissions })
}
