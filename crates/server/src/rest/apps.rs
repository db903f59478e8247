//! `/api/apps`: registering, reading, changing and removing apps.

use axum::extract::State;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use toolyard_core::{
    catalog::check_set_on_pool,
    ports::{AppChange, AppRecord, Change, NewRecord},
};
use toolyard_net::OutsideUrl;
use toolyard_protocol::{
    PackageName, Problem,
    api::{ApiErrorCode, AppCreated, AppSummary},
    app::{AppDetails, MAX_APP_LIST, MAX_APP_NAME_BYTES, MAX_APP_SETTINGS_BYTES, MAX_ICON_BYTES, NewApp},
    items::Items,
    session::iso_millis,
    tool::MAX_DESCRIPTION_BYTES,
    visible::invisible_chars,
};

use super::{
    Answer, app_config, nothing, ok,
    older_tools::to_definitions,
    package,
    tool_sets::{clashes, set_of},
};
use crate::{
    auth::{Builder, Identity, Refusal},
    body::{JsonBody, LargeJsonBody},
    error::{Failure, json},
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

/// The app, if this one may see and change it. What a developer does not own does not exist.
pub(crate) async fn owned(
    state: &AppState,
    who: &Identity,
    package: &PackageName,
) -> Result<AppRecord, Failure> {
    let app = state.stores.apps.find(package).await?;
    let app = app.filter(|app| who.may_change(&app.owner, package));
    app.ok_or_else(|| Failure::not_found(format_args!("app {package}")))
}

async fn create(
    State(state): State<AppState>,
    Builder(who): Builder,
    LargeJsonBody(mut new): LargeJsonBody<NewApp>,
) -> Answer {
    if matches!(who, Identity::App(_)) {
        return Err(Refusal::Forbidden("an app key cannot register apps").into());
    }
    new.details.kind = new.kind.unwrap_or(state.config.apps.default_kind);
    if new.read_config {
        state.management.check_costly(&who)?;
        app_config::complete(&state, &mut new.details, &mut new.tools).await?;
    }
    let name = &new.package_name;
    let mut problems = problems_of(&state, &new.details);
    if name.is_reserved() {
        let text = format!("`{name}` is kept for the platform; choose another name");
        problems.insert(0, Problem::new("packageName", text));
    }
    let known_key = new.api_key_hash.as_deref().map(key_hash).transpose().unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let tools = to_definitions(new.tools.unwrap_or_default()).unwrap_or_else(|found| {
        problems.extend(found);
        Vec::new()
    });
    let items =
        Items { prompts: new.prompts, resources: new.resources, resource_templates: new.resource_templates };
    problems.extend(match check_set_on_pool(name, &tools, &items).await {
        Ok(definitions) => clashes(&state, name, &definitions).await?,
        Err(problems) => problems,
    });
    if !problems.is_empty() {
        return Err(Failure::problems(format!("{name} cannot be registered"), problems));
    }
    // An app that has a key keeps it; we know its hash only.
    let api_key = if known_key.is_some() { String::new() } else { state.ids.secret() };
    let signing_secret = state.ids.secret();
    let created = state.stores.apps.create(NewRecord {
        package: name.clone(),
        details: new.details,
        owner: who.name(),
        key_hash: known_key.unwrap_or_else(|| Sha256::digest(api_key.as_bytes()).into()),
        signing: state.secrets.seal(&signing_secret),
        at: state.clock.now(),
        tools: (!tools.is_empty() || !items.is_empty()).then(|| set_of(tools, items, &who)),
    });
    if !created.await? {
        return Err(Failure::new(
            ApiErrorCode::Conflict,
            format!("{name} is registered already; choose another name"),
        ));
    }
    state.signals.publish(Change::App(name.clone()));
    let app = owned(&state, &who, name).await?;
    Ok(json(StatusCode::CREATED, &AppCreated { app: summary(&app), api_key, signing_secret }))
}

/// SHA-256 in hex.
fn key_hash(text: &str) -> Result<[u8; 32], Problem> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash)
        .map_err(|_| Problem::new("apiKeyHash", "expected the SHA-256 of the API key in 64 hex digits"))?;
    Ok(hash)
}

async fn list(State(state): State<AppState>, Builder(who): Builder) -> Answer {
    let apps = match &who {
        Identity::App(app) => vec![app.head.record.clone()],
        who if who.is_operator() => state.stores.apps.list(None).await?,
        who => state.stores.apps.list(Some(&who.name())).await?,
    };
    ok(&AppList { apps: apps.iter().map(summary).collect() })
}

async fn get(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    ok(&summary(&owned(&state, &who, &package(&name)?).await?))
}

async fn change(
    State(state): State<AppState>,
    Builder(who): Builder,
    Path(name): Path<String>,
    JsonBody(patch): JsonBody<AppPatch>,
) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    if matches!(who, Identity::App(_)) {
        return Err(Refusal::Forbidden("an app key cannot change the app; use a developer's token").into());
    }
    if patch.assistant.is_some() && !who.is_operator() {
        return Err(Refusal::Forbidden("only an operator gives the assistant grant").into());
    }
    let details = Some(patched(&app.details, patch.details)?).filter(|details| *details != app.details);
    let problems = details.as_ref().map(|details| problems_of(&state, details)).unwrap_or_default();
    if !problems.is_empty() {
        return Err(Failure::problems(format!("{name} cannot be changed like this"), problems));
    }
    // Nothing is changed before everything was checked.
    let details = details.map(|details| AppChange::Details(Box::new(details)));
    for change in details.into_iter().chain(patch.assistant.map(AppChange::Assistant)) {
        state.stores.apps.change(&app.package, change, state.clock.now()).await?;
    }
    state.signals.publish(Change::App(app.package.clone()));
    let changed = owned(&state, &who, &app.package).await?;
    // Before the answer: whoever took a permission away may rely on it.
    state.sessions.app_changed(&changed);
    ok(&summary(&changed))
}

async fn remove(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    if matches!(who, Identity::App(_)) {
        return Err(Refusal::Forbidden("an app key cannot remove the app; use a developer's token").into());
    }
    state.stores.apps.remove(&app.package).await?;
    state.signals.publish(Change::App(app.package.clone()));
    // Last, so that nothing starts it again meanwhile.
    state.sessions.stop_everywhere(&app.package).await;
    nothing()
}

/// The details with some members replaced.
fn patched(details: &AppDetails, patch: Map<String, Value>) -> Result<AppDetails, Failure> {
    let invalid = |error: serde_json::Error| Failure::invalid(format!("the body cannot be read: {error}"));
    let mut all = match serde_json::to_value(details).map_err(invalid)? {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    all.extend(patch);
    serde_json::from_value(Value::Object(all)).map_err(invalid)
}

fn problems_of(state: &AppState, details: &AppDetails) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut problem = |path: &str, message: String| problems.push(Problem::new(path, message));
    for (path, text) in [("name", &details.name), ("description", &details.description)] {
        if invisible_chars(text) > 0 {
            problem(path, "has invisible characters; leave them out".to_owned());
        }
    }
    if details.name.len() > MAX_APP_NAME_BYTES {
        problem("name", format!("longer than {MAX_APP_NAME_BYTES} bytes"));
    }
    if details.description.len() > MAX_DESCRIPTION_BYTES {
        problem("description", format!("longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    if let Some(url) = &details.public_url
        && let Err(error) = OutsideUrl::parse(url, &state.guard)
    {
        problem("publicUrl", error.to_string());
    }
    let is_picture = |url: &String| url.starts_with("data:image/") || state.icons.may_ask(url);
    if let Some(url) = &details.icon_url
        && (!is_picture(url) || url.len() > MAX_ICON_BYTES)
    {
        problem(
            "iconUrl",
            format!(
                "expected an https address that this server may ask, or data:image in at most {MAX_ICON_BYTES} bytes"
            ),
        );
    }
    let lists = [
        ("permissions", details.permissions.len()),
        ("wants", details.wants.len()),
        ("hardwareRequirements", details.hardware_requirements.len()),
        ("settings", details.settings.len()),
    ];
    for (path, length) in lists {
        if length > MAX_APP_LIST {
            problem(path, format!("{length} entries; at most {MAX_APP_LIST}"));
        }
    }
    if toolyard_protocol::raw::to_raw(&details.settings).get().len() > MAX_APP_SETTINGS_BYTES {
        problem("settings", format!("larger than {MAX_APP_SETTINGS_BYTES} bytes"));
    }
    let calls = &state.config.calls;
    let times = [
        ("callTimeoutMs", details.call_timeout_ms, calls.max_timeout_ms),
        ("wakeTimeoutMs", details.wake_timeout_ms, calls.max_wake_timeout_ms),
    ];
    for (path, wish, most) in times {
        if wish.is_some_and(|wish| wish == 0 || wish > most) {
            problem(path, format!("expected 1 to {most} milliseconds"));
        }
    }
    problems
}
