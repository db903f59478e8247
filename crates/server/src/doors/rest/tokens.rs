//! `/api/tokens`: tokens of this server, made, listed and called back. A token is shown once and kept nowhere.

use axum::extract::State;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::{IssuedToken, TokenPlace};
use toolyard_platform::tokens::{self, IssuedSecret, TokenRequest};
use toolyard_protocol::{
    TokenId, UserId,
    api::{ApiErrorCode, TokenInfo, TokenList},
    session::iso_millis,
};

use super::{Answer, nothing, ok};
use crate::{
    auth::{Person, Role},
    body::JsonBody,
    error::{Failure, json},
    extract::{Path, Query},
    routes::{Access, Route},
    state::AppState,
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
            Access::Person,
            "The caller's tokens, the newest first; operators see all",
            list,
        )
        .query(&[
            ("before", "The `next` of the page before"),
            ("limit", "At most so many, up to 200; 100 where nothing is said"),
        ])
        .gives::<TokenList>(),
        Route::new(Method::POST, "/api/tokens", Access::Person, "Makes a token; shows it once", make)
            .takes::<NewToken>()
            .gives::<TokenMade>()
            .success(201),
        Route::new(
            Method::DELETE,
            "/api/tokens/{id}",
            Access::Person,
            "Revokes a token and all that were made with it: they are refused from then on",
            revoke,
        )
        .success(204),
    ]
}

fn info(token: IssuedToken) -> TokenInfo {
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
struct ListQuery {
    before: Option<String>,
    limit: Option<u32>,
}

async fn list(State(state): State<AppState>, who: Person, Query(query): Query<ListQuery>) -> Answer {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let after = query.before.as_deref().map(place).transpose()?;
    let mut tokens = tokens::list(&state.platform, &who.actor, after.as_ref(), limit + 1).await?;
    let more = tokens.len() > limit as usize;
    tokens.truncate(limit as usize);
    let next = tokens
        .last()
        .filter(|_| more)
        .map(|last| format!("{}-{}", last.created_at.as_millisecond(), last.id));
    ok(&TokenList { tokens: tokens.into_iter().map(info).collect(), next })
}

/// Where a page begins, as the one before says.
fn place(before: &str) -> Result<TokenPlace, Failure> {
    let read = || {
        let (millis, id) = before.split_once('-')?;
        let created_at = jiff::Timestamp::from_millisecond(millis.parse().ok()?).ok()?;
        Some(TokenPlace { created_at, id: id.parse().ok()? })
    };
    read().ok_or_else(|| Failure::invalid("before: expected the `next` of the page before"))
}

async fn make(State(state): State<AppState>, who: Person, JsonBody(new): JsonBody<NewToken>) -> Answer {
    let NewToken { name, user, role, days } = new;
    let request = TokenRequest { name, user, role, days };
    let IssuedSecret { token, listed } = tokens::issue(&state.platform, &who.actor, request).await?;
    Ok(json(StatusCode::CREATED, &TokenMade { token, info: info(listed) }))
}

async fn revoke(State(state): State<AppState>, who: Person, Path(id): Path<String>) -> Answer {
    let id: TokenId = id.parse().map_err(|_| Failure::not_found(format_args!("token {id}")))?;
    let tasks = state.lifecycle.tasks.clone();
    // On a task of its own: what is stored takes effect also if the client leaves in between.
    let revoking = tasks.spawn(async move { tokens::revoke(&state.platform, &who.actor, &id).await });
    revoking.await.map_err(|error| {
        tracing::error!(%error, "token could not be revoked");
        Failure::new(ApiErrorCode::Internal, "the token could not be revoked; the server's log says more")
    })??;
    nothing()
}
