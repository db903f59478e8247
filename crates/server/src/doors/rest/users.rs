//! `/api/users`: the users of the platform and their accounts, for operators.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_core::ports::{AccountQuery, SeriesBy, TimeBuckets, UsageFilter, UserAccount};
use toolyard_platform::accounts::{self, AccountDetails};
use toolyard_protocol::{
    UserId,
    accounts::{
        AccountChange, AccountInfo, CreatedAccount, DeletionConfirmation, NewAccount, SignInLink,
        SignOutEverywhere,
    },
    api::Role,
    session::iso_millis,
};

use super::{HandlerResult, MAX_WORDS, account::session_info, no_content, ok_json};
use crate::{
    auth::{Actor, KnownActor},
    body::JsonBody,
    doors::sign_in::link_info,
    error::{RequestError, json_response},
    extract::QueryParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Default number of users.
const DEFAULT_USERS: u32 = 50;
/// Most users in one response.
const MAX_USERS: u32 = 200;
/// For how many days calls are counted.
const USAGE_DAYS: i64 = 30;

pub(crate) fn routes() -> Vec<Route> {
    let operator = RouteAccess::Operator;
    vec![
        Route::new(
            Method::GET,
            "/api/users",
            operator,
            "Users with an account, an install or a session, by id",
            list_users,
        )
        .query(&[
            ("q", "Only users whose id, e-mail address or name contains this text"),
            ("limit", "Maximum number of users, up to 200. Default: 50"),
            ("after", "Only users after this id: `next` of the previous page"),
        ])
        .response_body::<UserList>(),
        Route::audited(Method::POST, "/api/users", operator, "Creates an account", create_user)
            .request_body::<NewAccount>()
            .response_body::<CreatedAccount>()
            .success_status(201),
        Route::new(Method::GET, "/api/users/{user}", operator, "An account", get_user)
            .response_body::<AccountInfo>(),
        Route::audited(
            Method::PATCH,
            "/api/users/{user}",
            operator,
            "Changes an account; disabling it ends everything that the user has open",
            change_user,
        )
        .request_body::<AccountChange>()
        .response_body::<AccountInfo>(),
        Route::audited(
            Method::DELETE,
            "/api/users/{user}",
            operator,
            "Deletes a user and everything that is stored about them",
            delete_user,
        )
        .request_body::<DeletionConfirmation>()
        .success_status(204),
        Route::audited(
            Method::POST,
            "/api/users/{user}/sign-out",
            operator,
            "Signs a user out in all browsers; also revokes tokens and disconnects clients if wanted",
            sign_out_user,
        )
        .request_body::<SignOutEverywhere>()
        .success_status(204),
        Route::audited(
            Method::POST,
            "/api/users/{user}/link",
            operator,
            "A link that signs the user in once",
            create_link,
        )
        .response_body::<SignInLink>(),
        Route::audited(
            Method::GET,
            "/api/users/{user}/data",
            operator,
            "Everything that is stored about a user, except secrets",
            export_user,
        )
        .response_body::<Value>(),
    ]
}

#[derive(Deserialize)]
struct UsersQuery {
    #[serde(default)]
    q: String,
    limit: Option<u32>,
    after: Option<String>,
}

/// Users, by id.
#[derive(Serialize, JsonSchema)]
struct UserList {
    users: Vec<UserSummary>,
    /// What to send as `after` for the next page. Null on the last one.
    next: Option<UserId>,
}

/// One user.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UserSummary {
    user_id: UserId,
    /// Whether they have a session.
    live: bool,
    /// The device model of that session, if known.
    device_model: Option<String>,
    /// How many apps they installed.
    apps: u64,
    /// Whether they have an account. Without one they use a token, or that of an issuer.
    has_account: bool,
    email: Option<String>,
    name: Option<String>,
    role: Option<Role>,
    groups: Vec<String>,
    created_at: Option<String>,
    last_seen_at: Option<String>,
    disabled: bool,
}

impl UserSummary {
    fn new(user_id: UserId) -> Self {
        Self {
            user_id,
            live: false,
            device_model: None,
            apps: 0,
            has_account: false,
            email: None,
            name: None,
            role: None,
            groups: Vec::new(),
            created_at: None,
            last_seen_at: None,
            disabled: false,
        }
    }

    fn set_account(&mut self, account: UserAccount) {
        self.has_account = true;
        (self.email, self.name, self.role) = (account.email, account.name, Some(account.role));
        self.groups = account.groups;
        self.created_at = Some(iso_millis(account.created_at));
        self.last_seen_at = account.last_seen_at.map(iso_millis);
        self.disabled = account.disabled_at.is_some();
    }
}

async fn list_users(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    QueryParams(query): QueryParams<UsersQuery>,
) -> HandlerResult {
    if query.q.chars().count() > MAX_WORDS {
        return Err(RequestError::invalid_request(format!("q: at most {MAX_WORDS} characters")));
    }
    let limit = query.limit.unwrap_or(DEFAULT_USERS).clamp(1, MAX_USERS);
    let after = query.after.map(|after| parse_user(&after)).transpose()?;
    // User ids and e-mail addresses are lower case; names are compared without case.
    let part = query.q.trim().to_lowercase();
    let mut users: BTreeMap<UserId, UserSummary> = BTreeMap::new();
    // Each source returns the first ones after the place, so the first ones of all of them are complete.
    let wanted = AccountQuery { text: &part, after: after.as_ref(), limit: limit + 1 };
    for account in accounts::list(&state.platform, &actor, wanted).await? {
        let entry = users.entry(account.id.clone()).or_insert_with_key(|user| UserSummary::new(user.clone()));
        entry.set_account(account);
    }
    for (user, apps) in state.stores.installs.search_users(&part, after.as_ref(), limit + 1).await? {
        users.entry(user.clone()).or_insert_with(|| UserSummary::new(user)).apps = apps;
    }
    let is_after = |user: &UserId| after.as_ref().is_none_or(|after| user > after);
    let found = |user: &UserId| user.as_str().contains(&part) && is_after(user);
    for (user, model) in state.sessions.list_live_users(found) {
        let entry = users.entry(user.clone()).or_insert_with(|| UserSummary::new(user));
        (entry.live, entry.device_model) = (true, model);
    }
    let has_more = users.len() > limit as usize;
    let mut users: Vec<_> = users.into_values().take(limit as usize).collect();
    complete(&state, &mut users).await?;
    let next = users.last().filter(|_| has_more).map(|last| last.user_id.clone());
    ok_json(&UserList { users, next })
}

/// Adds what only one of the sources knew: a user found by name has installs, and a live one an account.
async fn complete(state: &ServerState, users: &mut [UserSummary]) -> Result<(), RequestError> {
    for user in users {
        if !user.has_account
            && let Some(account) = state.stores.accounts.find_account(&user.user_id).await?
        {
            user.set_account(account);
        }
        if user.apps == 0 {
            user.apps = state.stores.installs.list_installs(&user.user_id).await?.len() as u64;
        }
    }
    Ok(())
}

fn parse_user(text: &str) -> Result<UserId, RequestError> {
    text.parse().map_err(|error| RequestError::invalid_request(format!("user: {error}")))
}

async fn create_user(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    JsonBody(request): JsonBody<NewAccount>,
) -> HandlerResult {
    let (user, invite) = (request.user_id.clone(), request.invite);
    accounts::create(&state.platform, &actor, request).await?;
    let link = match invite {
        true => Some(accounts::create_link(&state.platform, &actor, &user).await?),
        false => None,
    };
    let link = link.map(|link| link_info(&state.base_url(), &link));
    let user = account_info(&state, &actor, &user).await?;
    Ok(json_response(StatusCode::CREATED, &CreatedAccount { user, link }))
}

async fn get_user(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    Path(user): Path<String>,
) -> HandlerResult {
    ok_json(&account_info(&state, &actor, &parse_user(&user)?).await?)
}

async fn change_user(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    Path(user): Path<String>,
    JsonBody(request): JsonBody<AccountChange>,
) -> HandlerResult {
    let user = parse_user(&user)?;
    accounts::change(&state.platform, &actor, &user, request).await?;
    ok_json(&account_info(&state, &actor, &user).await?)
}

async fn delete_user(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    Path(user): Path<String>,
    JsonBody(request): JsonBody<DeletionConfirmation>,
) -> HandlerResult {
    accounts::delete(&state.platform, &actor, &parse_user(&user)?, &request).await?;
    no_content()
}

async fn sign_out_user(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    Path(user): Path<String>,
    JsonBody(request): JsonBody<SignOutEverywhere>,
) -> HandlerResult {
    accounts::sign_out_everywhere(&state.platform, &actor, &parse_user(&user)?, request).await?;
    no_content()
}

async fn create_link(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    Path(user): Path<String>,
) -> HandlerResult {
    let link = accounts::create_link(&state.platform, &actor, &parse_user(&user)?).await?;
    ok_json(&link_info(&state.base_url(), &link))
}

async fn export_user(
    State(state): State<ServerState>,
    KnownActor(actor): KnownActor,
    Path(user): Path<String>,
) -> HandlerResult {
    ok_json(&accounts::export(&state.platform, &actor, &parse_user(&user)?).await?)
}

async fn account_info(
    state: &ServerState,
    actor: &Actor,
    user: &UserId,
) -> Result<AccountInfo, RequestError> {
    let AccountDetails { account, methods, sessions } = accounts::find(&state.platform, actor, user).await?;
    let now = state.clock.now();
    let clients = state.stores.oauth.list_client_grants(user, now).await?.len();
    Ok(AccountInfo {
        email: account.email,
        name: account.name,
        role: account.role,
        groups: account.groups,
        created_at: iso_millis(account.created_at),
        last_seen_at: account.last_seen_at.map(iso_millis),
        disabled_at: account.disabled_at.map(iso_millis),
        managed_by: account.managed_by.map(|id| state.issuers.name_of(&id)),
        has_password: methods.password.is_some(),
        passkeys: methods.passkeys.len(),
        sessions: sessions.iter().map(|session| session_info(session, None)).collect(),
        tokens: state.stores.tokens.count_valid_tokens(user.as_str(), now).await?,
        clients,
        apps: state.stores.installs.list_installs(user).await?.len(),
        calls_30_days: count_calls(state, user, now).await?,
        user_id: account.id,
    })
}

async fn count_calls(state: &ServerState, user: &UserId, now: Timestamp) -> Result<u64, RequestError> {
    let month = SignedDuration::from_hours(USAGE_DAYS * 24);
    let since = now.checked_sub(month).unwrap_or(now);
    let buckets =
        TimeBuckets { from: since, until: now, millis: USAGE_DAYS * 24 * 60 * 60 * 1_000, count: 1 };
    let filter = UsageFilter { user: Some(user.clone()), ..UsageFilter::default() };
    let timeline = state.stores.usage.call_timeline(&filter, buckets, SeriesBy::App).await?;
    Ok(timeline.outcomes.iter().map(|(_, count)| count).sum())
}
