//! `POST /oauth/token`: codes, refresh tokens, proofs of programs and identity assertions become access tokens.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Method, StatusCode, header};
use toolyard_authorization::{
    client::OAuthClient,
    client_auth::{AssertionContext, AuthenticatedClient, ClientAuthError, authenticate_client},
    error::ErrorResponse,
    id_jag::{IdJagRules, IdentityGrant, select_issuer, verify_id_jag},
    jwt::AssertionError,
    parameters::RequestParameters,
    token_request::{ClientProof, GrantError, PresentedClient, TokenError, TokenGrant, TokenRequest},
    token_response::TokenResponse,
};
use toolyard_platform::clients;
use toolyard_protocol::secret::SecretText;

use super::{
    OAuthDoor, authorize::find_client, documents::DocumentError, no_store, oauth_error, switched_off,
};
use crate::{
    body::FormBytes,
    error::json_response,
    routes::{Route, RouteAccess},
    state::ServerState,
};

pub(super) fn routes() -> Vec<Route> {
    vec![Route::audited(
        Method::POST,
        "/oauth/token",
        RouteAccess::Public,
        "The token endpoint of OAuth: redeems codes and refresh tokens",
        post_token,
    )]
}

async fn post_token(
    State(state): State<ServerState>,
    headers: HeaderMap,
    FormBytes(body): FormBytes,
) -> Response {
    let Some(door) = &state.oauth else { return switched_off() };
    match exchange(&state, door, &headers, &body).await {
        Ok(tokens) => no_store(json_response(StatusCode::OK, &tokens)),
        Err(error) => {
            tracing::info!(%error, "token request refused");
            oauth_error(&ErrorResponse::new(error.code(), &error))
        }
    }
}

async fn exchange(
    state: &ServerState,
    door: &OAuthDoor,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<TokenResponse, TokenError> {
    let form = RequestParameters::parse(body)?;
    let request = TokenRequest::parse(authorization_header(headers), &form)?;
    let (client, who) = authenticate(state, door, &request.client).await?;
    who.check_grant(&client, request.grant.grant_type())?;
    match &request.grant {
        TokenGrant::AuthorizationCode(redemption) => {
            clients::redeem(&state.platform, &client, &who, redemption, &request, &door.issuer).await
        }
        TokenGrant::RefreshToken(token) => {
            clients::refresh(&state.platform, &client, &who, token, &request).await
        }
        TokenGrant::ClientCredentials => {
            request.find_resource(&door.resources)?;
            let machine = door.preregistered.machine(who.id()).ok_or(GrantError::GrantNotAllowed)?;
            clients::issue_to_machine(&state.platform, &client, machine, &request).await
        }
        TokenGrant::JwtBearer(assertion) => {
            let identity = verify_identity(state, door, &who, assertion, &request).await?;
            clients::issue_for_identity(&state.platform, &client, &identity, &request).await
        }
        // No client is allowed this: `check_grant` refuses it, and the metadata does not name it.
        TokenGrant::DeviceCode(_) => Err(GrantError::GrantNotAllowed.into()),
    }
}

/// Verifies an identity assertion with the keys of its issuer.
async fn verify_identity(
    state: &ServerState,
    door: &OAuthDoor,
    who: &AuthenticatedClient,
    assertion: &SecretText,
    request: &TokenRequest,
) -> Result<IdentityGrant, TokenError> {
    let assertion = assertion.expose();
    let trusted = state.issuers.assertion_issuers();
    let provider = select_issuer(assertion, &trusted)?;
    // An assertion may be signed with a key that is newer than those we know.
    for is_stale in [false, true] {
        let keys = state.issuers.keys_of(provider, is_stale).await.map_err(|error| {
            tracing::warn!(provider, %error, "keys of an identity provider not fetched");
            TokenError::TemporarilyUnavailable
        })?;
        let rules = IdJagRules {
            provider,
            provider_keys: &keys,
            issuer: &door.issuer,
            resources: &door.resources,
            client: who,
            allow_public_clients: false,
            requested_resource: request.resource.as_deref(),
            now: state.clock.now(),
        };
        match verify_id_jag(assertion, &rules) {
            Err(GrantError::Assertion(AssertionError::UnknownKey)) if !is_stale => {}
            verified => return Ok(verified?),
        }
    }
    Err(GrantError::Assertion(AssertionError::UnknownKey).into())
}

pub(super) fn authorization_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok())
}

/// Finds the client of a request and authenticates it.
pub(super) async fn authenticate(
    state: &ServerState,
    door: &OAuthDoor,
    presented: &PresentedClient,
) -> Result<(OAuthClient, AuthenticatedClient), TokenError> {
    let client = find_client(state, door, &presented.id).await.map_err(|error| match error {
        DocumentError::Page(_) => TokenError::from(ClientAuthError::UnknownClient),
        DocumentError::Unreachable => TokenError::TemporarilyUnavailable,
    })?;
    let fetched_keys = match client.key_url() {
        Some(url) if matches!(presented.proof, ClientProof::Assertion(_)) => {
            door.documents.keys(url.as_str()).await
        }
        _ => None,
    };
    let endpoint = door.issuer.join("/oauth/token");
    let context = AssertionContext {
        issuer: &door.issuer,
        token_endpoint: &endpoint,
        fetched_keys: fetched_keys.as_ref(),
        now: state.clock.now(),
    };
    let who = authenticate_client(&client, presented, &context)?;
    if let Some(used) = who.used_assertion() {
        let is_first = state.stores.oauth.use_id_once(&used.replay_key, used.remember_until).await;
        let is_first = is_first.map_err(|error| {
            tracing::error!(%error, "client assertion not recorded");
            TokenError::ServerError
        })?;
        if !is_first {
            return Err(ClientAuthError::AssertionReplayed.into());
        }
    }
    Ok((client, who))
}
