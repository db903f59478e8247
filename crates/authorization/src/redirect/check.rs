//! Which texts are redirect URIs.

use url::{Url, form_urlencoded};

use super::is_loopback_host;

/// Longest redirect URI, in bytes.
pub const MAX_REDIRECT_BYTES: usize = 2 * 1024;

/// Schemes that run code, read local data, reach another protocol or open any program. A browser must never be sent there.
const REFUSED_SCHEMES: [&str; 22] = [
    "about",
    "blob",
    "chrome",
    "content",
    "data",
    "file",
    "filesystem",
    "ftp",
    "ftps",
    "intent",
    "jar",
    "javascript",
    "mailto",
    "resource",
    "search-ms",
    "shell",
    "sms",
    "tel",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];
/// Parameters of an authorization response. A registered URI must not bring its own.
const RESPONSE_PARAMETERS: [&str; 8] =
    ["code", "state", "iss", "error", "error_description", "error_uri", "access_token", "id_token"];

/// Why a text is not an allowed redirect URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// Empty or too long.
    #[error("a redirect URI must have 1 to {MAX_REDIRECT_BYTES} bytes")]
    Length,
    /// A character that is not allowed in a URI.
    #[error("a redirect URI has a character that must be percent-encoded; use ASCII and xn-- host names")]
    Character,
    /// Not absolute, or not a URI at all.
    #[error("a redirect URI is not absolute; write it as https://host/path, or as scheme:/path for an app")]
    NotAbsolute,
    /// A fragment.
    #[error("a redirect URI has a fragment; remove the part from # on")]
    Fragment,
    /// User information.
    #[error("a redirect URI has a user name or an @ before its path; remove it")]
    UserInfo,
    /// A scheme that is never allowed.
    #[error(
        "the scheme of a redirect URI is not allowed; use https, http on a loopback address, or your app's own scheme"
    )]
    Scheme,
    /// http to another machine.
    #[error("a redirect URI with http must be at 127.0.0.1, [::1] or localhost; use https for other hosts")]
    Insecure,
    /// A host or port that browsers write differently.
    #[error("the host or port of a redirect URI is not in its usual form")]
    Host,
    /// `.` or `..` in the path.
    #[error("a redirect URI has a `.` or `..` segment in its path; write the resolved path")]
    DotSegment,
    /// A query with a parameter of the response.
    #[error(
        "the query of a redirect URI has a parameter of the response, such as `code` or `state`; rename it"
    )]
    ResponseParameter,
    /// Not one of the client's.
    #[error(
        "the redirect URI is not registered for this client; it must be the same text as a registered one"
    )]
    NotRegistered,
}

/// A redirect URI, split as text, so that nothing is normalized.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RedirectParts<'a> {
    pub(super) scheme: &'a str,
    /// `None` without `//`.
    pub(super) host: Option<&'a str>,
    pub(super) port: Option<&'a str>,
    /// Path and query.
    pub(super) rest: &'a str,
}

/// Splits a URI without a fragment.
pub(super) fn split_redirect(text: &str) -> RedirectParts<'_> {
    let (scheme, after) = text.split_once(':').unwrap_or(("", text));
    let Some(after) = after.strip_prefix("//") else {
        return RedirectParts { scheme, host: None, port: None, rest: after };
    };
    let (authority, rest) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    RedirectParts { scheme, host: Some(host), port, rest }
}

/// Checks all rules for a redirect URI.
pub(super) fn check_redirect(text: &str) -> Result<(), RedirectError> {
    if text.is_empty() || text.len() > MAX_REDIRECT_BYTES {
        return Err(RedirectError::Length);
    }
    if text.contains('#') {
        return Err(RedirectError::Fragment);
    }
    if !has_uri_characters(text) {
        return Err(RedirectError::Character);
    }
    let url = Url::parse(text).map_err(|_| RedirectError::NotAbsolute)?;
    let parts = split_redirect(text);
    if parts.host.is_some_and(|host| host.contains('@')) || parts.port.is_some_and(|port| port.contains('@'))
    {
        return Err(RedirectError::UserInfo);
    }
    match url.scheme() {
        "https" => check_web_host(&parts, &url)?,
        "http" => {
            check_web_host(&parts, &url)?;
            if !parts.host.is_some_and(is_loopback_host) {
                return Err(RedirectError::Insecure);
            }
        }
        scheme => check_app_scheme(scheme, &parts)?,
    }
    check_path_and_query(parts.rest)
}

/// The characters of RFC 3986. No spaces, quotes, backslashes, controls, and nothing beyond ASCII.
pub(crate) fn has_uri_characters(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&byte);
    let mut parts = text.split('%');
    parts.next().is_some_and(|first| first.bytes().all(is_allowed))
        && parts.all(|part| {
            let is_escape = part.len() >= 2 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
            is_escape && part.bytes().all(is_allowed)
        })
}

/// The text must name the host that a browser would open. Otherwise a host such as `ex%61mple.com`, `0x7f.1` or an
/// authority without slashes would pass as something else than it is.
fn check_web_host(parts: &RedirectParts<'_>, url: &Url) -> Result<(), RedirectError> {
    let host = parts.host.ok_or(RedirectError::NotAbsolute)?;
    if parts.scheme != url.scheme() || !is_plain_host(host) || url.host_str() != Some(host) {
        return Err(RedirectError::Host);
    }
    match parts.port {
        None => Ok(()),
        Some(port) => {
            let number: Option<u16> = port.parse().ok().filter(|number| *number > 0);
            let is_plain = number.is_some_and(|number| number.to_string() == port);
            if is_plain { Ok(()) } else { Err(RedirectError::Host) }
        }
    }
}

/// A name or an address. A wildcard is neither.
fn is_plain_host(host: &str) -> bool {
    let is_name =
        |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match address {
        Some(address) => address.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte)),
        None => !host.is_empty() && is_name(host),
    }
}

/// The scheme of a native app (RFC 8252, 7.1). Without a slash after it, the URI could not have a path: `urn:…:oob`.
fn check_app_scheme(scheme: &str, parts: &RedirectParts<'_>) -> Result<(), RedirectError> {
    // Office and Windows open documents and tools of their own by such schemes.
    let is_of_office = scheme.starts_with("ms-") && !scheme.contains('.');
    if REFUSED_SCHEMES.contains(&scheme) || is_of_office || scheme.len() < 2 {
        return Err(RedirectError::Scheme);
    }
    let has_plain_host = parts.host.is_none_or(|host| host.is_empty() || is_plain_host(host));
    if parts.scheme != scheme || !has_plain_host {
        return Err(RedirectError::Host);
    }
    let has_place = match parts.host {
        Some(host) => !host.is_empty() || parts.rest.starts_with('/'),
        None => parts.rest.starts_with('/'),
    };
    if has_place { Ok(()) } else { Err(RedirectError::NotAbsolute) }
}

fn check_path_and_query(rest: &str) -> Result<(), RedirectError> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    if path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(RedirectError::DotSegment);
    }
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    if names.any(|name| RESPONSE_PARAMETERS.contains(&name.as_ref())) {
        return Err(RedirectError::ResponseParameter);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
