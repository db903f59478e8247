//! `/`, `/console` and everything below it: a file of the console, or its single page, which routes by the URL.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::ConsoleFile;
use crate::{error::RequestError, state::ServerState};

/// The page of the console.
const INDEX: &str = "index.html";
/// Files whose names change with their content.
const HASHED: &str = "assets/";
/// Files of the plugin frame, which have headers of their own and are not served as files of the console.
const SANDBOX: &str = "sandbox/";

/// The console may load its own files and send requests to this server only.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; connect-src 'self'; media-src 'self' blob:; frame-src 'self'; worker-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every response.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", CSP),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(self)"),
];

/// The page on which a user connects a client. Some clients open it in a window and wait for that window to come back to them,
/// so it must not lose its opener.
const CONSENT_PAGE: &str = "authorize";

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const REVALIDATE: &str = "no-cache";

const NOT_BUILT: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Toolyard</title>
<h1>Toolyard is running</h1>
<p>The web console was not built into this server.</p>
<p>In a copy of the sources, <code>make run</code> builds and starts everything. Or build the console by itself and then the
server again:</p>
<pre>cd web/console
npm ci
npm run build</pre>
<p>The API is described in <a href=\"/api/openapi.json\">/api/openapi.json</a>.</p>
</html>
";

pub(super) async fn redirect_to_console() -> Response {
    let location = HeaderValue::from_static("/console/");
    with_security_headers((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

pub(super) async fn console_index(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    index_page(&state, &headers)
}

pub(super) async fn console_file(State(state): State<ServerState>, headers: HeaderMap, uri: Uri) -> Response {
    // Not decoded: names in the table need no decoding, and a raw path cannot trick the lookup.
    let path = uri.path().strip_prefix("/console/").unwrap_or_default();
    let found = state.console.find(path).filter(|file| !file.path.starts_with(SANDBOX));
    match found {
        Some(file) => with_security_headers(file_response(file, &headers)),
        // An older page may still request a script that is gone. HTML in its place would be a confusing error.
        None if path.starts_with(HASHED) || path.starts_with(SANDBOX) => {
            with_security_headers(RequestError::not_found(format_args!("file {path}")).into_response())
        }
        None if path == CONSENT_PAGE => {
            let mut page = index_page(&state, &headers);
            let opener = HeaderValue::from_static("unsafe-none");
            page.headers_mut().insert("cross-origin-opener-policy", opener);
            page
        }
        None => index_page(&state, &headers),
    }
}

fn index_page(state: &ServerState, headers: &HeaderMap) -> Response {
    let page = match state.console.find(INDEX) {
        Some(index) => file_response(index, headers),
        None => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            let cache = HeaderValue::from_static(REVALIDATE);
            ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, cache)], NOT_BUILT).into_response()
        }
    };
    with_security_headers(page)
}

fn with_security_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The file, compressed if the browser accepts that, or 304 if the browser already has it.
pub(super) fn file_response(file: &ConsoleFile, headers: &HeaderMap) -> Response {
    let compressed = file.brotli.filter(|_| accepts_brotli(headers));
    // The compressed form is another representation of the same URL, so it has its own ETag.
    let etag = format!("\"{}{}\"", file.etag, if compressed.is_some() { "-br" } else { "" });
    let cache = if file.path.starts_with(HASHED) { IMMUTABLE } else { REVALIDATE };
    let mut response = if is_not_modified(headers, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static(file.kind);
        ([(header::CONTENT_TYPE, kind)], compressed.unwrap_or(file.bytes)).into_response()
    };
    let is_whole = response.status() == StatusCode::OK;
    let response_headers = response.headers_mut();
    response_headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    response_headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(etag) = HeaderValue::try_from(etag) {
        response_headers.insert(header::ETAG, etag);
    }
    if compressed.is_some() && is_whole {
        response_headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    response
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("br"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map(str::parse::<f32>);
        named && weight.is_none_or(|weight| weight.is_ok_and(|weight| weight > 0.0))
    })
}

fn is_not_modified(headers: &HeaderMap, etag: &str) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn brotli_is_used_only_if_it_is_accepted() {
        for (line, takes) in [
            ("br", true),
            ("gzip, deflate, br, zstd", true),
            ("gzip;q=1.0, BR;q=0.5", true),
            ("br;q=0", false),
            ("br; q=0.000", false),
            ("br;q=nonsense", false),
            ("gzip", false),
            ("brotli", false),
            ("", false),
        ] {
            assert_eq!(accepts_brotli(&headers(header::ACCEPT_ENCODING, line)), takes, "{line}");
        }
        assert!(!accepts_brotli(&HeaderMap::new()));
    }

    #[test]
    fn a_matching_etag_is_not_modified() {
        for (line, has) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
        ] {
            assert_eq!(is_not_modified(&headers(header::IF_NONE_MATCH, line), "\"a\""), has, "{line}");
        }
    }
}
