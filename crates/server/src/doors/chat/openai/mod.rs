//! `/v1`: the OpenAI-compatible API. Server tools run inside the turn; calls of the caller's own tools are returned.
//!
//! | look for | in |
//! | --- | --- |
//! | chat completions | `completions` |
//! | responses | `responses`, `response_writer` |
//! | shared by both | `stream`, `error` |

mod completions;
mod error;
mod response_writer;
mod responses;
mod stream;

use axum::{
    extract::{Request, State},
    response::Response,
};
use http::{HeaderMap, Method, StatusCode, header};
use serde::Serialize;
use toolyard_agent::model::ToolChoice;
use toolyard_authorization::scope::OAuthScope;
use toolyard_protocol::{Problem, chat::openai::ToolChoiceMode, trace::TraceParent};

use self::error::{error_response, failure_response};
use super::trace_parent;
use crate::{
    auth::{self, CallerContext, USER_HEADER},
    body,
    config::AuthMode,
    error::{RequestError, json_response},
    model_access,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::checked_by_handler(
            Method::POST,
            "/v1/chat/completions",
            RouteAccess::Chat,
            "OpenAI-compatible chat completions, streamed or not; `tools` are run by the caller",
            completions::post_completions,
        ),
        Route::checked_by_handler(
            Method::POST,
            "/v1/responses",
            RouteAccess::Chat,
            "OpenAI-compatible responses, streamed or not; nothing is stored",
            responses::post_responses,
        ),
        Route::checked_by_handler(
            Method::GET,
            "/v1/models",
            RouteAccess::Chat,
            "The models that a request can choose",
            list_openai_models,
        )
        .response_body::<ModelList>(),
    ]
}

/// The models, in OpenAI's format.
#[derive(Serialize, schemars::JsonSchema)]
struct ModelList {
    /// `list`
    object: &'static str,
    /// The models.
    data: Vec<ModelEntry>,
}

/// One model.
#[derive(Serialize, schemars::JsonSchema)]
struct ModelEntry {
    /// The model's name.
    id: String,
    /// `model`
    object: &'static str,
    /// Unknown, always 0.
    created: i64,
    /// The endpoint or vendor that serves it.
    owned_by: String,
}

async fn list_openai_models(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    if let Err(failure) = authenticate(&state, headers).await {
        return failure_response(failure);
    }
    let data = model_access::selectable_model_names(&state).await.into_iter().map(|id| {
        let owned_by = id.split('/').next().unwrap_or_default().to_owned();
        ModelEntry { id, object: "model", created: 0, owned_by }
    });
    json_response(StatusCode::OK, &ModelList { object: "list", data: data.collect() })
}

/// The caller. OpenAI clients always send a key, so in dev mode the `X-User-Id` header takes precedence.
async fn authenticate(state: &ServerState, mut headers: HeaderMap) -> Result<CallerContext, RequestError> {
    if state.auth_mode == AuthMode::Dev && headers.contains_key(USER_HEADER) {
        headers.remove(header::AUTHORIZATION);
    }
    auth::caller_from_headers(state, &headers, OAuthScope::Chat).await
}

/// A parsed request and its caller.
struct AuthenticatedRequest<T> {
    who: CallerContext,
    request: T,
    trace: Option<TraceParent>,
}

impl<T> AuthenticatedRequest<T> {
    /// Authenticates the caller, then reads the body. The error is a complete response.
    async fn read_authenticated(
        state: &ServerState,
        request: Request,
        parse: impl FnOnce(&[u8]) -> Result<T, Vec<Problem>>,
    ) -> Result<Self, Box<Response>> {
        let (parts, body) = request.into_parts();
        let refuse = |failure| Box::new(failure_response(failure));
        let who = authenticate(state, parts.headers.clone()).await.map_err(refuse)?;
        let bytes = body::read_json_body(&parts.headers, body, state, state.config.load().chat.body_bytes);
        let request = parse(&bytes.await.map_err(refuse)?)
            .map_err(|problems| Box::new(invalid_request_response(&problems)))?;
        Ok(Self { who, request, trace: trace_parent(&parts.headers) })
    }
}

/// The response for an invalid body, with all its problems.
fn invalid_request_response(problems: &[Problem]) -> Response {
    let param = problems.first().map(|problem| problem.path.clone());
    let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
    error_response(StatusCode::BAD_REQUEST, text.join("; "), param)
}

const fn tool_choice(choice: ToolChoiceMode) -> ToolChoice {
    match choice {
        ToolChoiceMode::Auto => ToolChoice::Auto,
        ToolChoiceMode::Required => ToolChoice::Required,
        ToolChoiceMode::None => ToolChoice::None,
    }
}
