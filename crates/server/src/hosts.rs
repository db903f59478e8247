//! Checks Host and Origin for the whole router, sockets included: a web page must not reach a server on loopback through its
//! own host name (DNS rebinding), nor use the user's network access from another origin.

use std::{borrow::Cow, collections::HashSet, convert::Infallible, future::ready};

use axum::{
    Router,
    response::{IntoResponse as _, Response},
    routing::future::RouteFuture,
};
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Either, Map},
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header, uri::Authority};
use hyper::body::Incoming;
use toolyard_core::LiveValue;
use toolyard_protocol::api::ApiErrorCode;

use crate::{
    cluster::MarkedPaths,
    config::{AuthMode, ServerConfig},
    console::FRAME_SCRIPT,
    doors::oauth::CROSS_ORIGIN_PATHS,
    error::RequestError,
    proxy_headers,
};

/// Who may embed a response.
pub(crate) const RESOURCE_POLICY: http::HeaderName =
    http::HeaderName::from_static("cross-origin-resource-policy");

/// The Origin that browsers send for an opaque origin.
const NO_ORIGIN: &str = "null";

/// Headers that a web page of another origin may send. `*` is for tool parameters that are mirrored in headers; browsers
/// read it as every header but `authorization`, and ignore it for requests with cookies.
const PAGE_HEADERS: &str = "accept, authorization, content-type, idempotency-key, if-none-match, traceparent, x-user-id, \
     mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, *";

/// The hosts and origins that are allowed.
#[derive(Debug)]
pub(crate) struct HostRules {
    hosts: HashSet<String>,
    origins: HashSet<String>,
    public_origin: Option<String>,
    /// Dev mode: a proxy would extend the trust in this machine to everyone.
    refuses_proxied: bool,
}

/// Where a request comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// Not a web page, or a page of this server.
    SameOrigin,
    /// A web page of an origin that the operator allows, or a path that is open to all. Its browser needs CORS headers.
    CrossOrigin(HeaderValue),
}

impl HostRules {
    pub(crate) fn new(config: &ServerConfig, mode: AuthMode) -> Self {
        let mut hosts: HashSet<String> = config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        if config.listen.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        } else if !config.listen.ip().is_unspecified() {
            hosts.insert(match config.listen.ip() {
                std::net::IpAddr::V4(ip) => ip.to_string(),
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let public = config.public_url.as_deref().and_then(|url| url.parse::<http::Uri>().ok());
        hosts.extend(public.as_ref().and_then(|url| url.host()).map(str::to_ascii_lowercase));
        let origins = config.origins.iter().map(|origin| normalize_origin(origin)).collect();
        let public_origin = public.as_ref().and_then(origin_of);
        Self { hosts, origins, public_origin, refuses_proxied: mode == AuthMode::Dev }
    }

    /// Checks the host, the origin if there is one, and that dev mode is not used through a proxy.
    pub(crate) fn check_request(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<RequestOrigin, Cow<'static, str>> {
        let from = self.check_host_and_origin(headers, uri)?;
        match proxy_headers::proxy_header(headers).filter(|_| self.refuses_proxied) {
            Some(header) => Err(proxy_headers::proxy_refusal_message(header).into()),
            None => Ok(from),
        }
    }

    fn check_host_and_origin(&self, headers: &HeaderMap, uri: &Uri) -> Result<RequestOrigin, &'static str> {
        let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = match (named, uri.authority()) {
            (Some(host), _) => host.parse::<Authority>().map_err(|_| "the Host header is malformed")?,
            (None, Some(authority)) => authority.clone(),
            (None, None) => return Err("the Host header is missing"),
        };
        if !self.hosts.contains(&host.host().to_ascii_lowercase()) {
            return Err("this Host is not allowed; the operator can add it to server.hosts");
        }
        let Some(named) = headers.get(header::ORIGIN) else { return Ok(RequestOrigin::SameOrigin) };
        let origin = named.to_str().map(normalize_origin).unwrap_or_default();
        // A page of this server. Only the public URL tells which scheme a proxy in front of us uses.
        let own = origin == format!("http://{}", host.as_str().to_ascii_lowercase());
        if own || self.public_origin.as_ref() == Some(&origin) {
            return Ok(RequestOrigin::SameOrigin);
        }
        if self.origins.contains(&origin) {
            return Ok(RequestOrigin::CrossOrigin(named.clone()));
        }
        if is_open_to_all_origins(uri.path()) {
            return Ok(RequestOrigin::CrossOrigin(named.clone()));
        }
        // The plugin frame has an opaque origin, which browsers send when it loads its script. The script is the same for
        // everyone.
        if origin == NO_ORIGIN && uri.path() == FRAME_SCRIPT {
            return Ok(RequestOrigin::SameOrigin);
        }
        Err("this Origin is not allowed; the operator can add it to server.origins")
    }
}

/// Metadata and token endpoints of OAuth: clients in a browser need them, and a browser adds no credential to such a request.
fn is_open_to_all_origins(path: &str) -> bool {
    CROSS_ORIGIN_PATHS.contains(&path) || path.starts_with("/.well-known/")
}

/// `https://tools.example.com`, without the path.
fn origin_of(url: &Uri) -> Option<String> {
    let (scheme, authority) = (url.scheme_str()?, url.authority()?);
    Some(normalize_origin(&format!("{scheme}://{authority}")))
}

fn normalize_origin(origin: &str) -> String {
    origin.trim_end_matches('/').to_ascii_lowercase()
}

/// The router behind the check. A plain service instead of a layer, because it runs for every request and should not allocate.
#[derive(Clone)]
pub(crate) struct HostCheckedRouter {
    hosts: LiveValue<HostRules>,
    marked: MarkedPaths,
    router: Router,
}

impl HostCheckedRouter {
    pub(crate) fn new(hosts: LiveValue<HostRules>, marked: MarkedPaths, router: Router) -> Self {
        Self { hosts, marked, router }
    }
}

impl hyper::service::Service<Request<Incoming>> for HostCheckedRouter {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<
        Map<RouteFuture<Infallible>, ResponseFinisher>,
        Map<BoxFuture<'static, Result<Response, Infallible>>, ResponseFinisher>,
    >;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.marked.unmark(&mut request);
        match self.hosts.load().check_request(request.headers(), request.uri()) {
            Ok(RequestOrigin::SameOrigin) => {
                let response = tower_service::Service::call(&mut self.router.clone(), request);
                Either::Left(response.map(with_safe_headers as ResponseFinisher))
            }
            Ok(RequestOrigin::CrossOrigin(origin)) => {
                let response = respond_cross_origin(self.router.clone(), origin, request).boxed();
                Either::Right(response.map(with_safe_headers as ResponseFinisher))
            }
            Err(why) => {
                let refused =
                    ready(Ok(RequestError::new(ApiErrorCode::Forbidden, why).into_response())).boxed();
                Either::Right(refused.map(with_safe_headers as ResponseFinisher))
            }
        }
    }
}

/// Adds headers to every response.
type ResponseFinisher = fn(Result<Response, Infallible>) -> Result<Response, Infallible>;

/// Browsers must not guess the content type, and pages of other origins must not embed a response unless its handler allows it.
fn with_safe_headers(response: Result<Response, Infallible>) -> Result<Response, Infallible> {
    response.map(|mut response| {
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(RESOURCE_POLICY).or_insert(HeaderValue::from_static("same-origin"));
        response
    })
}

/// The response to a web page of another origin, with CORS headers.
async fn respond_cross_origin(
    mut router: Router,
    origin: HeaderValue,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_preflight {
        let mut allowed = StatusCode::NO_CONTENT.into_response();
        let headers = allowed.headers_mut();
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"),
        );
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(PAGE_HEADERS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        allowed
    } else {
        tower_service::Service::call(&mut router, request).await?
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("etag, retry-after, x-toolyard-call-id, mcp-session-id, www-authenticate"),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &ServerConfig, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        HostRules::new(config, AuthMode::Token)
            .check_request(&headers, &Uri::from_static("/api/tools"))
            .is_ok()
    }

    #[test]
    fn a_frame_without_an_origin_gets_its_script_and_nothing_else() {
        let headers = |origin| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("localhost:8787"));
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            headers
        };
        let hosts = HostRules::new(&ServerConfig::default(), AuthMode::Token);
        let gets = |origin, path| hosts.check_request(&headers(origin), &Uri::from_static(path)).is_ok();
        assert!(gets("null", FRAME_SCRIPT));
        assert!(!gets("https://evil.example", FRAME_SCRIPT) && !gets("null", "/sandbox/frame"));
        assert!(!gets("null", "/api/tools") && !gets("null", "/sandbox/frame.js/../../api/tools"));
    }

    #[test]
    fn only_known_hosts_and_origins_are_allowed() {
        let config = ServerConfig {
            public_url: Some("https://tools.example.com".into()),
            origins: vec!["https://console.example.com/".into()],
            ..ServerConfig::default()
        };
        assert!(check(&config, "127.0.0.1:8787", None));
        assert!(check(&config, "LOCALHOST:1", None));
        assert!(check(&config, "[::1]:8787", None));
        assert!(check(&config, "tools.example.com", Some("https://tools.example.com")));
        assert!(check(&config, "localhost:8787", Some("http://localhost:8787")));
        assert!(check(&config, "localhost:8787", Some("https://console.example.com")));
        assert!(!check(&config, "evil.example", None));
        assert!(!check(&config, "localhost:8787", Some("https://evil.example")));
        assert!(!check(&config, "localhost:8787", Some("http://localhost:9999")));
        assert!(!check(&config, "localhost:8787", Some("null")));
        assert!(!check(&config, "localhost@evil.example", None));
        // An empty origin is never ours, with a public URL or without.
        assert!(!check(&config, "localhost:8787", Some("")));
        assert!(!check(&ServerConfig::default(), "localhost:8787", Some("")));
    }
}
