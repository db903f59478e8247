//! Users authorize upstreams: a link to open, and the page that the browser returns to.
//!
//! The user decides on another site, with another account. An attacker must not be able to make someone else authorize for
//! them. So the browser that requested the link has a cookie and completes at once; any other browser shows which account
//! this is for, and the user must confirm.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Serialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;
use toolyard_net::url_host;
use toolyard_platform::Platform;
use toolyard_platform::upstreams;
use toolyard_protocol::{PackageName, UserId, api::ApiErrorCode, upstream::upstream_id};
use toolyard_sources::UpstreamSource;
use toolyard_sources::upstream::{AuthorizeError, OAuthCallback};
use url::form_urlencoded;

use super::{HandlerResult, WaitQuery, no_content, ok_json};
use crate::{
    auth::TargetUser,
    body::FormBytes,
    cluster::RouteHome,
    error::{RequestError, json_response},
    extract::{PathParams, QueryParams},
    html_page::{escape_html, html_page},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// The cookie of the browser that requested the link.
const COOKIE: &str = "toolyard-authorize";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/upstreams/{id}/authorize",
            RouteAccess::User,
            "A link that the user opens to authorize the upstream",
            authorize_upstream,
        )
        .response_body::<AuthorizationLink>(),
        Route::new(
            Method::GET,
            "/api/upstreams/{id}/authorize",
            RouteAccess::Approver,
            "Whether the user has authorized the upstream",
            get_authorization,
        )
        .query(&[("wait", "Seconds to wait for it, at most 60. Default: 0")])
        .response_body::<AuthorizationState>(),
        Route::audited(
            Method::DELETE,
            "/api/upstreams/{id}/authorize",
            RouteAccess::User,
            "Removes the user's authorization",
            forget_authorization,
        )
        .success_status(204),
        Route::new(
            Method::GET,
            "/oauth/callback",
            RouteAccess::Public,
            "Where the browser returns after an authorization",
            oauth_callback,
        )
        .runs_at(RouteHome::Callback),
        Route::new(
            Method::POST,
            "/oauth/callback",
            RouteAccess::Public,
            "The same, after the user confirmed on the page",
            confirm_authorization,
        )
        .runs_at(RouteHome::Callback),
        Route::new(
            Method::GET,
            "/oauth/client.json",
            RouteAccess::Public,
            "OAuth client metadata of this server, for authorization servers",
            client_metadata,
        ),
    ]
}

/// A link to authorize an upstream.
#[derive(Serialize, schemars::JsonSchema)]
struct AuthorizationLink {
    /// Open it in a browser. Valid for a few minutes.
    link: String,
}

/// Whether a user has authorized an upstream.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AuthorizationState {
    /// Its package.
    package_name: PackageName,
    /// Its name for people.
    name: String,
    /// The host of its address.
    host: String,
    /// Whether calls can use it with the user's access. The upstream may still reject it.
    authorized: bool,
}

async fn get_authorization(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<WaitQuery>,
) -> HandlerResult {
    let upstream = upstreams::find_for_user(&state.platform, &who.user, &id).await?;
    let wait = query.longest_wait();
    // A waiting request is a stream of the user.
    let slot = if wait.is_zero() { None } else { state.process.streams.reserve(who.user.as_str()).ok() };
    let deadline = Instant::now() + if slot.is_some() { wait } else { Duration::ZERO };
    let waiting = state.upstreams.wait_for_authorization(&upstream.package, &who.user, deadline);
    let authorized = tokio::select! {
        authorized = waiting => authorized.map_err(to_failure)?,
        () = state.lifecycle.stopping.cancelled() => false,
    };
    let details = upstream.record.details;
    ok_json(&AuthorizationState {
        name: if details.name.is_empty() { upstream.package.to_string() } else { details.name },
        host: details.url.as_deref().and_then(url_host).unwrap_or_default(),
        package_name: upstream.package,
        authorized,
    })
}

async fn authorize_upstream(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let upstream = upstreams::find_for_user(&state.platform, &who.user, &id).await?;
    let started = state
        .upstreams
        .begin_authorization(&upstream.package, &upstream.record, &who.user)
        .await
        .map_err(to_failure)?;
    let secure = if state.base_url().starts_with("https:") { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={}; Path=/oauth/callback; HttpOnly; SameSite=Lax; Max-Age=600{secure}",
        state_fingerprint(&started.state)
    );
    let mut response = json_response(StatusCode::OK, &AuthorizationLink { link: started.link });
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

async fn forget_authorization(
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    upstreams::forget_authorization(&platform, &who.into(), &id).await?;
    no_content()
}

fn to_failure(error: AuthorizeError) -> RequestError {
    match error {
        AuthorizeError::Store(error) => error.into(),
        AuthorizeError::NotWanted => RequestError::invalid_request(error.to_string()),
        AuthorizeError::Spec(_) | AuthorizeError::Flow(_) => {
            RequestError::new(ApiErrorCode::Unavailable, error.to_string())
        }
    }
}

async fn oauth_callback(
    State(state): State<ServerState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let callback = OAuthCallback::from_query(&query);
    let flow = callback.state.as_deref().and_then(|name| state.upstreams.find_flow(name));
    let (Some((user, package)), Some(name)) = (flow, &callback.state) else {
        return html_page(
            StatusCode::BAD_REQUEST,
            "This authorization is unknown or already finished. Start again.",
            "",
        );
    };
    if carries_cookie(&headers, name) {
        return complete_authorization(&state, &user, callback).await;
    }
    let message = format!(
        "Let the Toolyard account <b>{}</b> use <b>{}</b> with the access that you just granted? Continue only if that account is yours.",
        escape_html(user.as_str()),
        escape_html(upstream_id(&package))
    );
    let form = format!(
        "<form method=\"post\" action=\"/oauth/callback?state={}\"><input type=\"hidden\" name=\"query\" value=\"{}\"><button>Continue</button></form>",
        escape_html(&form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>()),
        escape_html(&query)
    );
    html_page(StatusCode::OK, &message, &form)
}

/// The button of the page. Forms of other origins are refused before they get here.
async fn confirm_authorization(State(state): State<ServerState>, FormBytes(body): FormBytes) -> Response {
    let callback = OAuthCallback::from_query(&form_field(&body, "query"));
    let flow = callback.state.as_deref().and_then(|name| state.upstreams.find_flow(name));
    match flow {
        Some((user, _)) => complete_authorization(&state, &user, callback).await,
        None => html_page(
            StatusCode::BAD_REQUEST,
            "This authorization is unknown or already finished. Start again.",
            "",
        ),
    }
}

async fn complete_authorization(state: &ServerState, user: &UserId, callback: OAuthCallback) -> Response {
    match state.upstreams.complete_authorization(user, callback).await {
        Ok(package) => {
            let message = format!(
                "Done: you can use {} now. Calls that waited for it continue. You can close this page.",
                escape_html(upstream_id(&package))
            );
            html_page(StatusCode::OK, &message, "")
        }
        Err(error) => {
            tracing::warn!(%user, %error, "upstream authorization failed");
            html_page(StatusCode::BAD_REQUEST, &escape_html(&error.to_string()), "")
        }
    }
}

async fn client_metadata(State(upstreams): State<Arc<UpstreamSource>>) -> Response {
    json_response(StatusCode::OK, &upstreams.client_metadata())
}

/// The value of the cookie: identifies a flow without revealing its state.
fn state_fingerprint(state: &str) -> String {
    hex::encode(Sha256::digest(state.as_bytes()))
}

fn carries_cookie(headers: &HeaderMap, state: &str) -> bool {
    let wanted = state_fingerprint(state);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .any(|(name, value)| name == COOKIE && bool::from(value.as_bytes().ct_eq(wanted.as_bytes())))
}

/// A field of a form.
fn form_field(body: &[u8], name: &str) -> String {
    let mut fields = url::form_urlencoded::parse(body);
    fields.find(|(found, _)| found == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}
