//! The cookie of a browser session. A browser sends it by itself, so it counts only for requests of this server's own pages.

use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use toolyard_platform::accounts::{self, StartedSession};

use super::{Actor, AuthRefusal, Credential, TokenError};
use crate::{error::RequestError, state::ServerState};

/// Behind HTTPS, the prefix makes browsers refuse the cookie from any other host, path or insecure page.
const SECURE_NAME: &str = "__Host-toolyard";
/// On plain HTTP, which is for this machine, browsers do not accept the prefix.
const PLAIN_NAME: &str = "toolyard";
const SECURE_FLOW_NAME: &str = "__Host-toolyard-sign-in";
const PLAIN_FLOW_NAME: &str = "toolyard-sign-in";

/// How the cookies of this server are named and to which origin they belong. Read once from the public URL: requests without a
/// credential need it too.
#[derive(Debug)]
pub(crate) struct SessionCookies {
    name: &'static str,
    /// The cookie of a sign-in at an identity provider.
    pub(crate) flow_name: &'static str,
    is_secure: bool,
    origin: String,
}

impl SessionCookies {
    pub(crate) fn new(base_url: &str) -> Self {
        let is_secure = base_url.starts_with("https://");
        let (name, flow_name) =
            if is_secure { (SECURE_NAME, SECURE_FLOW_NAME) } else { (PLAIN_NAME, PLAIN_FLOW_NAME) };
        Self { name, flow_name, is_secure, origin: url_origin(base_url) }
    }
}

/// The value of a cookie. None if it is sent twice: someone else may have added one of them.
pub(crate) fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(named, _)| *named == name).map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// The person whose browser sent the request. None without a cookie.
pub(crate) fn actor_by_cookie(
    state: &ServerState,
    headers: &HeaderMap,
) -> Option<Result<Actor, RequestError>> {
    let cookie = cookie_value(headers, state.cookies.name)?;
    Some(match state.tokens.verify_cookie(cookie, state.clock.now()) {
        Ok(_) if !is_own_page(state, headers) => Err(AuthRefusal::Forbidden(
            "a page of another site sent this request with your session; open this server's own page",
        )
        .into()),
        Ok(claims) => {
            Ok(Actor::Person { name: claims.sub.clone(), role: claims.role, credential: claims.credential() })
        }
        Err(TokenError::Disabled) => Err(AuthRefusal::BadCredential(TokenError::Disabled.to_string()).into()),
        Err(_) => Err(AuthRefusal::BadCredential("the session has ended; sign in again".to_owned()).into()),
    })
}

/// The person whose browser returns from another site. Only to end the session that the cookie is of.
pub(crate) fn actor_by_returning_cookie(state: &ServerState, headers: &HeaderMap) -> Option<Actor> {
    let cookie = cookie_value(headers, state.cookies.name)?;
    let claims = state.tokens.verify_cookie(cookie, state.clock.now()).ok()?;
    Some(Actor::Person { name: claims.sub.clone(), role: claims.role, credential: claims.credential() })
}

/// Whether a page of this server sent the request, or the user opened an address. Browsers name the origin of everything that
/// can change something. Origins that the operator allows for tokens do not count: their pages never see a token by accident.
fn is_own_page(state: &ServerState, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("origin") {
        Some(origin) => is_own_origin(state, headers, origin),
        None => text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none")),
    }
}

fn is_own_origin(state: &ServerState, headers: &HeaderMap, origin: &str) -> bool {
    let origin = origin.to_ascii_lowercase();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_here = !state.cookies.is_secure && origin == format!("http://{}", host.to_ascii_lowercase());
    is_here || origin == state.cookies.origin
}

fn url_origin(base: &str) -> String {
    let end = base.find("://").map_or(0, |at| at + 3);
    let path = base[end..].find('/').map_or(base.len(), |at| end + at);
    base[..path].to_ascii_lowercase()
}

/// Sets the cookie of a session.
pub(crate) fn session_cookie(state: &ServerState, session: &StartedSession) -> Option<HeaderValue> {
    let seconds = session.expires_at.as_second() - state.clock.now().as_second();
    set_cookie(state, state.cookies.name, session.cookie.expose(), seconds)
}

/// Removes the cookie of a session.
pub(crate) fn ended_cookie(state: &ServerState) -> Option<HeaderValue> {
    set_cookie(state, state.cookies.name, "", 0)
}

/// A cookie that no script reads and no other site causes to be sent with a change.
pub(crate) fn set_cookie(state: &ServerState, name: &str, value: &str, seconds: i64) -> Option<HeaderValue> {
    let secure = if state.cookies.is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}{secure}", seconds.max(0));
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The next cookie of a session that is in use. None if the request has none, or it is fresh.
pub(super) async fn renewed_cookie(state: &ServerState, headers: &HeaderMap) -> Option<HeaderValue> {
    if headers.contains_key(header::AUTHORIZATION) {
        return None;
    }
    let actor = actor_by_cookie(state, headers)?.ok()?;
    match accounts::renew_session(&state.platform, &actor).await {
        Ok(renewed) => session_cookie(state, &renewed?),
        Err(error) => {
            tracing::error!(%error, "session not renewed");
            None
        }
    }
}

/// When the session of this credential began and ends.
pub(crate) fn session_times(credential: &Credential) -> Option<(Timestamp, Timestamp)> {
    match credential {
        Credential::Session { started_at, ends_at, .. } => {
            Some((Timestamp::from_second(*started_at).ok()?, Timestamp::from_second(*ends_at).ok()?))
        }
        _ => None,
    }
}
