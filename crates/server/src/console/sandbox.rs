//! The frame in which plugins run in a browser: a page with an opaque origin that can reach only the hosts that the console
//! names when it opens it.
//!
//! The page is sandboxed by its own header, even if it is opened outside of a frame. It has no cookies or storage of this
//! server, and its requests to this server have the origin `null`, which is refused.

use axum::extract::State;
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use toolyard_protocol::plugin::HostPattern;

use super::pages::file_response;
use crate::{doors::rest::HandlerResult, error::RequestError, extract::QueryParams, state::ServerState};

/// Most hosts for one frame.
const MAX_HOSTS: usize = 16;

#[derive(Deserialize)]
pub(super) struct FrameQuery {
    #[serde(default)]
    connect: String,
}

pub(super) async fn frame_page(
    State(state): State<ServerState>,
    QueryParams(query): QueryParams<FrameQuery>,
    headers: HeaderMap,
) -> HandlerResult {
    let policy = content_security_policy(&parse_hosts(&query.connect)?);
    let policy = HeaderValue::try_from(policy)
        .map_err(|_| RequestError::invalid_request("connect: expected host names"))?;
    let mut response = sandbox_file(&state, "sandbox/frame.html", &headers)?;
    response.headers_mut().insert("content-security-policy", policy);
    response.headers_mut().insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    Ok(response)
}

pub(super) async fn frame_script(State(state): State<ServerState>, headers: HeaderMap) -> HandlerResult {
    let mut response = sandbox_file(&state, "sandbox/frame.js", &headers)?;
    // The frame has an opaque origin, so to the browser even its own script is cross-origin.
    response.headers_mut().insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    Ok(response)
}

fn sandbox_file(state: &ServerState, path: &str, headers: &HeaderMap) -> HandlerResult {
    let file = state.console.find(path).ok_or_else(|| {
        RequestError::not_found("sandbox; the web console was not built into this server, see /console/")
    })?;
    let mut response = file_response(file, headers);
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Parses a comma-separated list of hosts. Names only: with an IP address a plugin could reach the user's own network.
fn parse_hosts(text: &str) -> Result<Vec<HostPattern>, RequestError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let invalid = |why: String| RequestError::invalid_request(format!("connect: {why}"));
    if text.split(',').count() > MAX_HOSTS {
        return Err(invalid(format!("at most {MAX_HOSTS} hosts")));
    }
    let host = |text: &str| {
        let host: HostPattern = text.parse().map_err(|error| invalid(format!("{error}")))?;
        if host.is_address() {
            return Err(invalid(format!("`{host}` is an IP address; use a host name")));
        }
        Ok(host)
    };
    text.split(',').map(host).collect()
}

fn content_security_policy(hosts: &[HostPattern]) -> String {
    let connect = match hosts {
        [] => "'none'".to_owned(),
        hosts => hosts.iter().map(|host| format!("https://{host}")).collect::<Vec<_>>().join(" "),
    };
    format!(
        "sandbox allow-scripts; default-src 'none'; script-src 'self' 'unsafe-eval' blob:; worker-src blob:; \
         connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_limited_and_must_be_names() {
        let read = |text: &str| {
            parse_hosts(text).ok().map(|hosts| hosts.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(read(""), Some(vec![]));
        assert_eq!(
            read("api.example.com,*.example.org"),
            Some(vec!["api.example.com".into(), "*.example.org".into()])
        );
        assert_eq!(read(&vec!["a.example"; MAX_HOSTS].join(",")).map(|hosts| hosts.len()), Some(MAX_HOSTS));
        for bad in [
            &vec!["a.example"; MAX_HOSTS + 1].join(","),
            ",",
            "a.example,",
            "a.example, b.example",
            "a.example b.example",
            "a.example;script-src *",
            "https://a.example",
            "a.example:8080",
            "a.example/x",
            "*",
            "*.com",
            "a.*.example",
            "'self'",
            "A.example",
            "127.0.0.1",
            "[::1]",
            "a.example\r\nx: y",
            "bücher.example",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_policy_allows_only_the_named_hosts() {
        assert!(content_security_policy(&[]).contains("; connect-src 'none';"));
        let named = content_security_policy(&parse_hosts("api.example.com,*.example.org").unwrap());
        assert!(named.contains("; connect-src https://api.example.com https://*.example.org;"), "{named}");
    }
}
