//! `/`, `/console` and all below it: a file of the console, or its one page, which finds its way by the URL.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::ConsoleFile;
use crate::{error::RequestError, state::ServerState};

/// Where the page of the console is.
const INDEX: &str = "index.html";
/// Files whose names change with their content.
const HASHED: &str = "assets/";
/// Files with headers of their own, which are not for the console's.
const SANDBOX: &str = "sandbox/";

/// What the console may load and do: its own files, this server, and nothing of anybody else.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; connect-src 'self'; media-src 'self' blob:; frame-src 'self'; worker-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// On every answer.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", CSP),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(self)"),
];

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_FIRST: &str = "no-cache";

const NOT_BUILT: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Toolyard</title>
<h1>Toolyard runs</h1>
<p>The web console was not built into this server.</p>
<p>From a copy of the sources, <code>make run</code> builds and starts all of it. Or build the console by itself and then the
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
    // As it came: names in the table need no decoding, so there is nothing to trick.
    let path = uri.path().strip_prefix("/console/").unwrap_or_default();
    let found = state.console.find(path).filter(|file| !file.path.starts_with(SANDBOX));
    match found {
        Some(file) => with_security_headers(file_response(file, &headers)),
        // A page of HTML in place of a script that an older page still wants would be an error nobody understands.
        None if path.starts_with(HASHED) || path.starts_with(SANDBOX) => {
            with_security_headers(RequestError::not_found(format_args!("file {path}")).into_response())
        }
        None => index_page(&state, &headers),
    }
}

fn index_page(state: &ServerState, headers: &HeaderMap) -> Response {
    let page = match state.console.find(INDEX) {
        Some(index) => file_response(index, headers),
        None => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            let cache = HeaderValue::from_static(ASK_FIRST);
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

/// The file, packed where the browser takes it so, or nothing where the browser has it already.
pub(super) fn file_response(file: &ConsoleFile, headers: &HeaderMap) -> Response {
    let packed = file.brotli.filter(|_| accepts_brotli(headers));
    // Packed is another text under the same URL, so it has a tag of its own.
    let etag = format!("\"{}{}\"", file.etag, if packed.is_some() { "-br" } else { "" });
    let cache = if file.path.starts_with(HASHED) { FOR_EVER } else { ASK_FIRST };
    let mut response = if is_not_modified(headers, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static(file.kind);
        ([(header::CONTENT_TYPE, kind)], packed.unwrap_or(file.bytes)).into_response()
    };
    let is_whole = response.status() == StatusCode::OK;
    let answered = response.headers_mut();
    answered.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    answered.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(etag) = HeaderValue::try_from(etag) {
        answered.insert(header::ETAG, etag);
    }
    if packed.is_some() && is_whole {
        answered.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
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
    fn brotli_is_taken_where_it_is_named_and_not_refused() {
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
    fn a_browser_may_have_it_already() {
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
