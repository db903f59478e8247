//! Sends the requests of a flow. Each one passes the guard, redirects included; each response and its time are limited.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use tokio::time::timeout;
use toolyard_net::{HttpClient, MAX_URL_LENGTH, UrlRefused};
use toolyard_protocol::mcp::{McpRevision, header::PROTOCOL_VERSION};
use url::Url;

use super::error::{OAuthError, sanitize_foreign_text};

/// Largest response. Metadata of large providers has about 10 KiB.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Time limit for one request, redirects included.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Most redirects of one request.
const MAX_REDIRECTS: usize = 5;
/// Some servers refuse requests without a user agent.
const USER_AGENT_NAME: HeaderValue = HeaderValue::from_static("toolyard");
/// Without it, some token endpoints respond with a form.
const JSON_TYPE: HeaderValue = HeaderValue::from_static("application/json");
const FORM_TYPE: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

pub(super) type OAuthResponse = http::Response<Bytes>;

/// The HTTP client of one step of a flow.
#[derive(Debug)]
pub(super) struct StepHttpClient(HttpClient);

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RedirectRule {
    /// None: the request carries a secret.
    Never,
    /// Those that keep method and body. Others would turn a registration into a GET.
    SameMethod,
    /// Those to the same origin: metadata of another server says nothing about this one.
    SameOrigin,
}

impl StepHttpClient {
    pub(super) fn new(client: HttpClient) -> Self {
        Self(client)
    }

    /// Requests a document that may be metadata.
    pub(super) async fn get_metadata(&self, url: &Url) -> Result<OAuthResponse, OAuthError> {
        let mut request = new_request(Method::GET, url, Bytes::new())?;
        // For servers whose metadata depends on the revision. It is not negotiated yet, and only revisions with a
        // handshake know GET at the upstream itself.
        let revision = HeaderValue::from_static(McpRevision::NEWEST_HANDSHAKE.as_str());
        request.headers_mut().insert(PROTOCOL_VERSION, revision);
        self.send_in_time(request, RedirectRule::SameOrigin).await
    }

    /// Registers a client.
    pub(super) async fn post_json(&self, url: &Url, body: Bytes) -> Result<OAuthResponse, OAuthError> {
        let mut request = new_request(Method::POST, url, body)?;
        request.headers_mut().insert(CONTENT_TYPE, JSON_TYPE);
        self.send_in_time(request, RedirectRule::SameMethod).await
    }

    /// Requests a token, with the credentials of the client in a header if there are any.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: String,
        authorization: Option<HeaderValue>,
    ) -> Result<OAuthResponse, OAuthError> {
        let mut request = new_request(Method::POST, url, Bytes::from(form))?;
        request.headers_mut().insert(CONTENT_TYPE, FORM_TYPE);
        request.headers_mut().extend(authorization.map(|value| (AUTHORIZATION, value)));
        self.send_in_time(request, RedirectRule::Never).await
    }

    async fn send_in_time(
        &self,
        request: Request<Bytes>,
        rule: RedirectRule,
    ) -> Result<OAuthResponse, OAuthError> {
        let sending = self.send_following_redirects(request, rule);
        timeout(REQUEST_TIME, sending).await.unwrap_or(Err(OAuthError::TimedOut(REQUEST_TIME)))
    }

    async fn send_following_redirects(
        &self,
        mut request: Request<Bytes>,
        rule: RedirectRule,
    ) -> Result<OAuthResponse, OAuthError> {
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send_once(&request).await?;
            match next_hop(&request, &answer, rule)? {
                Some(next) => request = redirect_request(request, &next)?,
                None => return Ok(answer),
            }
        }
        Err(OAuthError::BadMetadata(format!("more than {MAX_REDIRECTS} redirects")))
    }

    async fn send_once(&self, request: &Request<Bytes>) -> Result<OAuthResponse, OAuthError> {
        let answer = self.0.send(request.clone().map(Full::new)).await?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = if is_stream(&headers) { Bytes::new() } else { answer.bytes(MAX_ANSWER_BYTES).await? };
        let mut answer = http::Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

fn new_request(method: Method, url: &Url, body: Bytes) -> Result<Request<Bytes>, OAuthError> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = request_uri(url)?;
    request.headers_mut().insert(USER_AGENT, USER_AGENT_NAME);
    request.headers_mut().insert(ACCEPT, JSON_TYPE);
    Ok(request)
}

/// The form of a URL is checked here, its address by the guard when it is dialed.
fn request_uri(url: &Url) -> Result<Uri, OAuthError> {
    if url.as_str().len() > MAX_URL_LENGTH {
        return Err(OAuthError::Refused(UrlRefused::TooLong));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(OAuthError::Refused(UrlRefused::Credentials));
    }
    Uri::try_from(url.as_str()).map_err(|_| OAuthError::BadMetadata("it names an invalid URL".to_owned()))
}

/// The upstream itself is requested for its challenge. One without authorization may respond with an endless event
/// stream.
fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The target of a redirect that is followed.
fn next_hop(
    request: &Request<Bytes>,
    answer: &OAuthResponse,
    rule: RedirectRule,
) -> Result<Option<Url>, OAuthError> {
    let keeps_method =
        matches!(answer.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let followed = match rule {
        RedirectRule::Never => false,
        RedirectRule::SameMethod => keeps_method,
        RedirectRule::SameOrigin => answer.status().is_redirection(),
    };
    let Some(location) = answer.headers().get(LOCATION).filter(|_| followed) else { return Ok(None) };
    let bad = || OAuthError::BadMetadata("a redirect to an invalid URL".to_owned());
    let from = Url::parse(&request.uri().to_string()).map_err(|_| bad())?;
    let next = from.join(location.to_str().map_err(|_| bad())?).map_err(|_| bad())?;
    if rule == RedirectRule::SameOrigin && next.origin() != from.origin() {
        let text = format!("{from} redirects to another server, {next}");
        return Err(OAuthError::BadMetadata(sanitize_foreign_text(&text)));
    }
    Ok(Some(next))
}

fn redirect_request(mut request: Request<Bytes>, next: &Url) -> Result<Request<Bytes>, OAuthError> {
    let before = request.uri().clone();
    let next = request_uri(next)?;
    if before.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
        return Err(OAuthError::Insecure("redirected"));
    }
    if (before.scheme(), before.authority()) != (next.scheme(), next.authority()) {
        request.headers_mut().remove(AUTHORIZATION);
    }
    request.headers_mut().remove(HOST);
    request.headers_mut().remove(CONTENT_LENGTH);
    *request.uri_mut() = next;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(from: &str, to: &str) -> Result<Request<Bytes>, OAuthError> {
        let request = Request::post(from).header(AUTHORIZATION, "Basic sesame").body(Bytes::from("{}"));
        redirect_request(request.unwrap(), &Url::parse(to).unwrap())
    }

    #[test]
    fn a_redirect_keeps_the_request_and_drops_credentials_for_other_servers() {
        let same = after("https://as.example/a", "https://as.example/b").unwrap();
        assert_eq!((same.uri().path(), &same.body()[..]), ("/b", &b"{}"[..]));
        assert!(same.headers().contains_key(AUTHORIZATION));
        for other in ["https://evil.example/b", "https://as.example:444/b"] {
            assert!(!after("https://as.example/a", other).unwrap().headers().contains_key(AUTHORIZATION));
        }
    }

    #[test]
    fn a_redirect_does_not_leave_https() {
        for plain in ["http://as.example/b", "ftp://as.example/b"] {
            let refused = after("https://as.example/a", plain).unwrap_err();
            assert_eq!(refused, OAuthError::Insecure("redirected"), "{plain}");
        }
        assert!(after("http://127.0.0.1/a", "http://127.0.0.1/b").is_ok());
    }

    #[test]
    fn each_kind_of_request_follows_its_own_redirects() {
        let hop = |status: u16, to: &str, rule| {
            let request = Request::get("https://as.example/a/b").body(Bytes::new()).unwrap();
            let answer = http::Response::builder().status(status).header(LOCATION, to);
            let hop = next_hop(&request, &answer.body(Bytes::new()).unwrap(), rule)?;
            Ok::<_, OAuthError>(hop.map(|url| url.to_string()))
        };
        let (here, there) = (Some("https://as.example/a/c".to_owned()), "https://evil.example/c");
        for status in [301, 302, 307, 308] {
            assert_eq!(hop(status, "c", RedirectRule::SameOrigin), Ok(here.clone()));
            let refused = hop(status, there, RedirectRule::SameOrigin);
            assert!(matches!(refused, Err(OAuthError::BadMetadata(_))), "{status}: {refused:?}");
            assert_eq!(hop(status, "c", RedirectRule::Never), Ok(None));
        }
        assert_eq!(hop(302, "c", RedirectRule::SameMethod), Ok(None));
        assert_eq!(hop(307, there, RedirectRule::SameMethod), Ok(Some(there.to_owned())));
    }

    #[test]
    fn urls_with_credentials_and_long_ones_are_refused() {
        let refused = |url: &str| request_uri(&Url::parse(url).unwrap());
        let with_password = refused("https://ada:sesame@as.example/token");
        assert_eq!(with_password, Err(OAuthError::Refused(UrlRefused::Credentials)));
        let long = refused(&format!("https://as.example/{}", "a".repeat(MAX_URL_LENGTH)));
        assert_eq!(long, Err(OAuthError::Refused(UrlRefused::TooLong)));
    }
}
