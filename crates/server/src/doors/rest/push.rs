//! `/api/push`: the browsers in which a user is notified.

use std::sync::Arc;

use axum::extract::State;
use http::{Method, StatusCode};
use toolyard_core::ports::{StoredPushSubscription, Stores};
use toolyard_net::url_host;
use toolyard_platform::{Platform, push as verbs};
use toolyard_protocol::{
    PushSubscriptionId,
    push::{NewPushSubscription, PushInfo, PushSubscriptionInfo, PushTestReport},
    session::iso_millis,
};

use super::{HandlerResult, no_content, ok_json};
use crate::{
    auth::TargetUser,
    body::JsonBody,
    error::{RequestError, json_response},
    extract::PathParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/push",
            RouteAccess::User,
            "The key for web push, and the browsers in which the user is notified",
            get_push,
        )
        .response_body::<PushInfo>(),
        Route::new(
            Method::POST,
            "/api/push/subscriptions",
            RouteAccess::User,
            "Notifies the user in a browser. The same browser again replaces what is known about it",
            add_subscription,
        )
        .request_body::<NewPushSubscription>()
        .response_body::<PushSubscriptionInfo>()
        .success_status(201),
        Route::new(
            Method::DELETE,
            "/api/push/subscriptions/{id}",
            RouteAccess::User,
            "Stops notifying the user in a browser",
            remove_subscription,
        )
        .success_status(204),
        Route::new(
            Method::POST,
            "/api/push/test",
            RouteAccess::User,
            "Sends a test notification to all browsers of the user",
            send_test,
        )
        .response_body::<PushTestReport>(),
    ]
}

fn subscription_info(stored: StoredPushSubscription) -> PushSubscriptionInfo {
    PushSubscriptionInfo {
        id: stored.id,
        label: stored.label,
        host: url_host(&stored.endpoint).unwrap_or_default(),
        created_at: iso_millis(stored.created_at),
        last_sent_at: stored.last_sent_at.map(iso_millis),
        problem: stored.problem,
    }
}

fn switched_off() -> RequestError {
    RequestError::unavailable("the operator switched web push off: approvals.push")
}

async fn get_push(
    State(state): State<ServerState>,
    State(stores): State<Stores>,
    who: TargetUser,
) -> HandlerResult {
    let subscriptions = stores.push_subscriptions.list_push_subscriptions(&who.user).await?;
    ok_json(&PushInfo {
        public_key: state.web_push.as_ref().map(|push| push.public_key().to_owned()),
        subscriptions: subscriptions.into_iter().map(subscription_info).collect(),
    })
}

async fn add_subscription(
    State(state): State<ServerState>,
    who: TargetUser,
    JsonBody(request): JsonBody<NewPushSubscription>,
) -> HandlerResult {
    let push = state.web_push.as_ref().ok_or_else(switched_off)?;
    let added = verbs::subscribe(&state.platform, &who.into(), request, push.public_key()).await?;
    Ok(json_response(StatusCode::CREATED, &subscription_info(added)))
}

async fn remove_subscription(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let id: PushSubscriptionId =
        id.parse().map_err(|_| RequestError::not_found(format_args!("browser {id}")))?;
    verbs::unsubscribe(&platform, &who.into(), &id).await?;
    no_content()
}

async fn send_test(State(state): State<ServerState>, who: TargetUser) -> HandlerResult {
    let push = state.web_push.as_ref().ok_or_else(switched_off)?;
    let user = who.user.clone();
    verbs::test(&state.platform, &who.into())?;
    ok_json(&push.send_test(&state, &user).await?)
}
