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
use toolyard_protocol::{Problem, chat::openai::Choice, trace::TraceParent};

use self::error::{failed, refused};
use super::trace;
use crate::{
    auth::{self, ActingFor, USER_HEADER},
    body,
    config::AuthMode,
    error::{Failure, json},
    model_access,
    routes::{Access, Route},
    state::AppState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::checked_by_handler(
            Method::POST,
            "/v1/chat/completions",
            Access::Acting,
            "The same turn for OpenAI's clients, streamed or whole; `tools` are the caller's own",
            completions::completions,
        ),
        Route::checked_by_handler(
            Method::POST,
            "/v1/responses",
            Access::Acting,
            "The same turn for clients of OpenAI's Responses API, streamed or whole; nothing is stored",
            responses::responses,
        ),
        Route::checked_by_handler(
            Method::GET,
            "/v1/models",
            Access::Acting,
            "The models that can be chosen",
            list,
        )
        .gives::<ModelList>(),
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

async fn list(State(state): State<AppState>, headers: HeaderMap) -> Response {
    if let Err(failure) = who(&state, headers).await {
        return refused(failure);
    }
    let data = model_access::names(&state).await.into_iter().map(|id| {
        let owned_by = id.split('/').next().unwrap_or_default().to_owned();
        ModelEntry { id, object: "model", created: 0, owned_by }
    });
    json(StatusCode::OK, &ModelList { object: "list", data: data.collect() })
}

/// The caller. These clients always send a key; in dev mode a header that names the user wins.
async fn who(state: &AppState, mut headers: HeaderMap) -> Result<ActingFor, Failure> {
    if state.auth_mode == AuthMode::Dev && headers.contains_key(USER_HEADER) {
        headers.remove(header::AUTHORIZATION);
    }
    auth::acting_over_mcp(state, &headers).await
}

/// A request that was read, and its caller.
struct KnownRequest<T> {
    who: ActingFor,
    request: T,
    trace: Option<TraceParent>,
}

impl<T> KnownRequest<T> {
    /// The body is read only once the caller is known. A refusal is ready to be sent.
    async fn read(
        state: &AppState,
        request: Request,
        parse: impl FnOnce(&[u8]) -> Result<T, Vec<Problem>>,
    ) -> Result<Self, Box<Response>> {
        let (parts, body) = request.into_parts();
        let refuse = |failure| Box::new(refused(failure));
        let who = who(state, parts.headers.clone()).await.map_err(refuse)?;
        let bytes = body::read(&parts.headers, body, state, state.config.chat.body_bytes);
        let request =
            parse(&bytes.await.map_err(refuse)?).map_err(|problems| Box::new(not_read(&problems)))?;
        Ok(Self { who, request, trace: trace(&parts.headers) })
    }
}

/// A body that is no request, with everything that is wrong with it.
fn not_read(problems: &[Problem]) -> Response {
    let param = problems.first().map(|problem| problem.path.clone());
    let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
    failed(StatusCode::BAD_REQUEST, text.join("; "), param)
}

const fn tool_choice(choice: Choice) -> ToolChoice {
    match choice {
        Choice::Auto => ToolChoice::Auto,
        Choice::Required => ToolChoice::Required,
        Choice::None => ToolChoice::None,
    }
}
