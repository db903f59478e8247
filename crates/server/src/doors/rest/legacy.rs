//! The endpoints of the first generation. They respond in the old format, use the same executor, and are marked as
//! deprecated. `docs/legacy-formats.md` lists all formats of that generation.

use axum::{extract::State, handler::Handler as _, middleware::map_response, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolyard_core::{CallReply, CatalogView, Door, Tool, ToolCall, ToolError, executor::CallOutcome};
use toolyard_protocol::{
    LocalName, ToolName, ToolRef, UserId,
    call::GIVE_APP_CONTROL_OF_TOOL_RESPONSE,
    legacy::{DEPRECATION, SUNSET, ToolSchema},
    result::RestResult,
};

use super::{parse_package, tools::error_in_result};
use crate::{
    auth::{self, Actor, AuthRefusal, GuardedHandler, KnownActor},
    body::JsonBytes,
    calls::{self, CallRequest},
    cluster::RouteHome,
    error::{RequestError, api_error_status, json_response},
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::checked_by_handler(
            Method::GET,
            "/api/tools/apps/{package}/tools",
            RouteAccess::Authenticated,
            "Tools of one app, old format",
            require_known(app_tools).layer(map_response(deprecate_for_list)),
        )
        .deprecated(),
        Route::checked_by_handler(
            Method::GET,
            "/api/tools/users/{user}/tools",
            RouteAccess::Authenticated,
            "Tools of one user, old format",
            require_known(user_tools).layer(map_response(deprecate_for_list)),
        )
        .runs_at(RouteHome::PathUser)
        .deprecated(),
        Route::checked_by_handler(
            Method::POST,
            "/api/tools/apps/{package}/tool",
            RouteAccess::Authenticated,
            "Calls a tool, old format",
            require_known(call_legacy_tool).layer(map_response(deprecate_for_execute)),
        )
        .runs_at(RouteHome::BodyUser)
        .deprecated(),
    ]
}

/// Checks access inside the deprecation layer, so that refusals are marked as well.
fn require_known<H>(handler: H) -> GuardedHandler<H> {
    GuardedHandler { access: RouteAccess::Authenticated, handler }
}

async fn deprecate_for_list(response: Response) -> Response {
    mark_deprecated(response, "</api/tools>; rel=\"successor-version\"")
}

async fn deprecate_for_execute(response: Response) -> Response {
    mark_deprecated(response, "</api/tools/execute>; rel=\"successor-version\"")
}

/// Adds the headers that announce the removal and name the successor.
fn mark_deprecated(mut response: Response, successor: &'static str) -> Response {
    let headers = response.headers_mut();
    headers.insert("deprecation", HeaderValue::from_static(DEPRECATION));
    headers.insert("sunset", HeaderValue::from_static(SUNSET));
    headers.insert(header::LINK, HeaderValue::from_static(successor));
    response
}

fn legacy_error(status: StatusCode, message: &str) -> Response {
    json_response(status, &json!({ "error": true, "message": message }))
}

/// The old API had no authentication errors here, so they use the current format.
fn legacy_failure(failure: RequestError) -> Response {
    match failure {
        RequestError::Api(error) => legacy_error(api_error_status(error.code), &error.message),
        refused @ RequestError::Refused(_) => refused.into(),
    }
}

async fn app_tools(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    PathParams(name): PathParams<String>,
) -> Response {
    let found = async {
        let name = parse_package(&name)?;
        let app = state.catalog.find_app(&name).await?;
        let app = app.ok_or_else(|| RequestError::not_found(format_args!("app {name}")))?;
        let visible = match &who {
            who if who.may_change(&app.head.record.owner, &name) => true,
            Actor::Person { name: user, .. } => match user.parse() {
                Ok(user) => state
                    .stores
                    .installs
                    .list_installs(&user)
                    .await?
                    .iter()
                    .any(|install| install.package == name),
                Err(_) => false,
            },
            Actor::App(_) => false,
        };
        if visible { Ok(app) } else { Err(RequestError::not_found(format_args!("app {name}"))) }
    };
    match found.await {
        Ok(app) => {
            let tools: Vec<_> =
                app.tools.iter().map(|tool| ToolSchema::from_definition_lossy(&tool.definition)).collect();
            json_response(StatusCode::OK, &tools)
        }
        // The old server responded like this, and old clients depend on it.
        Err(RequestError::Api(error)) => legacy_error(StatusCode::INTERNAL_SERVER_ERROR, &error.message),
        Err(refused) => refused.into(),
    }
}

async fn user_tools(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    PathParams(user): PathParams<String>,
) -> Response {
    let Ok(user) = user.parse::<UserId>() else {
        return legacy_error(StatusCode::NOT_FOUND, "User not found");
    };
    let view = async {
        let acting = auth::caller_context(&state, who, Some(user.clone())).await?;
        Ok::<_, RequestError>(state.catalog.view(&acting.user, acting.scope).await?)
    };
    match view.await {
        Ok(view) => json_response(StatusCode::OK, &legacy_listing(&view)),
        Err(RequestError::Refused(AuthRefusal::NoSession)) => {
            legacy_error(StatusCode::NOT_FOUND, "User not found")
        }
        Err(failure) => legacy_failure(failure),
    }
}

fn legacy_listing(view: &CatalogView) -> Vec<Value> {
    let entry = |tool: &std::sync::Arc<Tool>| {
        let mut entry =
            serde_json::to_value(ToolSchema::from_definition_lossy(&tool.definition)).unwrap_or_default();
        entry["appPackageName"] = tool.name.package().as_str().into();
        entry
    };
    view.tools().map(entry).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyCallBody {
    tool_id: Option<String>,
    user_id: Option<String>,
    tool_parameters: Option<Map<String, Value>>,
}

async fn call_legacy_tool(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    PathParams(name): PathParams<String>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Response {
    match run_legacy_call(&state, who, &name, &headers, &body).await {
        Ok(outcome) => legacy_response(&outcome),
        Err(response) => response,
    }
}

async fn run_legacy_call(
    state: &ServerState,
    who: Actor,
    name: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<CallOutcome, Response> {
    let bad = |message: &str| legacy_error(StatusCode::BAD_REQUEST, message);
    let call: LegacyCallBody = serde_json::from_slice(body).map_err(|error| bad(&error.to_string()))?;
    let (Some(tool), Some(user)) = (call.tool_id, call.user_id) else {
        return Err(bad("toolId and userId are required"));
    };
    let (app, tool) = (
        parse_package(name).map_err(legacy_failure)?,
        tool.parse::<LocalName>().map_err(|error| bad(&error.to_string()))?,
    );
    let user = user.parse().map_err(|error: toolyard_protocol::id::InvalidId| bad(&error.to_string()))?;
    let acting = auth::caller_context(state, who, Some(user)).await.map_err(legacy_failure)?;
    let arguments = call
        .tool_parameters
        .map(|parameters| toolyard_protocol::raw::to_raw::<Map<String, Value>>(&parameters));
    let call = ToolCall { name: ToolRef::Canonical(ToolName::new(&app, &tool)), arguments };
    let running = match CallRequest::new(Door::Legacy).with_headers(headers, &acting) {
        Ok(request) => calls::start_call(state, acting, call, request).await,
        Err(error) => Err(error),
    };
    Ok(match running {
        Ok(running) => running.outcome().await,
        Err(error) => Err(error),
    })
}

/// The outcome of a call in the format of the old server.
fn legacy_response(outcome: &CallOutcome) -> Response {
    let failed = |error: &ToolError| {
        let status =
            StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        json_response(
            status,
            &json!({ "error": true, "message": error.for_model, "details": { "code": error.code } }),
        )
    };
    match outcome {
        Ok(CallReply::Done(result)) => {
            if let Some(error) = error_in_result(result) {
                return failed(&error);
            }
            let reply: Value = if result.extensions.suppress_voice_response {
                GIVE_APP_CONTROL_OF_TOOL_RESPONSE.into()
            } else {
                serde_json::to_value(RestResult::from_result(result).content).unwrap_or_default()
            };
            json_response(StatusCode::OK, &json!({ "status": "success", "reply": reply }))
        }
        Ok(CallReply::AwaitingApproval(awaited)) => {
            legacy_error(StatusCode::FORBIDDEN, &awaited.to_model_text())
        }
        Ok(CallReply::AwaitingSignIn(awaited)) => {
            legacy_error(StatusCode::FORBIDDEN, &awaited.to_model_text())
        }
        Ok(CallReply::AwaitingInput(_)) => {
            legacy_error(StatusCode::FORBIDDEN, "this tool cannot be called through the old endpoint")
        }
        Err(error) => failed(error),
    }
}
