//! `fetch`: to declared hosts, through the guard of `toolyard-net`. Every URL on the way is judged like the first.

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

use super::{Calls, headers};
use crate::link::Request;

const AGENT: &str = concat!("Toolyard/", env!("CARGO_PKG_VERSION"));

/// What a plugin sees of an answer.
#[derive(Debug, Serialize)]
pub(super) struct Answered {
    url: String,
    redirected: bool,
    status: u16,
    headers: BTreeMap<String, String>,
    /// As UTF-8, whatever it is.
    body: String,
}

/// Why there is no answer. The plugin sees the text.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
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
    #[error("the answer redirects to nowhere")]
    BadRedirect,
    #[error("it redirects more than {0} times")]
    TooManyRedirects(usize),
    #[error("the answer is compressed, although we asked for it plain")]
    Compressed,
    #[error(transparent)]
    Refused(#[from] UrlRefused),
    #[error(transparent)]
    Net(#[from] NetError),
}

/// A request on its way, which redirects may change.
struct Going {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl Calls {
    pub(super) async fn fetch(&self, request: Request) -> Result<Answered, FetchError> {
        let mut going = self.check(request)?;
        for hop in 0..=self.limits.redirects {
            let outside = OutsideUrl::parse(going.url.as_str(), &self.guard)?;
            let response = self.client.send(going.request(&outside)?).await?;
            if is_redirect(response.status) {
                let to = response.headers.get(LOCATION).and_then(|to| to.to_str().ok());
                let to = to.and_then(|to| going.url.join(to).ok()).ok_or(FetchError::BadRedirect)?;
                if !self.may_call(&to) {
                    return Err(FetchError::RedirectNotDeclared(shown(&to)));
                }
                going.follow(to, response.status);
                continue;
            }
            let encoding = response.headers.get(CONTENT_ENCODING).map_or(&b""[..], HeaderValue::as_bytes);
            if !encoding.is_empty() && !encoding.eq_ignore_ascii_case(b"identity") {
                return Err(FetchError::Compressed);
            }
            let (status, headers) = (response.status.as_u16(), headers::visible(&response.headers));
            let body = response.bytes(self.limits.response_bytes).await?;
            let body = String::from_utf8_lossy(&body).into_owned();
            return Ok(Answered { url: going.url.into(), redirected: hop > 0, status, headers, body });
        }
        Err(FetchError::TooManyRedirects(self.limits.redirects))
    }

    fn check(&self, request: Request) -> Result<Going, FetchError> {
        let malformed = |error: url::ParseError| UrlRefused::Malformed(error.to_string());
        let mut url = Url::parse(&request.url).map_err(malformed)?;
        url.set_fragment(None);
        if !self.may_call(&url) {
            return Err(FetchError::NotDeclared(shown(&url)));
        }
        let method = match request.method.as_str() {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            "POST" => Method::POST,
            "PUT" => Method::PUT,
            "PATCH" => Method::PATCH,
            "DELETE" => Method::DELETE,
            other => return Err(FetchError::Method(other.to_owned())),
        };
        if request.body.is_some() && matches!(method, Method::GET | Method::HEAD) {
            return Err(FetchError::BodyNotAllowed);
        }
        let mut headers = headers::sendable(&request.headers)?;
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(Going { url, method, headers, body: request.body.unwrap_or_default().into() })
    }

    fn may_call(&self, url: &Url) -> bool {
        self.permissions.hosts.iter().any(|pattern| pattern.allows(url))
    }
}

impl Going {
    fn request(&self, outside: &OutsideUrl) -> Result<http::Request<Full<Bytes>>, FetchError> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = outside.uri().clone();
        *request.headers_mut() = self.headers.clone();
        Ok(request)
    }

    /// As browsers do it: what was posted is not posted again elsewhere, and a key stays with its host.
    fn follow(&mut self, to: Url, status: StatusCode) {
        let status = status.as_u16();
        let becomes_get = match self.method {
            Method::GET | Method::HEAD => false,
            Method::POST => matches!(status, 301..=303),
            _ => status == 303,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            headers::without_body(&mut self.headers);
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

/// Scheme, host and port: paths may hold secrets, and the text goes to logs.
fn shown(url: &Url) -> String {
    url.origin().ascii_serialization().chars().take(200).collect()
}
