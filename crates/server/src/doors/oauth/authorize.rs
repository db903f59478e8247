//! `GET /oauth/authorize`: a client asks for access. The request is checked before the user sees anything; then the console
//! shows it to the user, who may have to sign in first.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header};
use jiff::SignedDuration;
use toolyard_authorization::{
    authorize::{
        AuthorizeError, AuthorizePageError, AuthorizeQuery, AuthorizeRefusal, AuthorizeRules, PromptValue,
        ValidAuthorizeRequest,
    },
    client::{ClientId, DocumentUrl, OAuthClient},
    parameters::RequestParameters,
};
use toolyard_platform::{
    clients,
    sealed_state::{SealPurpose, seal},
};

use super::{OAuthDoor, documents::DocumentError, switched_off};
use crate::{
    html_page::{escape_html, html_page},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// How long a user may take to sign in and decide, in seconds.
const CONSENT_S: i64 = 10 * 60;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(
        Method::GET,
        "/oauth/authorize",
        RouteAccess::Public,
        "The authorization endpoint of OAuth: leads to the consent page",
        get_authorize,
    )]
}

async fn get_authorize(State(state): State<ServerState>, RawQuery(query): RawQuery) -> Response {
    let Some(door) = &state.oauth else { return switched_off() };
    match check_request(&state, door, query.as_deref().unwrap_or_default()).await {
        Ok(request) => lead_to_consent(&state, request),
        Err(AuthorizeFailure::Refused(AuthorizeRefusal::Redirect { error, location })) => {
            tracing::info!(%error, "authorization request refused");
            redirect(&location)
        }
        Err(AuthorizeFailure::Refused(AuthorizeRefusal::Page(error))) => error_page(&error.to_string()),
        Err(AuthorizeFailure::Unreachable(error)) => error_page(&error.to_string()),
    }
}

/// Why a request goes no further.
enum AuthorizeFailure {
    Refused(AuthorizeRefusal),
    Unreachable(DocumentError),
}

impl<T: Into<AuthorizeRefusal>> From<T> for AuthorizeFailure {
    fn from(refusal: T) -> Self {
        Self::Refused(refusal.into())
    }
}

async fn check_request(
    state: &ServerState,
    door: &OAuthDoor,
    query: &str,
) -> Result<ValidAuthorizeRequest, AuthorizeFailure> {
    let parameters = RequestParameters::parse(query.as_bytes()).map_err(AuthorizePageError::from)?;
    let query = AuthorizeQuery::parse(parameters)?;
    let client = find_client(state, door, query.client_id()).await.map_err(|error| match error {
        DocumentError::Page(error) => AuthorizeFailure::Refused(error.into()),
        DocumentError::Unreachable => AuthorizeFailure::Unreachable(error),
    })?;
    let rules = AuthorizeRules {
        issuer: &door.issuer,
        resources: &door.resources,
        default_scopes: &door.default_scopes,
    };
    let request = query.validate(&client, &rules)?;
    // Whether the user is signed in, only the console knows; and a client always needs the user's consent.
    if request.prompt.has(PromptValue::None) {
        let error = AuthorizeError::InteractionRequired;
        let location = request.error_location(error, &door.issuer);
        return Err(AuthorizeRefusal::Redirect { error, location }.into());
    }
    Ok(request)
}

/// The client with an id: one of the operator, described by its document, or registered.
pub(super) async fn find_client(
    state: &ServerState,
    door: &OAuthDoor,
    id: &ClientId,
) -> Result<OAuthClient, DocumentError> {
    if let Some(client) = door.preregistered.find(id) {
        return Ok(client.clone());
    }
    if id.is_document_url() {
        return door.documents.client(&DocumentUrl::parse(id)?).await;
    }
    match clients::find_registered(&state.platform, id).await {
        Ok(Some(client)) => Ok(client),
        Ok(None) => Err(AuthorizePageError::UnknownClient.into()),
        Err(error) => {
            tracing::error!(%error, "registered client not read");
            Err(DocumentError::Unreachable)
        }
    }
}

fn lead_to_consent(state: &ServerState, request: ValidAuthorizeRequest) -> Response {
    if !request.unknown_scopes.is_empty() {
        let (client, scopes) = (request.client_id.as_str(), &request.unknown_scopes);
        tracing::info!(client, ?scopes, "unknown scopes ignored");
    }
    let now = state.clock.now();
    let expires_at = now.saturating_add(SignedDuration::from_secs(CONSENT_S)).unwrap_or(now);
    // Sealed into the address of the consent page: nothing is stored, and any node continues.
    match seal(&state.platform, SealPurpose::ConsentRequest, expires_at, request) {
        Ok(sealed) => redirect(&format!("{}/console/authorize?request={sealed}", state.base_url())),
        Err(error) => {
            tracing::error!(%error, "authorization request not sealed");
            error_page("The request could not be processed; see the server's log.")
        }
    }
}

/// A redirect that is not cached and leaks no address to the next site.
fn redirect(location: &str) -> Response {
    let Ok(location) = HeaderValue::try_from(location) else {
        return error_page("The client's address cannot be used.");
    };
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (StatusCode::FOUND, headers).into_response()
}

fn error_page(message: &str) -> Response {
    let text =
        format!("The connection could not be started: {}.", escape_html(message.trim_end_matches('.')));
    html_page(StatusCode::BAD_REQUEST, &text, "")
}
