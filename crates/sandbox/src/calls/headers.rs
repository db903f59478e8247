//! Which headers a plugin may set, and which it may see.

use std::collections::BTreeMap;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::fetch::PluginFetchError;

/// Set by us or by the connection, or identifying the sender.
const FORBIDDEN: &[&str] = &[
    "accept-charset",
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "cookie2",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];
const FORBIDDEN_STARTS: &[&str] = &["proxy-", "sec-", "x-forwarded-"];

/// Checks the headers that a plugin sends.
pub(super) fn check_request_headers(
    headers: &BTreeMap<String, String>,
) -> Result<HeaderMap, PluginFetchError> {
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let refused = || PluginFetchError::Header { name: name.chars().take(60).collect() };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let forbidden = FORBIDDEN.contains(&name.as_str())
            || FORBIDDEN_STARTS.iter().any(|start| name.as_str().starts_with(start));
        if forbidden {
            return Err(refused());
        }
        let value = HeaderValue::from_str(value).map_err(|_| refused())?;
        checked.insert(name, value);
    }
    Ok(checked)
}

/// Removes the headers of a body, for a redirect without one.
pub(super) fn remove_body_headers(headers: &mut HeaderMap) {
    headers.remove(CONTENT_TYPE);
    headers.remove(CONTENT_LENGTH);
}

/// The headers of a response as the plugin sees them: no cookies, and text only.
pub(super) fn visible_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    for name in headers.keys().filter(|name| !matches!(name.as_str(), "set-cookie" | "set-cookie2")) {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        seen.insert(name.as_str().to_owned(), values.join(", "));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Result<HeaderMap, PluginFetchError> {
        check_request_headers(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn what_names_us_or_the_connection_cannot_be_set() {
        for name in FORBIDDEN.iter().copied().chain([
            "proxy-authorization",
            "sec-fetch-mode",
            "x-forwarded-for",
            "HOST",
        ]) {
            assert!(one(name, "x").is_err(), "{name}");
        }
        for name in ["authorization", "content-type", "accept", "x-api-key", "user-agent"] {
            assert!(one(name, "x").is_ok(), "{name}");
        }
    }

    #[test]
    fn nothing_can_be_smuggled_in() {
        for (name, value) in
            [("x-a", "1\r\nhost: evil"), ("x a", "1"), ("", "1"), ("x-a:", "1"), ("x-a", "\u{0}")]
        {
            assert!(one(name, value).is_err(), "{name:?} {value:?}");
        }
    }

    #[test]
    fn cookies_are_not_shown() {
        let mut headers = HeaderMap::new();
        headers.append("set-cookie", HeaderValue::from_static("a=b"));
        headers.append("x-a", HeaderValue::from_static("1"));
        headers.append("x-a", HeaderValue::from_static("2"));
        headers.append("x-b", HeaderValue::from_bytes(b"\xff").unwrap());
        let expected = [("x-a", "1, 2"), ("x-b", "\u{fffd}")];
        assert_eq!(
            visible_headers(&headers),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        );
    }
}
