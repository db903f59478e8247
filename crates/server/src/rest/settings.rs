//! `/api/settings`: which tools the user has switched off, and the user's values of the apps' settings.

use axum::extract::State;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::{catalog::Scope, ports::Change};
use toolyard_protocol::{
    InvalidName, PackageName, PlatformSettings, ToolName,
    api::{ToolSetting, ToolSwitch},
    app::MAX_APP_SETTINGS_BYTES,
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
    let mut settings = state.stores.preferences.platform_settings(&who.user).await?;
    if let Some(zone) = patch.user_timezone {
        if !zone.is_empty() && jiff::tz::TimeZone::get(&zone).is_err() {
            return Err(Failure::invalid(
                "userTimezone: not a time zone; expected a name such as Europe/London".to_owned(),
            ));
        }
        settings.user_timezone = Some(zone).filter(|zone| !zone.is_empty());
    }
    if let Some(metric) = patch.metric_system_enabled {
        settings.metric_system_enabled = metric;
    }
    state.stores.preferences.set_platform_settings(&who.user, &settings).await?;
    state.sessions.tell_platform_settings(&who.user, &settings);
    ok(&settings)
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
    // Only what is there can be off: so the number of settings is bounded. Tools of the server, of upstreams for all and of
    // plugins are there without an install, so the view is asked; what hides a tool does not matter.
    let view = state.catalog.view(&who.user, Scope::Everything).await?;
    let mut seen = view.tools().map(|tool| &tool.name).chain(view.hidden().map(|hidden| &hidden.name));
    if !seen.any(|one| *one == name) {
        if !switch.enabled {
            return Err(Failure::not_found(format_args!("tool {name}")));
        }
        // What is gone since can be forgotten.
        installed(&state, &who, name.package()).await?;
    }
    state.stores.settings.switch_tool(&who.user, &name, switch.enabled).await?;
    state.signals.publish(Change::View(who.user));
    nothing()
}

/// Settings hang on installed apps: so their number is bounded.
async fn installed(state: &AppState, who: &ForUser, name: &PackageName) -> Result<(), Failure> {
    let installs = state.stores.installs.of(&who.user).await?;
    let there = installs.iter().any(|install| install.package == *name);
    if there { Ok(()) } else { Err(Failure::not_found(format_args!("install of {name}"))) }
}

async fn app(State(state): State<AppState>, who: ForUser, Path(name): Path<String>) -> Answer {
    let name = package(&name)?;
    installed(&state, &who, &name).await?;
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
    let name = package(&name)?;
    installed(&state, &who, &name).await?;
    let record =
        state.stores.apps.find(&name).await?.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
    let known =
        |key: &str| record.details.settings.iter().any(|s| s.get("key").and_then(Value::as_str) == Some(key));
    if let Some(unknown) = values.keys().find(|key| !known(key)) {
        return Err(Failure::invalid(format!("`{unknown}` is no setting of {name}")));
    }
    if toolyard_protocol::raw::to_raw(&values).get().len() > MAX_APP_SETTINGS_BYTES {
        return Err(Failure::invalid(format!("the values are larger than {MAX_APP_SETTINGS_BYTES} bytes")));
    }
    state.stores.data.set_settings(&who.user, &name, values).await?;
    let settings = state.sessions.settings_of(&who.user, &record).await?;
    let platform = state.stores.preferences.platform_settings(&who.user).await?;
    state.sessions.tell_settings(&who.user, &record, &settings, &platform);
    ok(&AppSettings { settings })
}
