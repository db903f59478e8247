//! The redirects to an identity provider and back. What must come back unchanged waits in a sealed cookie of the browser that
//! began, so that nobody can be signed in by someone else's link.

use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_authorization::sign_in_rules::access_from_claims;
use toolyard_platform::{
    accounts::{self, IssuedIdentity, IssuerRefusal, StartedSession},
    sealed_state::{OpenedState, SealPurpose, seal, unseal},
};

use super::{
    device_name::device_name,
    issuer_client::{CodeExchange, IssuerClient, IssuerError},
    no_store, with_session,
};
use crate::{
    auth::{actor_by_returning_cookie, cookie_value, set_cookie, user_from_claims},
    config::IssuerConfig,
    extract::QueryParams,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// How long a person may take at the issuer, in seconds.
const FLOW_S: i64 = 10 * 60;
/// Longest path to return to, so that the cookie stays below 4 KiB.
const MAX_RETURN: usize = 2_300;
const CONSOLE: &str = "/console/";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/sign-in/{issuer}",
            RouteAccess::Public,
            "Leads to an identity provider to sign in there",
            begin,
        )
        .query(&[("return", "The page of the console to return to")]),
        Route::audited(
            Method::GET,
            "/sign-in/{issuer}/callback",
            RouteAccess::Public,
            "Where an identity provider returns to; the session is a cookie",
            finish,
        )
        .query(&[
            ("code", "The code of the identity provider"),
            ("state", "What was sent to it"),
            ("iss", "The identity provider"),
            ("error", "Why it refuses"),
        ]),
    ]
}

/// What the browser keeps for us.
#[derive(Serialize, Deserialize)]
struct SignInFlow {
    issuer: String,
    state: String,
    nonce: String,
    verifier: String,
    return_to: String,
}

#[derive(Deserialize)]
struct BeginQuery {
    #[serde(rename = "return", default)]
    return_to: String,
}

#[derive(Deserialize)]
struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// Why nobody is signed in. The page of the console explains it.
#[derive(Debug, Clone, Copy)]
enum SignInProblem {
    Denied,
    NotAllowed,
    Disabled,
    Expired,
    Taken,
    Unreachable,
    Failed,
}

impl SignInProblem {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NotAllowed => "not-allowed",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
            Self::Taken => "taken",
            Self::Unreachable => "unreachable",
            Self::Failed => "failed",
        }
    }
}

impl From<IssuerError> for SignInProblem {
    fn from(error: IssuerError) -> Self {
        match error {
            IssuerError::Unreachable(_) => Self::Unreachable,
            IssuerError::Refused(_) | IssuerError::BadToken(_) => Self::Failed,
        }
    }
}

impl From<IssuerRefusal> for SignInProblem {
    fn from(refusal: IssuerRefusal) -> Self {
        match refusal {
            IssuerRefusal::NotAllowed => Self::NotAllowed,
            IssuerRefusal::Disabled => Self::Disabled,
            IssuerRefusal::Taken => Self::Taken,
            IssuerRefusal::Failed(_) => Self::Failed,
        }
    }
}

async fn begin(
    State(state): State<ServerState>,
    Path(id): Path<String>,
    QueryParams(query): QueryParams<BeginQuery>,
) -> Response {
    let Some(issuer) = state.issuers.find(&id) else { return StatusCode::NOT_FOUND.into_response() };
    if state.platform.accounts.check_rate().is_err() {
        return problem_page(&state, SignInProblem::Unreachable);
    }
    let metadata = match issuer.metadata().await {
        Ok(metadata) => metadata,
        Err(error) => {
            tracing::warn!(issuer = id, %error, "identity provider not reachable");
            return problem_page(&state, error.into());
        }
    };
    let flow = SignInFlow {
        issuer: id,
        state: random_text(&state),
        nonce: random_text(&state),
        verifier: random_text(&state),
        return_to: checked_return(&query.return_to).to_owned(),
    };
    let location = authorization_url(&state, &metadata.authorization_endpoint, &issuer.config, &flow);
    match (location, seal_flow(&state, &flow)) {
        (Some(location), Some(cookie)) => {
            let mut response = redirect(&location);
            response.headers_mut().append(header::SET_COOKIE, cookie);
            response
        }
        _ => problem_page(&state, SignInProblem::Failed),
    }
}

async fn finish(
    State(state): State<ServerState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    QueryParams(query): QueryParams<CallbackQuery>,
) -> Response {
    let Some(issuer) = state.issuers.find(&id) else { return StatusCode::NOT_FOUND.into_response() };
    if state.platform.accounts.check_rate().is_err() {
        return problem_page(&state, SignInProblem::Unreachable);
    }
    let flow = open_flow(&state, &headers, &id);
    let return_to = flow.as_ref().map(|flow| flow.data.return_to.clone()).unwrap_or_default();
    let signed_in = match flow {
        Some(flow) => sign_in(&state, issuer, &flow, query, &headers).await,
        None => Err(SignInProblem::Expired),
    };
    let response = match signed_in {
        Ok(session) => {
            end_replaced_session(&state, &headers).await;
            with_session(&state, &session, redirect(&format!("{}{return_to}", state.base_url())))
        }
        Err(problem) => problem_page(&state, problem),
    };
    forget_flow(&state, response)
}

/// The browser comes from another site, so its session does not count; the flow proves that this browser began.
async fn end_replaced_session(state: &ServerState, headers: &HeaderMap) {
    let Some(actor) = actor_by_returning_cookie(state, headers) else { return };
    if let Err(error) = accounts::sign_out(&state.platform, &actor).await {
        tracing::warn!(%error, "replaced session not ended");
    }
}

async fn sign_in(
    state: &ServerState,
    issuer: &IssuerClient,
    opened: &OpenedState<SignInFlow>,
    query: CallbackQuery,
    headers: &HeaderMap,
) -> Result<StartedSession, SignInProblem> {
    let flow = &opened.data;
    let fits = query.state.as_deref().unwrap_or_default().as_bytes().ct_eq(flow.state.as_bytes());
    if !bool::from(fits) {
        return Err(SignInProblem::Expired);
    }
    let metadata = issuer.metadata().await?;
    // One provider must not pass on the code of another (RFC 9207).
    let names_itself = match &query.iss {
        Some(named) => *named == issuer.config.issuer,
        None => !metadata.authorization_response_iss_parameter_supported,
    };
    if !names_itself {
        tracing::warn!(issuer = issuer.config.id, "response of another identity provider");
        return Err(SignInProblem::Failed);
    }
    if let Some(error) = &query.error {
        tracing::info!(
            issuer = issuer.config.id,
            error = error.chars().take(80).collect::<String>(),
            "sign-in refused"
        );
        return Err(SignInProblem::Denied);
    }
    // One code for one beginning: nobody makes us send codes to the provider.
    if !opened.use_once(&state.platform).await.unwrap_or(false) {
        return Err(SignInProblem::Expired);
    }
    let exchange = CodeExchange {
        code: query.code.as_deref().ok_or(SignInProblem::Failed)?,
        verifier: &flow.verifier,
        redirect_uri: &redirect_uri(state, &issuer.config.id),
        nonce: &flow.nonce,
        now: state.clock.now(),
    };
    let claims = issuer.exchange(exchange).await.map_err(|error| {
        tracing::warn!(issuer = issuer.config.id, %error, "sign-in at an identity provider failed");
        SignInProblem::from(error)
    })?;
    let identity = identity_from_claims(&issuer.config, &claims)?;
    let session = accounts::sign_in_from_issuer(&state.platform, identity, &device_name(headers)).await;
    session.map_err(|refusal| {
        tracing::info!(issuer = issuer.config.id, %refusal, "person of an identity provider refused");
        refusal.into()
    })
}

fn identity_from_claims(
    issuer: &IssuerConfig,
    claims: &Map<String, Value>,
) -> Result<IssuedIdentity, SignInProblem> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
    let user =
        user_from_claims(claims, &issuer.user_claim, issuer.require_email_verified).map_err(|error| {
            tracing::info!(issuer = issuer.id, %error, "person of an identity provider refused");
            SignInProblem::NotAllowed
        })?;
    // A claim that is there counts, whatever the operator trusts.
    let is_trusted = !issuer.require_email_verified && !claims.contains_key("email_verified");
    let is_verified = claims.get("email_verified") == Some(&Value::Bool(true)) || is_trusted;
    Ok(IssuedIdentity {
        issuer_id: issuer.id.clone(),
        issuer: issuer.issuer.clone(),
        subject: text("sub").ok_or(SignInProblem::Failed)?,
        user,
        email: text("email").filter(|_| is_verified),
        name: text("name"),
        access: access_from_claims(&issuer.rules, claims, is_trusted),
    })
}

fn redirect_uri(state: &ServerState, issuer: &str) -> String {
    format!("{}/sign-in/{issuer}/callback", state.base_url())
}

fn authorization_url(
    state: &ServerState,
    endpoint: &str,
    issuer: &IssuerConfig,
    flow: &SignInFlow,
) -> Option<String> {
    let mut url = url::Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &issuer.client_id)
        .append_pair("redirect_uri", &redirect_uri(state, &issuer.id))
        .append_pair("scope", &issuer.scopes.join(" "))
        .append_pair("state", &flow.state)
        .append_pair("nonce", &flow.nonce)
        .append_pair("code_challenge", &BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&flow.verifier)))
        .append_pair("code_challenge_method", "S256");
    Some(url.into())
}

/// Only pages of the console: nobody is led to another site by our redirect.
fn checked_return(path: &str) -> &str {
    let is_ours = path.starts_with(CONSOLE)
        && path.len() <= MAX_RETURN
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours { path } else { CONSOLE }
}

fn random_text(state: &ServerState) -> String {
    let mut bytes = [0; 32];
    state.platform.ids.fill_random(&mut bytes);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn seal_flow(state: &ServerState, flow: &SignInFlow) -> Option<HeaderValue> {
    let now = state.clock.now();
    let until = now.saturating_add(SignedDuration::from_secs(FLOW_S)).unwrap_or(now);
    let sealed = seal(&state.platform, SealPurpose::IssuerSignIn, until, flow).ok()?;
    set_cookie(state, state.cookies.flow_name, &sealed, FLOW_S)
}

fn open_flow(state: &ServerState, headers: &HeaderMap, issuer: &str) -> Option<OpenedState<SignInFlow>> {
    let sealed = cookie_value(headers, state.cookies.flow_name)?;
    let opened = unseal::<SignInFlow>(&state.platform, SealPurpose::IssuerSignIn, sealed)?;
    (opened.data.issuer == issuer).then_some(opened)
}

fn forget_flow(state: &ServerState, mut response: Response) -> Response {
    if let Some(cookie) = set_cookie(state, state.cookies.flow_name, "", 0) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn problem_page(state: &ServerState, problem: SignInProblem) -> Response {
    redirect(&format!("{}/console/sign-in?problem={}", state.base_url(), problem.as_str()))
}

/// A redirect that is not cached and tells the next site nothing.
fn redirect(location: &str) -> Response {
    let Ok(location) = HeaderValue::try_from(location) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers =
        [(header::LOCATION, location), (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))];
    no_store((StatusCode::SEE_OTHER, headers).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_console_are_returned_to() {
        for good in ["/console/", "/console/authorize?request=abc", "/console/people/ada@example.com"] {
            assert_eq!(checked_return(good), good);
        }
        let long = format!("/console/{}", "a".repeat(MAX_RETURN));
        for bad in [
            "",
            "/",
            "/console",
            "//evil.example/console/",
            "https://evil.example/console/",
            "/console/\\evil",
            "/console/ a",
            "/console/\n",
            "/api/me",
            "/consolex/",
            "javascript:alert(1)",
            "/console/\u{e9}",
            &long,
        ] {
            assert_eq!(checked_return(bad), CONSOLE, "{bad:?}");
        }
    }
}
