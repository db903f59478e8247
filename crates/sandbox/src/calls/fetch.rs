//! `fetch`: to declared hosts, through the guard of `toolyard-net`. Every redirect is checked like the first URL.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderMap, HeaderValue, LOCATION, USER_AGENT,
};
use http::{Method, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use toolyard_net::{NetError, OutsideUrl, UrlRefused};
use url::Url;

use super::{HostCaller, headers};
use crate::link::FetchRequest;

const AGENT: &str = concat!("Toolyard/", env!("CARGO_PKG_VERSION"));

/// A response as the plugin sees it.
#[derive(Debug, Serialize)]
pub(super) struct FetchResponse {
    url: String,
    redirected: bool,
    status: u16,
    headers: BTreeMap<String, String>,
    /// Decoded as UTF-8, whatever it is.
    body: String,
}

/// Why a fetch failed. The plugin sees the text.
#[derive(Debug, thiserror::Error)]
pub(super) enum PluginFetchError {
    #[error(
        "`{0}` is not among the hosts that this code may call; declare it under the permission `network`"
    )]
    NotDeclared(String),
    #[error("it leads to `{0}`, which is not among the hosts that this code may call")]
    RedirectNotDeclared(String),
    #[error("the method `{0}` cannot be used; use GET, HEAD, POST, PUT, PATCH or DELETE")]
    Method(String),
    #[error("a GET or HEAD request has no body")]
    BodyNotAllowed,
    #[error("the header `{name}` cannot be set to this")]
    Header { name: String },
    #[error("the response redirects to an invalid URL")]
    BadRedirect,
    #[error("it redirects more than {0} times")]
    TooManyRedirects(usize),
    #[error("the response is compressed, although it was requested uncompressed")]
    Compressed,
    #[error(transparent)]
    Refused(#[from] UrlRefused),
    #[error(transparent)]
    Net(#[from] NetError),
}

/// A request, which redirects may change.
struct OutgoingFetch {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl HostCaller {
    pub(super) async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, PluginFetchError> {
        let mut going = self.prepare_fetch(request)?;
        for hop in 0..=self.limits.redirects {
            let outside = OutsideUrl::parse(going.url.as_str(), &self.guard)?;
            let response = self.client.send(going.to_http_request(&outside)?).await?;
            if is_redirect(response.status) {
                let to = response.headers.get(LOCATION).and_then(|to| to.to_str().ok());
                let to = to.and_then(|to| going.url.join(to).ok()).ok_or(PluginFetchError::BadRedirect)?;
                if !self.may_call(&to) {
                    return Err(PluginFetchError::RedirectNotDeclared(display_origin(&to)));
                }
                going.follow_redirect(to, response.status);
                continue;
            }
            let encoding = response.headers.get(CONTENT_ENCODING).map_or(&b""[..], HeaderValue::as_bytes);
            if !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity") {
                return Err(PluginFetchError::Compressed);
            }
            let (status, headers) = (response.status.as_u16(), headers::visible_headers(&response.headers));
            let body = response.bytes(self.limits.response_bytes).await?;
            let body = String::from_utf8_lossy(&body).into_owned();
            return Ok(FetchResponse { url: going.url.into(), redirected: hop > 0, status, headers, body });
        }
        Err(PluginFetchError::TooManyRedirects(self.limits.redirects))
    }

    fn prepare_fetch(&self, request: FetchRequest) -> Result<OutgoingFetch, PluginFetchError> {
        let malformed = |error: url::ParseError| UrlRefused::Malformed(error.to_string());
        let mut url = Url::parse(&request.url).map_err(malformed)?;
        url.set_fragment(None);
        if !self.may_call(&url) {
            return Err(PluginFetchError::NotDeclared(display_origin(&url)));
        }
        let method = match request.method.as_str() {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            "POST" => Method::POST,
            "PUT" => Method::PUT,
            "PATCH" => Method::PATCH,
            "DELETE" => Method::DELETE,
            other => return Err(PluginFetchError::Method(other.to_owned())),
        };
        if request.body.is_some() && matches!(method, Method::GET | Method::HEAD) {
            return Err(PluginFetchError::BodyNotAllowed);
        }
        let mut headers = headers::check_request_headers(&request.headers)?;
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(OutgoingFetch { url, method, headers, body: request.body.unwrap_or_default().into() })
    }

    fn may_call(&self, url: &Url) -> bool {
        self.permissions.hosts.iter().any(|pattern| pattern.is_match(url))
    }
}

impl OutgoingFetch {
    fn to_http_request(&self, outside: &OutsideUrl) -> Result<http::Request<Full<Bytes>>, PluginFetchError> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = outside.uri().clone();
        *request.headers_mut() = self.headers.clone();
        Ok(request)
    }

    /// As browsers do: a POST is not repeated elsewhere, and credentials stay with their host.
    fn follow_redirect(&mut self, to: Url, status: StatusCode) {
        let status = status.as_u16();
        let becomes_get = match self.method {
            Method::GET | Method::HEAD => false,
            Method::POST => matches!(status, 301..=303),
            _ => status == 303,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            headers::remove_body_headers(&mut self.headers);
        }
        if to.origin() != self.url.origin() {
            self.headers.remove(AUTHORIZATION);
        }
        self.url = to;
        self.url.set_fragment(None);
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Scheme, host and port only: paths may contain secrets, and the text goes to logs.
fn display_origin(url: &Url) -> String {
    url.origin().ascii_serialization().chars().take(200).collect()
}
