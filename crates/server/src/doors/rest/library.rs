//! `/api/library`: apps that the user can install, whether they fit the user's glasses, and which are installed.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::Catalog;
use toolyard_core::ports::Stores;
use toolyard_core::{
    catalog::AppEntry,
    ports::{AppRecord, InstalledApp},
};
use toolyard_protocol::{
    PackageName,
    api::{AppState as RunState, SessionSummary},
    app::{AppGrant, AppKind, AppType, DeclaredPermission},
    device::{self, Capabilities, HardwareRequirement, HardwareType},
};
use toolyard_sessions::Sessions;

use super::{HandlerResult, MAX_WORDS, ok_json};
use crate::{
    auth::TargetUser,
    error::RequestError,
    extract::QueryParams,
    routes::{Route, RouteAccess},
};

/// Default page size.
const DEFAULT_PAGE: u32 = 20;
/// Maximum page size.
const MAX_PAGE: u32 = 50;
/// Most tools listed for one app.
const MAX_TOOLS: usize = 50;
/// Longest tool description here, in characters. The first words are enough to choose an app.
const MAX_TOOL_WORDS: usize = 300;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/library",
            RouteAccess::User,
            "Apps that the user can install, by package name",
            list_library,
        )
        .query(&[
            ("q", "Words in the name, description or package"),
            ("after", "`next` of the previous page"),
            ("limit", "Page size, at most 50. Default: 20"),
        ])
        .response_body::<LibraryPage>(),
    ]
}

#[derive(Deserialize)]
struct LibraryQuery {
    #[serde(default)]
    q: String,
    after: Option<PackageName>,
    limit: Option<u32>,
}

/// A page of installable apps.
#[derive(Serialize, JsonSchema)]
struct LibraryPage {
    apps: Vec<LibraryApp>,
    /// Present if there are more: send it as `after`.
    next: Option<PackageName>,
}

/// An installable app.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LibraryApp {
    package_name: PackageName,
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<String>,
    kind: AppKind,
    app_type: AppType,
    permissions: Vec<DeclaredPermission>,
    /// Grants that it requests. None is given before the user agrees.
    wants: Vec<AppGrant>,
    hardware_requirements: Vec<HardwareRequirement>,
    tool_count: u64,
    /// The first 50 tools.
    tools: Vec<LibraryTool>,
    /// Whether the user has installed it.
    installed: bool,
    /// Whether the user allows it to call the tools of other apps.
    assistant: bool,
    /// Whether it is running for the user.
    running: bool,
    fit: DeviceFit,
}

/// A tool of an app.
#[derive(Serialize, JsonSchema)]
struct LibraryTool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Truncated to 300 characters.
    description: String,
}

/// Whether an app works on the user's glasses.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DeviceFit {
    /// Whether the device has everything that the app requires. True without a device.
    fits: bool,
    /// Whether the capabilities of the device are known.
    device_known: bool,
    missing_required: Vec<HardwareType>,
    missing_optional: Vec<HardwareType>,
}

async fn list_library(
    State(catalog): State<Arc<Catalog>>,
    State(sessions): State<Sessions>,
    State(stores): State<Stores>,
    who: TargetUser,
    QueryParams(query): QueryParams<LibraryQuery>,
) -> HandlerResult {
    if query.q.chars().count() > MAX_WORDS {
        return Err(RequestError::invalid_request(format!("q: at most {MAX_WORDS} characters")));
    }
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let mut found = stores.apps.search_installable(query.q.trim(), query.after.as_ref(), limit + 1).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| more).map(|last| last.package.clone());
    let installs = stores.installs.list_installs(&who.user).await?;
    let session = sessions.session_summary(&who.user);
    let mut apps = Vec::with_capacity(found.len());
    for record in found {
        // For this user, because some upstreams have a different offer for each user.
        let entry = catalog.find_app_for(&record.package, &who.user).await?;
        apps.push(library_app(record, entry, &installs, session.as_ref()));
    }
    ok_json(&LibraryPage { apps, next })
}

fn library_app(
    record: AppRecord,
    entry: Option<Arc<AppEntry>>,
    installs: &[InstalledApp],
    session: Option<&SessionSummary>,
) -> LibraryApp {
    // Upstreams do not need to be started.
    let kind = if record.keys().is_some() { record.details.kind } else { AppKind::ToolsOnly };
    let (package, details) = (record.package, record.details);
    let tools = entry.as_ref().map(|entry| entry.tools.as_slice()).unwrap_or_default();
    let install = installs.iter().find(|install| install.package == package);
    let runs = |session: &SessionSummary| {
        session.apps.iter().any(|app| app.package_name == package && app.state == RunState::Running)
    };
    let capabilities = session.and_then(|session| session.capabilities.as_ref());
    LibraryApp {
        name: if details.name.is_empty() { package.to_string() } else { details.name },
        description: details.description,
        icon_url: details.icon_url,
        kind,
        app_type: details.app_type,
        permissions: details.permissions,
        wants: details.wants,
        fit: device_fit(&details.hardware_requirements, capabilities),
        hardware_requirements: details.hardware_requirements,
        tool_count: tools.len() as u64,
        tools: tools
            .iter()
            .take(MAX_TOOLS)
            .map(|tool| LibraryTool {
                name: tool.definition.name.as_str().to_owned(),
                title: tool.definition.title.clone(),
                description: truncate_description(&tool.definition.description),
            })
            .collect(),
        installed: install.is_some(),
        assistant: install.is_some_and(|install| install.assistant),
        running: session.is_some_and(runs),
        package_name: package,
    }
}

fn device_fit(requirements: &[HardwareRequirement], device: Option<&Capabilities>) -> DeviceFit {
    let missing = device::check_hardware(requirements, device);
    let kinds = |missing: &[HardwareRequirement]| {
        let mut kinds = Vec::new();
        for requirement in missing {
            if !kinds.contains(&requirement.kind) {
                kinds.push(requirement.kind.clone());
            }
        }
        kinds
    };
    DeviceFit {
        fits: missing.is_compatible(),
        device_known: device.is_some(),
        missing_required: kinds(&missing.missing_required),
        missing_optional: kinds(&missing.missing_optional),
    }
}

fn truncate_description(text: &str) -> String {
    match text.char_indices().nth(MAX_TOOL_WORDS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_descriptions_are_truncated_at_character_boundaries() {
        assert_eq!(truncate_description("short"), "short");
        let exact = "ü".repeat(MAX_TOOL_WORDS);
        assert_eq!(truncate_description(&exact), exact);
        assert_eq!(truncate_description(&format!("{exact}x")), format!("{exact}…"));
    }
}
