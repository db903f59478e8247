//! `/api/settings`: which tools the user has switched off, and the user's values of the apps' settings.

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_platform::{installs, settings};
use toolyard_protocol::{
    InvalidName, PlatformSettings, ToolName,
    api::{ToolSetting, ToolSwitch},
};

use super::{Answer, nothing, ok, package};
use crate::{
    auth::ForUser,
    body::JsonBody,
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

const PLATFORM: &str = "/api/settings/platform";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/settings/tools",
            Access::User,
            "The tools that the user has switched off",
            tools,
        )
        .gives::<ToolSettings>(),
        Route::new(
            Method::PUT,
            "/api/settings/tools/{name}",
            Access::User,
            "Switches a tool on or off",
            switch,
        )
        .takes::<ToolSwitch>()
        .success(204),
        Route::new(
            Method::GET,
            PLATFORM,
            Access::User,
            "The user's settings that belong to no app: time zone and units",
            platform,
        )
        .gives::<PlatformSettings>(),
        Route::new(
            Method::PUT,
            PLATFORM,
            Access::User,
            "Changes them; what is missing stays. Running apps are told",
            set_platform,
        )
        .takes::<PlatformSettingsPatch>()
        .gives::<PlatformSettings>(),
        Route::new(
            Method::GET,
            "/api/settings/apps/{package}",
            Access::User,
            "An app's settings with the user's values",
            app,
        )
        .gives::<AppSettings>(),
        Route::new(
            Method::PUT,
            "/api/settings/apps/{package}",
            Access::User,
            "Replaces the user's values",
            set_app,
        )
        .takes::<Map<String, Value>>()
        .gives::<AppSettings>(),
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

/// What is missing stays.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct PlatformSettingsPatch {
    /// A time zone of the IANA database: `Europe/London`. An empty text forgets it.
    user_timezone: Option<String>,
    /// Whether the user reads metres and degrees Celsius.
    metric_system_enabled: Option<bool>,
}

async fn platform(State(state): State<AppState>, who: ForUser) -> Answer {
    ok(&state.stores.preferences.platform_settings(&who.user).await?)
}

async fn set_platform(
    State(state): State<AppState>,
    who: ForUser,
    JsonBody(patch): JsonBody<PlatformSettingsPatch>,
) -> Answer {
    let PlatformSettingsPatch { user_timezone, metric_system_enabled } = patch;
    let patch = settings::PlatformSettingsPatch { user_timezone, metric_system_enabled };
    ok(&settings::set_platform_settings(&state.platform, &who.into(), patch).await?)
}

async fn tools(State(state): State<AppState>, who: ForUser) -> Answer {
    let off = state.stores.settings.tools_off(&who.user).await?;
    ok(&ToolSettings { tools: off.into_iter().map(|name| ToolSetting { name, enabled: false }).collect() })
}

async fn switch(
    State(state): State<AppState>,
    who: ForUser,
    Path(name): Path<String>,
    JsonBody(switch): JsonBody<ToolSwitch>,
) -> Answer {
    let name: ToolName = name.parse().map_err(|error: InvalidName| Failure::invalid(error.to_string()))?;
    installs::switch_tool(&state.platform, &who.into(), &name, switch.enabled).await?;
    nothing()
}

async fn app(State(state): State<AppState>, who: ForUser, Path(name): Path<String>) -> Answer {
    let name = package(&name)?;
    installs::require_installed(&state.platform, &who.user, &name).await?;
    let record =
        state.stores.apps.find(&name).await?.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
    ok(&AppSettings { settings: state.sessions.settings_of(&who.user, &record).await? })
}

async fn set_app(
    State(state): State<AppState>,
    who: ForUser,
    Path(name): Path<String>,
    JsonBody(values): JsonBody<Map<String, Value>>,
) -> Answer {
    let user = who.user.clone();
    let record = settings::set_app_settings(&state.platform, &who.into(), &package(&name)?, values).await?;
    ok(&AppSettings { settings: state.sessions.settings_of(&user, &record).await? })
}
