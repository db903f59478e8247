//! `/api/settings`: the tools that the user switched off, and the user's values for the settings of apps.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::ports::Stores;
use toolyard_platform::Platform;
use toolyard_platform::{installs, settings};
use toolyard_protocol::{
    PlatformSettings,
    api::{ToolSetting, ToolSwitch},
};
use toolyard_sessions::Sessions;

use super::{HandlerResult, no_content, ok_json, parse_package, parse_tool};
use crate::{
    auth::TargetUser,
    body::JsonBody,
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

const PLATFORM: &str = "/api/settings/platform";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/settings/tools",
            RouteAccess::User,
            "The tools that the user has switched off",
            list_disabled_tools,
        )
        .response_body::<ToolSettings>(),
        Route::new(
            Method::PUT,
            "/api/settings/tools/{name}",
            RouteAccess::User,
            "Switches a tool on or off",
            switch_tool,
        )
        .request_body::<ToolSwitch>()
        .success_status(204),
        Route::new(
            Method::GET,
            PLATFORM,
            RouteAccess::User,
            "The user's settings for all apps: time zone and units",
            get_platform_settings,
        )
        .response_body::<PlatformSettings>(),
        Route::new(
            Method::PUT,
            PLATFORM,
            RouteAccess::User,
            "Changes them; omitted fields stay as they are. Running apps are notified",
            set_platform_settings,
        )
        .request_body::<PlatformSettingsBody>()
        .response_body::<PlatformSettings>(),
        Route::new(
            Method::GET,
            "/api/settings/apps/{package}",
            RouteAccess::User,
            "An app's settings with the user's values",
            get_app_settings,
        )
        .response_body::<AppSettings>(),
        Route::new(
            Method::PUT,
            "/api/settings/apps/{package}",
            RouteAccess::User,
            "Replaces the user's values",
            set_app_settings,
        )
        .request_body::<Map<String, Value>>()
        .response_body::<AppSettings>(),
    ]
}

#[derive(Serialize, schemars::JsonSchema)]
struct ToolSettings {
    tools: Vec<ToolSetting>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct AppSettings {
    /// As the app defines them, each with `value`.
    settings: Vec<Value>,
}

/// Omitted fields stay as they are.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct PlatformSettingsBody {
    /// An IANA time zone: `Europe/London`. An empty string removes it.
    user_timezone: Option<String>,
    /// Whether the user prefers metric units.
    metric_system_enabled: Option<bool>,
}

async fn get_platform_settings(State(stores): State<Stores>, who: TargetUser) -> HandlerResult {
    ok_json(&stores.preferences.platform_settings(&who.user).await?)
}

async fn set_platform_settings(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    JsonBody(patch): JsonBody<PlatformSettingsBody>,
) -> HandlerResult {
    let PlatformSettingsBody { user_timezone, metric_system_enabled } = patch;
    let patch = settings::PlatformSettingsUpdate { user_timezone, metric_system_enabled };
    ok_json(&settings::set_platform_settings(&platform, &who.into(), patch).await?)
}

async fn list_disabled_tools(State(stores): State<Stores>, who: TargetUser) -> HandlerResult {
    let off = stores.settings.list_switched_off(&who.user).await?;
    ok_json(&ToolSettings {
        tools: off.into_iter().map(|name| ToolSetting { name, enabled: false }).collect(),
    })
}

async fn switch_tool(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
    JsonBody(switch): JsonBody<ToolSwitch>,
) -> HandlerResult {
    installs::switch_tool(&platform, &who.into(), &parse_tool(&name)?, switch.enabled).await?;
    no_content()
}

async fn get_app_settings(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
) -> HandlerResult {
    let name = parse_package(&name)?;
    installs::require_installed(&state.platform, &who.user, &name).await?;
    let record = state
        .stores
        .apps
        .find_app(&name)
        .await?
        .ok_or_else(|| RequestError::not_found(format_args!("app {name}")))?;
    ok_json(&AppSettings { settings: state.sessions.settings_of(&who.user, &record).await? })
}

async fn set_app_settings(
    State(platform): State<Arc<Platform>>,
    State(sessions): State<Sessions>,
    who: TargetUser,
    PathParams(name): PathParams<String>,
    JsonBody(values): JsonBody<Map<String, Value>>,
) -> HandlerResult {
    let user = who.user.clone();
    let record = settings::set_app_settings(&platform, &who.into(), &parse_package(&name)?, values).await?;
    ok_json(&AppSettings { settings: sessions.settings_of(&user, &record).await? })
}
