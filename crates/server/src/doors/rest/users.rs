//! `/api/users`: the users of the platform, for operators.

use std::collections::BTreeMap;

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::Stores;
use toolyard_protocol::UserId;
use toolyard_sessions::Sessions;

use super::{HandlerResult, MAX_WORDS, ok_json};
use crate::{
    auth::KnownActor,
    error::RequestError,
    extract::QueryParams,
    routes::{Route, RouteAccess},
};

/// Default number of users.
const DEFAULT_USERS: u32 = 50;
/// Most users in one response.
const MAX_USERS: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/users",
            RouteAccess::Operator,
            "Users with an install or a session, by id",
            list_users,
        )
        .query(&[
            ("q", "Only users whose id contains this text"),
            ("limit", "Maximum number of users, up to 200. Default: 50"),
        ])
        .response_body::<UserList>(),
    ]
}

#[derive(Deserialize)]
struct UsersQuery {
    #[serde(default)]
    q: String,
    limit: Option<u32>,
}

/// Users, by id.
#[derive(Serialize, JsonSchema)]
struct UserList {
    users: Vec<UserSummary>,
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
}

async fn list_users(
    State(sessions): State<Sessions>,
    State(stores): State<Stores>,
    KnownActor(_): KnownActor,
    QueryParams(query): QueryParams<UsersQuery>,
) -> HandlerResult {
    if query.q.chars().count() > MAX_WORDS {
        return Err(RequestError::invalid_request(format!("q: at most {MAX_WORDS} characters")));
    }
    let limit = query.limit.unwrap_or(DEFAULT_USERS).clamp(1, MAX_USERS);
    // User ids are lower case.
    let part = query.q.trim().to_ascii_lowercase();
    let summary = |user_id: &UserId, apps| UserSummary {
        user_id: user_id.clone(),
        live: false,
        device_model: None,
        apps,
    };
    let mut users: BTreeMap<UserId, UserSummary> = BTreeMap::new();
    for (user, apps) in stores.installs.search_users(&part, limit).await? {
        users.insert(user.clone(), summary(&user, apps));
    }
    // A live user with installs who is not among these sorts after the last of them, and is cut off below.
    for (user, model) in sessions.list_live_users(|user| user.as_str().contains(&part)) {
        let entry = users.entry(user.clone()).or_insert_with(|| summary(&user, 0));
        (entry.live, entry.device_model) = (true, model);
    }
    ok_json(&UserList { users: users.into_values().take(limit as usize).collect() })
}
