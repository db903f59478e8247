//! The endpoints of the first generation. They answer in their old form, run through the same executor, and say that
//! they will go.

use axum::{extract::State, handler::Handler as _, middleware::map_response, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolyard_core::{CatalogView, Door, Reply, Tool, ToolCall, ToolError, executor::Outcome};
use toolyard_protocol::{
    LocalName, ToolName, ToolRef, UserId, call::GIVE_APP_CONTROL_OF_TOOL_RESPONSE, legacy::ToolSchema,
    result::RestResult,
};

use super::{package, tools::failure_in};
use crate::{
    auth::{self, Actor, Anybody, Guarded, Refusal},
    body::JsonBytes,
    calls::{self, Asked},
    error::{Failure, json as answer, status_of},
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

/// When they go.
const SUNSET: &str = "Fri, 31 Dec 2027 23:59:59 GMT";
/// Since when they are deprecated: 2026-11-15, as RFC 9745 writes it.
const DEPRECATED: &str = "@1794700800";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::checked_by_handler(
            Method::GET,
            "/api/tools/apps/{package}/tools",
            Access::Known,
            "Tools of one app, old form",
            guarded(app_tools).layer(map_response(list_instead)),
        )
        .deprecated(),
        Route::checked_by_handler(
            Method::GET,
            "/api/tools/users/{user}/tools",
            Access::Known,
            "Tools of one user, old form",
            guarded(user_tools).layer(map_response(list_instead)),
        )
        .deprecated(),
        Route::checked_by_handler(
            Method::POST,
            "/api/tools/apps/{package}/tool",
            Access::Known,
            "Calls a tool, old form",
            guarded(call).layer(map_response(execute_instead)),
        )
        .deprecated(),
    ]
}

/// Inside of what marks responses, so that a refusal is marked as well.
fn guarded<H>(handler: H) -> Guarded<H> {
    Guarded { access: Access::Known, handler }
}

async fn list_instead(response: Response) -> Response {
    marked(response, "</api/tools>; rel=\"successor-version\"")
}

async fn execute_instead(response: Response) -> Response {
    marked(response, "</api/tools/execute>; rel=\"successor-version\"")
}

/// Every answer says that the endpoint will go, and what takes its place.
fn marked(mut response: Response, successor: &'static str) -> Response {
    let headers = response.headers_mut();
    headers.insert("deprecation", HeaderValue::from_static(DEPRECATED));
    headers.insert("sunset", HeaderValue::from_static(SUNSET));
    headers.insert(header::LINK, HeaderValue::from_static(successor));
    response
}

fn old_error(status: StatusCode, message: &str) -> Response {
    answer(status, &json!({ "error": true, "message": message }))
}

/// The first design knew no refusals here: those are told as everywhere.
fn old_failure(failure: Failure) -> Response {
    match failure {
        Failure::Api(error) => old_error(status_of(error.code), &error.message),
        refused @ Failure::Refused(_) => refused.into(),
    }
}

async fn app_tools(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path(name): Path<String>,
) -> Response {
    let found = async {
        let name = package(&name)?;
        let app = state.catalog.app(&name).await?;
        let app = app.ok_or_else(|| Failure::not_found(format_args!("app {name}")))?;
        let visible = match &who {
            who if who.may_change(&app.head.record.owner, &name) => true,
            Actor::Person { name: user, .. } => match user.parse() {
                Ok(user) => {
                    state.stores.installs.of(&user).await?.iter().any(|install| install.package == name)
                }
                Err(_) => false,
            },
            Actor::App(_) => false,
        };
        if visible { Ok(app) } else { Err(Failure::not_found(format_args!("app {name}"))) }
    };
    match found.await {
        Ok(app) => {
            let tools: Vec<_> =
                app.tools.iter().map(|tool| ToolSchema::approximate(&tool.definition)).collect();
            answer(StatusCode::OK, &tools)
        }
        // The old server answered so, and old clients look for it.
        Err(Failure::Api(error)) => old_error(StatusCode::INTERNAL_SERVER_ERROR, &error.message),
        Err(refused) => refused.into(),
    }
}

async fn user_tools(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path(user): Path<String>,
) -> Response {
    let Ok(user) = user.parse::<UserId>() else {
        return old_error(StatusCode::NOT_FOUND, "User not found");
    };
    let view = async {
        let acting = auth::acting_for(&state, who, Some(user.clone())).await?;
        Ok::<_, Failure>(state.catalog.view(&acting.user, acting.scope).await?)
    };
    match view.await {
        Ok(view) => answer(StatusCode::OK, &old_listing(&view)),
        Err(Failure::Refused(Refusal::NoSession)) => old_error(StatusCode::NOT_FOUND, "User not found"),
        Err(failure) => old_failure(failure),
    }
}

fn old_listing(view: &CatalogView) -> Vec<Value> {
    let entry = |tool: &std::sync::Arc<Tool>| {
        let mut entry = serde_json::to_value(ToolSchema::approximate(&tool.definition)).unwrap_or_default();
        entry["appPackageName"] = tool.name.package().as_str().into();
        entry
    };
    view.tools().map(entry).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldCall {
    tool_id: Option<String>,
    user_id: Option<String>,
    tool_parameters: Option<Map<String, Value>>,
}

async fn call(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Response {
    match run(&state, who, &name, &headers, &body).await {
        Ok(outcome) => old_answer(&outcome),
        Err(response) => response,
    }
}

async fn run(
    state: &AppState,
    who: Actor,
    name: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Outcome, Response> {
    let bad = |message: &str| old_error(StatusCode::BAD_REQUEST, message);
    let call: OldCall = serde_json::from_slice(body).map_err(|error| bad(&error.to_string()))?;
    let (Some(tool), Some(user)) = (call.tool_id, call.user_id) else {
        return Err(bad("toolId and userId are required"));
    };
    let (app, tool) = (
        package(name).map_err(old_failure)?,
        tool.parse::<LocalName>().map_err(|error| bad(&error.to_string()))?,
    );
    let user = user.parse().map_err(|error: toolyard_protocol::id::InvalidId| bad(&error.to_string()))?;
    let acting = auth::acting_for(state, who, Some(user)).await.map_err(old_failure)?;
    let arguments = call
        .tool_parameters
        .map(|parameters| toolyard_protocol::raw::to_raw::<Map<String, Value>>(&parameters));
    let call = ToolCall { name: ToolRef::Canonical(ToolName::new(&app, &tool)), arguments };
    let running = match Asked::through(Door::Legacy).with_headers(headers) {
        Ok(asked) => calls::start(state, acting, call, asked).await,
        Err(error) => Err(error),
    };
    Ok(match running {
        Ok(running) => running.outcome().await,
        Err(error) => Err(error),
    })
}

/// As the old server passed an app's own answer on.
fn old_answer(outcome: &Outcome) -> Response {
    let failed = |error: &ToolError| {
        let status =
            StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        answer(
            status,
            &json!({ "error": true, "message": error.for_model, "details": { "code": error.code } }),
        )
    };
    match outcome {
        Ok(Reply::Done(result)) => {
            if let Some(error) = failure_in(result) {
                return failed(&error);
            }
            let reply: Value = if result.extensions.suppress_voice_response {
                GIVE_APP_CONTROL_OF_TOOL_RESPONSE.into()
            } else {
                serde_json::to_value(RestResult::done(result).content).unwrap_or_default()
            };
            answer(StatusCode::OK, &json!({ "status": "success", "reply": reply }))
        }
        Ok(_) => old_error(StatusCode::FORBIDDEN, "this tool cannot be called through the old endpoint"),
        Err(error) => failed(error),
    }
}
