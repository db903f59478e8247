//! Sends the requests of a flow. Each one passes the guard, redirects included; each response and its time are limited.
//! One instance serves one step of a flow and records why it failed, because rmcp reports only texts.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body_util::Full;
use parking_lot::{Mutex, MutexGuard};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use serde::Deserialize;
use tokio::time::timeout;
use toolyard_net::HttpClient;
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

pub(super) type OAuthResponse = http::Response<Vec<u8>>;

/// The HTTP client of one step.
#[derive(Debug)]
pub(super) struct StepHttpClient {
    client: HttpClient,
    trouble: Mutex<StepFailure>,
}

#[derive(Debug, Default)]
struct StepFailure {
    /// The first request without a response.
    failed: Option<OAuthError>,
    /// The error code of the last response, such as `invalid_grant`.
    code: Option<String>,
}

/// The error body of authorization servers.
#[derive(Deserialize)]
struct OAuthErrorBody {
    error: String,
}

impl StepHttpClient {
    pub(super) fn new(client: HttpClient) -> Arc<Self> {
        Arc::new(Self { client, trouble: Mutex::default() })
    }

    /// Why a request got no response, if one failed.
    pub(super) fn request_failure(&self) -> Option<OAuthError> {
        self.lock_failure().failed.clone()
    }

    /// The error code of the authorization server, if it sent one.
    pub(super) fn error_code(&self) -> Option<String> {
        self.lock_failure().code.clone()
    }

    fn lock_failure(&self) -> MutexGuard<'_, StepFailure> {
        self.trouble.lock()
    }

    pub(super) async fn send_following_redirects(
        &self,
        request: Request<Vec<u8>>,
        policy: OAuthHttpRedirectPolicy,
    ) -> Result<OAuthResponse, OAuthError> {
        let mut request = with_user_agent(request);
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send_once(&request).await?;
            let follows = policy == OAuthHttpRedirectPolicy::Follow;
            match next_hop(&request, &answer).filter(|_| follows) {
                Some(next) => request = redirect_request(request, &next)?,
                None => return Ok(answer),
            }
        }
        Err(OAuthError::BadMetadata(format!("more than {MAX_REDIRECTS} redirects")))
    }

    async fn send_once(&self, request: &Request<Bytes>) -> Result<OAuthResponse, OAuthError> {
        self.lock_failure().code = None;
        let answer = self.client.send(request.clone().map(Full::new)).await?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = if is_stream(&headers) { Bytes::new() } else { answer.bytes(MAX_ANSWER_BYTES).await? };
        let refusal =
            status.is_client_error().then(|| serde_json::from_slice::<OAuthErrorBody>(&body).ok()).flatten();
        self.lock_failure().code = refusal.map(|refusal| sanitize_foreign_text(&refusal.error));
        let mut answer = http::Response::new(body.to_vec());
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

impl OAuthHttpClient for StepHttpClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let OAuthHttpRequest { request, redirect_policy, .. } = request;
            let answer =
                match timeout(REQUEST_TIME, self.send_following_redirects(request, redirect_policy)).await {
                    Ok(answer) => answer,
                    Err(_) => Err(OAuthError::TimedOut(REQUEST_TIME)),
                };
            answer.map_err(|error| {
                self.lock_failure().failed.get_or_insert_with(|| error.clone());
                error.into()
            })
        })
    }
}

fn with_user_agent(request: Request<Vec<u8>>) -> Request<Bytes> {
    let mut request = request.map(Bytes::from);
    request.headers_mut().entry(USER_AGENT).or_insert(USER_AGENT_NAME);
    request
}

/// rmcp requests a challenge from the upstream itself. An upstream without authorization may respond with an endless
/// event stream.
fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The target of a redirect that keeps method and body. Other redirects would turn a registration into a GET.
fn next_hop(request: &Request<Bytes>, answer: &OAuthResponse) -> Option<Url> {
    let keeps = matches!(answer.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = answer.headers().get(LOCATION).filter(|_| keeps)?;
    Url::parse(&request.uri().to_string()).ok()?.join(location.to_str().ok()?).ok()
}

fn redirect_request(mut request: Request<Bytes>, next: &Url) -> Result<Request<Bytes>, OAuthError> {
    let before = request.uri().clone();
    let next = Uri::try_from(next.as_str())
        .map_err(|_| OAuthError::BadMetadata("a redirect to an invalid URL".into()))?;
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
}
