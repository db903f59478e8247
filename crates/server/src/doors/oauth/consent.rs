//! `/api/oauth/consent`: what a client asks for, and what the user decides. The page is in the console; it sends the user's own
//! credential, so no other site can decide for the user.

use axum::extract::State;
use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use toolyard_authorization::{
    authorize::{AuthorizeError, ValidAuthorizeRequest},
    client::{ClientKind, OAuthClient},
    scope::{OAuthScope, ScopeSet},
};
use toolyard_core::catalog::ViewScope;
use toolyard_platform::{
    clients::{self as verbs, ClientConsent, MAX_GRANT_DAYS, credential_end, host_name},
    sealed_state::{OpenedState, SealPurpose, unseal},
};
use toolyard_protocol::{
    oauth::{
        ConnectingClient, ConnectingClientKind, ConsentApp, ConsentDecision, ConsentInfo, ConsentOutcome,
    },
    session::iso_millis,
};

use super::{OAuthDoor, authorize::find_client, clients::split_scopes};
use crate::{
    auth::{AuthRefusal, TargetUser},
    body::JsonBody,
    doors::rest::{HandlerResult, ok_json},
    error::RequestError,
    extract::QueryParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

const DAY_S: i64 = 24 * 60 * 60;
/// Apps that the page shows.
const MAX_APPS: usize = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/oauth/consent",
            RouteAccess::User,
            "What a client asks the user for",
            get_consent,
        )
        .query(&[("request", "The text from the address of the consent page")])
        .response_body::<ConsentInfo>(),
        Route::audited(
            Method::POST,
            "/api/oauth/consent",
            RouteAccess::User,
            "Connects a client, or refuses it",
            post_consent,
        )
        .request_body::<ConsentDecision>()
        .response_body::<ConsentOutcome>(),
    ]
}

#[derive(Deserialize)]
struct ConsentQuery {
    request: String,
}

async fn get_consent(
    State(state): State<ServerState>,
    who: TargetUser,
    QueryParams(query): QueryParams<ConsentQuery>,
) -> HandlerResult {
    require_in_person(&who)?;
    let (_, waiting, client) = find_waiting(&state, &query.request).await?;
    let request = &waiting.data;
    let (scopes, requested_apps) = split_scopes(&request.scopes);
    let max_days = days_left(&who, state.clock.now());
    let view = state.catalog.view(&who.user, ViewScope::Everything).await?;
    let apps = view.packages().take(MAX_APPS).map(|app| ConsentApp {
        package: app.head.package().clone(),
        name: app.head.record.details.name.clone(),
    });
    ok_json(&ConsentInfo {
        client: ConnectingClient {
            id: client.id.as_str().to_owned(),
            name: client.name.as_str().to_owned(),
            kind: match client.kind {
                ClientKind::Preregistered => ConnectingClientKind::Preregistered,
                ClientKind::MetadataDocument => ConnectingClientKind::MetadataDocument,
                ClientKind::Dynamic => ConnectingClientKind::Dynamic,
            },
            uri: client.client_uri.as_ref().map(|uri| uri.as_str().to_owned()),
        },
        redirect_host: host_name(&request.redirect_uri.redirect_host()),
        is_loopback: request.redirect_uri.is_loopback(),
        scopes,
        requested_apps,
        apps: apps.collect(),
        days: state.platform.config.load().clients.grant_days.min(max_days),
        max_days,
        expires_at: iso_millis(waiting.until()),
        user: who.user,
    })
}

async fn post_consent(
    State(state): State<ServerState>,
    who: TargetUser,
    JsonBody(decision): JsonBody<ConsentDecision>,
) -> HandlerResult {
    require_in_person(&who)?;
    let (door, waiting, client) = find_waiting(&state, &decision.request).await?;
    let request = &waiting.data;
    if !decision.approve {
        let redirect = request.error_location(AuthorizeError::AccessDenied, &door.issuer);
        return ok_json(&ConsentOutcome { redirect });
    }
    let consent = ClientConsent { scopes: chosen_scopes(&decision, &request.scopes)?, days: decision.days };
    let code = verbs::connect(&state.platform, &who.into(), &client, request, consent).await?;
    ok_json(&ConsentOutcome { redirect: request.code_location(code.expose(), &door.issuer) })
}

/// For how many days a client can be connected: until the user's own credential ends, and at most a year. A part of a day counts.
fn days_left(who: &TargetUser, now: Timestamp) -> u32 {
    let left = credential_end(&who.clone().into()).as_second().saturating_sub(now.as_second());
    let days = left.saturating_add(DAY_S - 1) / DAY_S;
    u32::try_from(days).unwrap_or(u32::MAX).clamp(1, MAX_GRANT_DAYS)
}

fn require_in_person(who: &TargetUser) -> Result<(), RequestError> {
    let actor = toolyard_platform::ActorOfUser::from(who.clone());
    if actor.is_user_in_person() {
        return Ok(());
    }
    Err(AuthRefusal::Forbidden("only the user can connect a client").into())
}

/// The request that waits, and its client as it is now.
async fn find_waiting<'a>(
    state: &'a ServerState,
    text: &str,
) -> Result<(&'a OAuthDoor, OpenedState<ValidAuthorizeRequest>, OAuthClient), RequestError> {
    let door = state.oauth.as_ref();
    let door =
        door.ok_or_else(|| RequestError::unavailable("the operator switched OAuth off: oauth.enabled"))?;
    let waiting = unseal::<ValidAuthorizeRequest>(&state.platform, SealPurpose::ConsentRequest, text);
    let waiting = waiting.ok_or_else(|| {
        RequestError::invalid_request("this request is unknown or has expired; start again in the client")
    })?;
    let client = find_client(state, door, &waiting.data.client_id).await;
    let client = client.map_err(|error| RequestError::invalid_request(error.to_string()))?;
    Ok((door, waiting, client))
}

/// What the user left of what was asked for.
fn chosen_scopes(decision: &ConsentDecision, requested: &ScopeSet) -> Result<ScopeSet, RequestError> {
    let invalid = |error: &dyn std::fmt::Display| RequestError::invalid_request(format!("scopes: {error}"));
    let mut chosen = match &decision.scopes {
        Some(scopes) => ScopeSet::parse(&scopes.join(" ")).map_err(|error| invalid(&error))?.scopes,
        None => requested.clone(),
    };
    let apps = match &decision.apps {
        Some(apps) if apps.is_empty() => {
            return Err(RequestError::invalid_request(
                "apps: choose at least one, or leave `apps` out for all",
            ));
        }
        Some(apps) => apps.clone(),
        None => requested.packages().cloned().collect(),
    };
    for package in apps {
        chosen.insert(OAuthScope::App(package)).map_err(|error| invalid(&error))?;
    }
    Ok(chosen)
}
