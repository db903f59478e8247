//! `/api/clients`: the clients that a user connected.

use std::sync::Arc;

use axum::extract::State;
use http::Method;
use toolyard_authorization::scope::{OAuthScope, ScopeSet};
use toolyard_core::ports::ClientGrant;
use toolyard_platform::{Platform, clients as verbs};
use toolyard_protocol::{
    PackageName, TokenId,
    oauth::{ConnectedClient, ConnectedClientList},
    session::iso_millis,
};

use crate::{
    auth::TargetUser,
    doors::rest::{HandlerResult, no_content, ok_json},
    error::RequestError,
    extract::PathParams,
    routes::{Route, RouteAccess},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/clients",
            RouteAccess::User,
            "The clients that the user connected, newest first",
            list_clients,
        )
        .response_body::<ConnectedClientList>(),
        Route::audited(
            Method::DELETE,
            "/api/clients/{id}",
            RouteAccess::User,
            "Disconnects a client: its tokens, streams and sockets end",
            disconnect_client,
        )
        .success_status(204),
    ]
}

/// Scopes as lists: what may be done, and with which apps.
pub(super) fn split_scopes(scopes: &ScopeSet) -> (Vec<String>, Vec<PackageName>) {
    let others = scopes.iter().filter(|scope| !matches!(scope, OAuthScope::App(_)));
    (others.map(ToString::to_string).collect(), scopes.packages().cloned().collect())
}

fn connected_client(grant: ClientGrant) -> ConnectedClient {
    let scopes = ScopeSet::parse(&grant.scopes).map(|parsed| parsed.scopes).unwrap_or_default();
    let (scopes, apps) = split_scopes(&scopes);
    ConnectedClient {
        id: grant.id,
        client_id: grant.client_id,
        name: grant.client_name,
        host: grant.client_host,
        scopes,
        apps,
        created_at: iso_millis(grant.created_at),
        last_used_at: iso_millis(grant.last_used_at),
        expires_at: iso_millis(grant.expires_at),
    }
}

async fn list_clients(State(platform): State<Arc<Platform>>, who: TargetUser) -> HandlerResult {
    let grants = verbs::list(&platform, &who.into()).await?;
    ok_json(&ConnectedClientList { clients: grants.into_iter().map(connected_client).collect() })
}

async fn disconnect_client(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let id: TokenId =
        id.parse().map_err(|_| RequestError::not_found(format_args!("connected client {id}")))?;
    verbs::disconnect(&platform, &who.into(), &id).await?;
    no_content()
}
