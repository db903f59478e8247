//! `POST /oauth/revoke` and `POST /oauth/introspect`: a client gives a token back, or asks whether it is valid.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, StatusCode};
use toolyard_authorization::{
    client_auth::AuthenticatedClient,
    error::ErrorResponse,
    introspection::{ActiveToken, IntrospectionRequest, IntrospectionResponse},
    parameters::RequestParameters,
    scope::ScopeSet,
    token_reference::TokenReference,
    token_request::TokenError,
};
use toolyard_platform::{PlatformError, clients};

use super::{
    OAuthDoor, no_store, oauth_error, switched_off,
    token::{authenticate, authorization_header},
};
use crate::{
    body::FormBytes,
    error::json_response,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::audited(
            Method::POST,
            "/oauth/revoke",
            RouteAccess::Public,
            "Revokes a token of the client, with its grant (RFC 7009)",
            post_revoke,
        ),
        Route::new(
            Method::POST,
            "/oauth/introspect",
            RouteAccess::Public,
            "Whether a token of the client is valid (RFC 7662)",
            post_introspect,
        ),
    ]
}

async fn post_revoke(
    State(state): State<ServerState>,
    headers: HeaderMap,
    FormBytes(body): FormBytes,
) -> Response {
    let Some(door) = &state.oauth else { return switched_off() };
    let revoked = async {
        let (reference, who) = read_reference(&state, door, &headers, &body).await?;
        clients::revoke_token(&state.platform, &who, &reference.token).await.map_err(failed)
    };
    match revoked.await {
        Ok(()) => no_store(StatusCode::OK.into_response()),
        Err(error) => oauth_error(&ErrorResponse::new(error.code(), &error)),
    }
}

async fn post_introspect(
    State(state): State<ServerState>,
    headers: HeaderMap,
    FormBytes(body): FormBytes,
) -> Response {
    let Some(door) = &state.oauth else { return switched_off() };
    match introspect(&state, door, &headers, &body).await {
        Ok(token) => no_store(json_response(StatusCode::OK, &token)),
        Err(error) => oauth_error(&ErrorResponse::new(error.code(), &error)),
    }
}

async fn introspect(
    state: &ServerState,
    door: &OAuthDoor,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<IntrospectionResponse, TokenError> {
    let (reference, who) = read_reference(state, door, headers, body).await?;
    IntrospectionRequest::check_caller(&who)?;
    let found = clients::find_token(&state.platform, &who, &reference.token).await.map_err(failed)?;
    let Some(grant) = found else { return Ok(IntrospectionResponse::Inactive) };
    // A refresh token is no access token: it is valid as long as its grant.
    let claims = state.tokens.verify(reference.token.expose(), state.clock.now()).ok();
    let scope = claims.as_ref().and_then(|claims| claims.scope.clone()).unwrap_or(grant.scopes);
    Ok(IntrospectionResponse::Active(ActiveToken {
        scope: ScopeSet::parse(&scope).map(|parsed| parsed.scopes).unwrap_or_default(),
        client_id: who.id().clone(),
        sub: Some(grant.user.to_string()),
        username: Some(grant.user.to_string()),
        token_type: claims.as_ref().map(|_| "Bearer"),
        exp: claims.as_ref().map_or(grant.expires_at.as_second(), |claims| claims.exp),
        iat: claims.as_ref().map_or(grant.created_at.as_second(), |claims| claims.iat),
        iss: door.issuer.as_str().to_owned(),
        aud: door.resource.as_str().to_owned(),
        jti: Some(grant.id.to_string()),
    }))
}

async fn read_reference(
    state: &ServerState,
    door: &OAuthDoor,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(TokenReference, AuthenticatedClient), TokenError> {
    let form = RequestParameters::parse(body)?;
    let reference = TokenReference::parse(authorization_header(headers), &form)?;
    let (_, who) = authenticate(state, door, &reference.client).await?;
    Ok((reference, who))
}

fn failed(error: PlatformError) -> TokenError {
    tracing::error!(%error, "token not read or revoked");
    TokenError::ServerError
}
