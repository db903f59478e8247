//! `/v1`: the same turn for OpenAI's clients. Tools of the server run inside; the caller's own come back.
//!
//! | look for | in |
//! | --- | --- |
//! | chat completions | `completions` |
//! | responses | `responses`, and what they write in `response_writer` |
//! | what both share | `stream`, `error` |

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
            RouteAccess::Caller,
            "The same turn for OpenAI's clients, streamed or whole; `tools` are the caller's own",
            completions::post_completions,
        ),
        Route::checked_by_handler(
            Method::POST,
            "/v1/responses",
            RouteAccess::Caller,
            "The same turn for clients of OpenAI's Responses API, streamed or whole; nothing is stored",
            responses::post_responses,
        ),
        Route::checked_by_handler(
            Method::GET,
            "/v1/models",
            RouteAccess::Caller,
            "The models that can be chosen",
            list_openai_models,
        )
        .response_body::<ModelList>(),
    ]
}

/// The models, as OpenAI lists them.
#[derive(Serialize, schemars::JsonSchema)]
struct ModelList {
    /// `list`
    object: &'static str,
    /// Each of them.
    data: Vec<ModelEntry>,
}

/// One model.
#[derive(Serialize, schemars::JsonSchema)]
struct ModelEntry {
    /// Its name.
    id: String,
    /// `model`
    object: &'static str,
    /// Not known, so 0.
    created: i64,
    /// Where it is.
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

/// The caller. These clients always send a key; in dev mode a header that names the user wins.
async fn authenticate(state: &ServerState, mut headers: HeaderMap) -> Result<CallerContext, RequestError> {
    if state.auth_mode == AuthMode::Dev && headers.contains_key(USER_HEADER) {
        headers.remove(header::AUTHORIZATION);
    }
    auth::caller_from_headers(state, &headers).await
}

/// A request that was read, and its caller.
struct AuthenticatedRequest<T> {
    who: CallerContext,
    request: T,
    trace: Option<TraceParent>,
}

impl<T> AuthenticatedRequest<T> {
    /// The body is read only once the caller is known. A refusal is ready to be sent.
    async fn read_authenticated(
        state: &ServerState,
        request: Request,
        parse: impl FnOnce(&[u8]) -> Result<T, Vec<Problem>>,
    ) -> Result<Self, Box<Response>> {
        let (parts, body) = request.into_parts();
        let refuse = |failure| Box::new(failure_response(failure));
        let who = authenticate(state, parts.headers.clone()).await.map_err(refuse)?;
        let bytes = body::read_json_body(&parts.headers, body, state, state.config.chat.body_bytes);
        let request = parse(&bytes.await.map_err(refuse)?)
            .map_err(|problems| Box::new(invalid_request_response(&problems)))?;
        Ok(Self { who, request, trace: trace_parent(&parts.headers) })
    }
}

/// A body that is no request, with everything that is wrong with it.
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
