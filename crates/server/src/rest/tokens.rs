//! `/api/tokens`: tokens of this server, made, listed and called back. A token is shown once and kept nowhere.

use axum::extract::State;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::IssuedToken;
use toolyard_protocol::{
    TokenId, UserId,
    api::{ApiErrorCode, TokenInfo, TokenList},
    session::iso_millis,
};

use super::{Answer, nothing, ok};
use crate::{
    auth::{Person, Proof, ROOM, Refusal, Role, TokenError, Wanted, issue},
    body::JsonBody,
    error::{Failure, json},
    extract::Path,
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

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/tokens",
            Access::Person,
            "The caller's tokens, the newest first; operators see all",
            list,
        )
        .gives::<TokenList>(),
        Route::new(Method::POST, "/api/tokens", Access::Person, "Makes a token; shows it once", make)
            .takes::<NewToken>()
            .gives::<TokenMade>()
            .success(201),
        Route::new(
            Method::DELETE,
            "/api/tokens/{id}",
            Access::Person,
            "Revokes a token: it is refused from then on",
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

async fn list(State(state): State<AppState>, who: Person) -> Answer {
    ok(&TokenList { tokens: visible(&state, &who).await?.into_iter().map(info).collect() })
}

/// The tokens that this one may see and revoke: all, or their own. Somebody of the same name from another issuer is a user, so
/// nobody gets at tokens that allow more than their own.
async fn visible(state: &AppState, who: &Person) -> Result<Vec<IssuedToken>, Failure> {
    let own = (who.role != Role::Operator).then_some(who.name.as_str());
    let mut tokens = state.stores.tokens.issued(own).await?;
    tokens.retain(|token| token.role <= who.role);
    Ok(tokens)
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
    let wanted = Wanted { name, subject: &subject, role, seconds, by: &who.name };
    let (token, issued) = issue(&state.tokens, &*state.clock, &*state.ids, wanted).map_err(not_made)?;
    if !state.stores.tokens.add_token(&issued, ROOM).await? {
        let most = ROOM.of_subject;
        let text = format!(
            "{subject} has {most} tokens that have not ended, or the server has no room for more; wait until some end"
        );
        return Err(Failure::new(ApiErrorCode::Conflict, text));
    }
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
    let own = (who.role != Role::Operator).then_some(who.name.as_str());
    if own.is_some() && !visible(&state, &who).await?.iter().any(|token| token.id == id) {
        return Err(missing());
    }
    let (own, tasks) = (own.map(str::to_owned), state.lifecycle.tasks.clone());
    // On a task of its own: what is stored takes effect also where the client leaves in between.
    let revoking = tasks.spawn(async move {
        let revoked = state.stores.tokens.revoke_token(&id, own.as_deref(), state.clock.now()).await?;
        Ok::<_, Failure>(revoked.map(|token| state.tokens.revoke(token.id, token.expires_at)))
    });
    let revoked = revoking.await.map_err(|error| {
        tracing::error!(%error, "a token could not be revoked");
        Failure::new(ApiErrorCode::Internal, "the token could not be revoked; the server's log says more")
    })?;
    revoked?.ok_or_else(missing)?;
    nothing()
}
