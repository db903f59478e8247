//! `/api/tokens`: tokens of this server, made, listed and called back. A token is shown once and kept nowhere.

use axum::extract::State;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::{Change, IssuedToken, RecordChange, TokenAdded, TokenPlace, TokenScope};
use toolyard_protocol::{
    TokenId, UserId,
    api::{ApiErrorCode, TokenInfo, TokenList},
    session::iso_millis,
};

use super::{Answer, nothing, ok};
use crate::{
    auth::{Person, Proof, Refusal, Role, TokenError, Wanted, issue},
    body::JsonBody,
    error::{Failure, json},
    extract::{Path, Query},
    routes::{Access, Route},
    state::AppState,
};

/// Longest name of a token, in characters.
const MAX_NAME: usize = 100;
/// Days that a token is good where nobody says how many.
const DEFAULT_DAYS: i64 = 30;
/// Most days.
const MAX_DAYS: i64 = 365;
const DAY_S: i64 = 24 * 60 * 60;
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
    let mut tokens = state.stores.tokens.issued(scope(&who), after.as_ref(), limit + 1).await?;
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

/// The tokens that this one may see and revoke: all, or their own. Somebody of the same name from another issuer is a user, so
/// nobody gets at tokens that allow more than their own.
fn scope(who: &Person) -> TokenScope<'_> {
    TokenScope { subject: (who.role != Role::Operator).then_some(who.name.as_str()), role: who.role }
}

async fn make(State(state): State<AppState>, who: Person, JsonBody(new): JsonBody<NewToken>) -> Answer {
    let name = new.name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Failure::invalid(format!(
            "name: expected 1 to {MAX_NAME} characters that say what it is for"
        )));
    }
    let days = new.days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(Failure::invalid(format!("days: expected 1 to {MAX_DAYS}")));
    }
    let role = new.role.unwrap_or(Role::User);
    let subject = new.user.map_or_else(|| who.name.clone(), |user| user.as_str().to_owned());
    if who.role != Role::Operator && (subject != who.name || role != Role::User) {
        return Err(Refusal::Forbidden(
            "only an operator makes tokens for others, or with another role than user",
        )
        .into());
    }
    let seconds = lasting(&who, days * DAY_S, state.clock.now())?;
    let with = match &who.proof {
        Proof::Token { id, .. } => id.as_ref(),
        Proof::Header | Proof::Issuer { .. } => None,
    };
    let wanted = Wanted { name, subject: &subject, role, seconds, by: &who.name, with };
    let (token, issued) = issue(&state.tokens, &*state.clock, &*state.ids, wanted).map_err(not_made)?;
    let room = state.config.quotas.of_tokens();
    match state.stores.tokens.add_token(&issued, room).await? {
        TokenAdded::Listed => {}
        TokenAdded::NoRoom => {
            let text = format!(
                "{subject} has {} tokens that have not ended, or the server has {}; wait until some end, or ask the \
                 operator to raise `quotas.tokens_per_user` or `quotas.tokens`",
                room.of_subject, room.of_all
            );
            return Err(Failure::new(ApiErrorCode::QuotaReached, text));
        }
        TokenAdded::Revoked => {
            return Err(Refusal::BadCredential("the token was revoked".to_owned()).into());
        }
    }
    state.signals.publish(Change::Records(RecordChange::Tokens(subject.into())));
    Ok(json(StatusCode::CREATED, &TokenMade { token, info: info(issued) }))
}

/// How long a token is good that this one makes. Whoever finds or keeps a credential for a short time shall not make a long one
/// of it.
fn lasting(who: &Person, wanted: i64, now: jiff::Timestamp) -> Result<i64, Failure> {
    match who.proof {
        _ if who.role == Role::Operator => Ok(wanted),
        Proof::Header => Ok(wanted),
        Proof::Token { until, .. } => Ok(wanted.min(until.saturating_sub(now.as_second()))),
        Proof::Issuer { .. } => Err(Refusal::Forbidden(
            "a login of your identity provider makes no tokens; ask an operator for one",
        )
        .into()),
    }
}

fn not_made(error: TokenError) -> Failure {
    tracing::error!(%error, "a token could not be made");
    Failure::new(ApiErrorCode::Internal, "the token could not be made; the server's log says more")
}

async fn revoke(State(state): State<AppState>, who: Person, Path(id): Path<String>) -> Answer {
    let missing = || Failure::not_found(format_args!("token {id}"));
    let id: TokenId = id.parse().map_err(|_| missing())?;
    let tasks = state.lifecycle.tasks.clone();
    // On a task of its own: what is stored takes effect also where the client leaves in between.
    let revoking = tasks.spawn(async move {
        let revoked = state.stores.tokens.revoke_token(&id, scope(&who), state.clock.now()).await?;
        let is_there = !revoked.is_empty();
        for token in revoked {
            state.tokens.revoke(token.id, token.expires_at);
            state.signals.publish(Change::Records(RecordChange::Tokens(token.subject.into())));
        }
        Ok::<_, Failure>(is_there)
    });
    let revoked = revoking.await.map_err(|error| {
        tracing::error!(%error, "a token could not be revoked");
        Failure::new(ApiErrorCode::Internal, "the token could not be revoked; the server's log says more")
    })?;
    if revoked? { nothing() } else { Err(missing()) }
}
