//! `/api/tokens`: tokens of this server, made, listed and called back. A token is shown once and kept nowhere.

use axum::extract::State;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::{IssuedToken, TokenCursor};
use toolyard_platform::tokens::{self, IssuedSecret, TokenRequest};
use toolyard_protocol::{
    TokenId, UserId,
    api::{ApiErrorCode, TokenInfo, TokenList},
    session::iso_millis,
};

use super::{HandlerResult, no_content, ok_json};
use crate::{
    auth::{AuthenticatedPerson, Role},
    body::JsonBody,
    error::{RequestError, json_response},
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Tokens on a page where nobody says how many.
const DEFAULT_PAGE: u32 = 100;
/// Most tokens on a page.
const MAX_PAGE: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/tokens",
            RouteAccess::Person,
            "The caller's tokens, the newest first; operators see all",
            list_tokens,
        )
        .query(&[
            ("before", "The `next` of the page before"),
            ("limit", "At most so many, up to 200; 100 where nothing is said"),
        ])
        .response_body::<TokenList>(),
        Route::new(
            Method::POST,
            "/api/tokens",
            RouteAccess::Person,
            "Makes a token; shows it once",
            issue_token,
        )
        .request_body::<NewToken>()
        .response_body::<TokenMade>()
        .success_status(201),
        Route::new(
            Method::DELETE,
            "/api/tokens/{id}",
            RouteAccess::Person,
            "Revokes a token and all that were made with it: they are refused from then on",
            revoke_token,
        )
        .success_status(204),
    ]
}

fn token_info(token: IssuedToken) -> TokenInfo {
    TokenInfo {
        id: token.id,
        name: token.name,
        subject: token.subject,
        role: token.role,
        created_at: iso_millis(token.created_at),
        expires_at: iso_millis(token.expires_at),
        created_by: token.created_by,
        made_with: token.made_with,
        revoked_at: token.revoked_at.map(iso_millis),
    }
}

/// A token to be made.
#[derive(Deserialize, JsonSchema)]
struct NewToken {
    /// What for, in at most 100 characters.
    name: String,
    /// Operators: for whom; otherwise for whoever asks.
    user: Option<UserId>,
    /// Operators: what it allows; otherwise `user`.
    role: Option<Role>,
    /// 1 to 365; 30 where nothing is said. Not longer than the token with which it is made, except for operators.
    days: Option<i64>,
}

/// A token that was made: the only time that it is shown.
#[derive(Serialize, JsonSchema)]
struct TokenMade {
    token: String,
    info: TokenInfo,
}

#[derive(Deserialize)]
struct TokenListQuery {
    before: Option<String>,
    limit: Option<u32>,
}

async fn list_tokens(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    QueryParams(query): QueryParams<TokenListQuery>,
) -> HandlerResult {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let after = query.before.as_deref().map(parse_page_start).transpose()?;
    let mut tokens = tokens::list(&state.platform, &who.actor, after.as_ref(), limit + 1).await?;
    let more = tokens.len() > limit as usize;
    tokens.truncate(limit as usize);
    let next = tokens
        .last()
        .filter(|_| more)
        .map(|last| format!("{}-{}", last.created_at.as_millisecond(), last.id));
    ok_json(&TokenList { tokens: tokens.into_iter().map(token_info).collect(), next })
}

/// Where a page begins, as the one before says.
fn parse_page_start(before: &str) -> Result<TokenCursor, RequestError> {
    let read = || {
        let (millis, id) = before.split_once('-')?;
        let created_at = jiff::Timestamp::from_millisecond(millis.parse().ok()?).ok()?;
        Some(TokenCursor { created_at, id: id.parse().ok()? })
    };
    read().ok_or_else(|| RequestError::invalid_request("before: expected the `next` of the page before"))
}

async fn issue_token(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    JsonBody(new): JsonBody<NewToken>,
) -> HandlerResult {
    let NewToken { name, user, role, days } = new;
    let request = TokenRequest { name, user, role, days };
    let IssuedSecret { token, listed } = tokens::issue(&state.platform, &who.actor, request).await?;
    Ok(json_response(StatusCode::CREATED, &TokenMade { token, info: token_info(listed) }))
}

async fn revoke_token(
    State(state): State<ServerState>,
    who: AuthenticatedPerson,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let id: TokenId = id.parse().map_err(|_| RequestError::not_found(format_args!("token {id}")))?;
    let tasks = state.lifecycle.tasks.clone();
    // On a task of its own: what is stored takes effect also if the client leaves in between.
    let revoking = tasks.spawn(async move { tokens::revoke(&state.platform, &who.actor, &id).await });
    revoking.await.map_err(|error| {
        tracing::error!(%error, "token could not be revoked");
        RequestError::new(
            ApiErrorCode::Internal,
            "the token could not be revoked; the server's log says more",
        )
    })??;
    no_content()
}
