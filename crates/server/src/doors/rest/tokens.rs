//! `/api/tokens`: issues, lists and revokes tokens of this server. A token is shown once and not stored.

use std::sync::Arc;

use axum::extract::State;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::{IssuedToken, TokenCursor};
use toolyard_platform::Platform;
use toolyard_platform::tokens::{self, IssuedSecret, TokenRequest};
use toolyard_protocol::{
    TokenId, UserId,
    api::{TokenInfo, TokenList},
    session::iso_millis,
};

use super::{HandlerResult, no_content, ok_json};
use crate::{
    auth::{AuthenticatedPerson, Role},
    body::JsonBody,
    error::{RequestError, json_response},
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
};

/// Default page size.
const DEFAULT_PAGE: u32 = 100;
/// Maximum page size.
const MAX_PAGE: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/tokens",
            RouteAccess::Person,
            "The caller's tokens, newest first; operators see all",
            list_tokens,
        )
        .query(&[
            ("before", "`next` of the previous page"),
            ("limit", "Page size, at most 200. Default: 100"),
        ])
        .response_body::<TokenList>(),
        Route::audited(
            Method::POST,
            "/api/tokens",
            RouteAccess::Person,
            "Issues a token; it is shown once",
            issue_token,
        )
        .request_body::<NewToken>()
        .response_body::<TokenMade>()
        .success_status(201),
        Route::audited(
            Method::DELETE,
            "/api/tokens/{id}",
            RouteAccess::Person,
            "Revokes a token and all tokens issued with it",
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

/// A token to issue.
#[derive(Deserialize, JsonSchema)]
struct NewToken {
    /// Purpose, at most 100 characters.
    name: String,
    /// Operators: the user. Default: the caller.
    user: Option<UserId>,
    /// Operators: the role. Default: `user`.
    role: Option<Role>,
    /// Validity, 1 to 365. Default: 30. Except for operators, it cannot outlive the token that it is issued with.
    days: Option<i64>,
}

/// An issued token. It is shown only here.
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
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    QueryParams(query): QueryParams<TokenListQuery>,
) -> HandlerResult {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let after = query.before.as_deref().map(parse_page_start).transpose()?;
    let mut tokens = tokens::list(&platform, &who.actor, after.as_ref(), limit + 1).await?;
    let more = tokens.len() > limit as usize;
    tokens.truncate(limit as usize);
    let next = tokens
        .last()
        .filter(|_| more)
        .map(|last| format!("{}-{}", last.created_at.as_millisecond(), last.id));
    ok_json(&TokenList { tokens: tokens.into_iter().map(token_info).collect(), next })
}

/// Parses the `next` of the previous page.
fn parse_page_start(before: &str) -> Result<TokenCursor, RequestError> {
    let read = || {
        let (millis, id) = before.split_once('-')?;
        let created_at = jiff::Timestamp::from_millisecond(millis.parse().ok()?).ok()?;
        Some(TokenCursor { created_at, id: id.parse().ok()? })
    };
    read().ok_or_else(|| RequestError::invalid_request("before: expected `next` of the previous page"))
}

async fn issue_token(
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    JsonBody(new): JsonBody<NewToken>,
) -> HandlerResult {
    let NewToken { name, user, role, days } = new;
    let request = TokenRequest { name, user, role, days };
    let IssuedSecret { token, listed } = tokens::issue(&platform, &who.actor, request).await?;
    Ok(json_response(StatusCode::CREATED, &TokenMade { token, info: token_info(listed) }))
}

async fn revoke_token(
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let id: TokenId = id.parse().map_err(|_| RequestError::not_found(format_args!("token {id}")))?;
    tokens::revoke(&platform, &who.actor, &id).await?;
    no_content()
}
