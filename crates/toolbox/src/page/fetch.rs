//! Gets the bytes of a page, and says what they are.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, Method, Request, StatusCode};
use http_body_util::Full;
use toolyard_net::{Guard, HttpClient, NetError, OutsideUrl, Response};
use url::Url;

use super::charset::{self, ContentType};
use super::{FetchError, MAX_BODY_BYTES, MAX_REDIRECTS, Page, html};
use crate::text::cut;

const AGENT: &str = concat!("Toolyard/", env!("CARGO_PKG_VERSION"));

/// A page as it came.
pub(super) struct Fetched {
    /// Where it came from in the end.
    pub(super) url: Url,
    kind: Option<ContentType>,
    body: Bytes,
}

/// Asks, and follows where the page leads. Every URL on the way is judged like the first.
pub(super) async fn fetch(text: &str, client: &HttpClient, guard: &Guard) -> Result<Fetched, FetchError> {
    let mut url = OutsideUrl::parse(text.trim(), guard)?;
    for _ in 0..=MAX_REDIRECTS {
        let response = client.send(request(&url)?).await.map_err(refused_or_broken)?;
        let here = full(&url)?;
        if !is_redirect(response.status) {
            return read(here, response).await;
        }
        let to = header(&response.headers, &LOCATION).ok_or(FetchError::BadRedirect)?;
        let to = here.join(to).map_err(|_| FetchError::BadRedirect)?;
        url = OutsideUrl::parse(to.as_str(), guard)
            .map_err(|refused| FetchError::RedirectRefused { to: cut(to.as_str(), 200), refused })?;
    }
    Err(FetchError::TooManyRedirects)
}

fn request(url: &OutsideUrl) -> Result<Request<Full<Bytes>>, FetchError> {
    let request = Request::builder()
        .method(Method::GET)
        .uri(url.uri().clone())
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.1")
        .header(ACCEPT_ENCODING, "identity")
        .body(Full::default());
    request.map_err(|_| FetchError::Failed)
}

/// As it was judged, a slash at the end included.
fn full(url: &OutsideUrl) -> Result<Url, FetchError> {
    Url::parse(&url.uri().to_string()).map_err(|_| FetchError::Failed)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

async fn read(url: Url, response: Response) -> Result<Fetched, FetchError> {
    if !response.status.is_success() {
        return Err(FetchError::Status(response.status.to_string()));
    }
    let encoding = header(&response.headers, &CONTENT_ENCODING).unwrap_or("identity").to_ascii_lowercase();
    if !matches!(encoding.as_str(), "" | "identity") {
        return Err(FetchError::Compressed(cut(&encoding, 40)));
    }
    let kind = header(&response.headers, &CONTENT_TYPE).map(ContentType::read);
    // Before the body is read: a film would be read up to the limit for nothing.
    if let Some(kind) = kind.as_ref().filter(|kind| !kind.is_text()) {
        return Err(FetchError::NotText(cut(&kind.name, 80)));
    }
    let body = response.bytes(MAX_BODY_BYTES).await.map_err(|error| match error {
        NetError::TooLarge { .. } => FetchError::TooLarge,
        other => refused_or_broken(other),
    })?;
    Ok(Fetched { url, kind, body })
}

fn refused_or_broken(error: NetError) -> FetchError {
    match error {
        NetError::Refused(refused) => FetchError::Refused(refused),
        other => FetchError::Net(other),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Fetched {
    /// Makes text of it.
    pub(super) fn into_page(self, is_over: &(dyn Fn() -> bool + Sync)) -> Result<Page, FetchError> {
        let is_html = match &self.kind {
            Some(kind) => kind.is_html(),
            None => self.body.trim_ascii_start().starts_with(b"<"),
        };
        if self.body.contains(&0) && !charset::is_wide(&self.body, self.kind.as_ref()) {
            let name = self.kind.map_or_else(|| "something without a type".to_owned(), |kind| kind.name);
            return Err(FetchError::NotText(cut(&name, 80)));
        }
        let text = charset::decode(&self.body, self.kind.as_ref(), is_html);
        if is_html {
            html::page(&text, &self.url, is_over).ok_or(FetchError::TooSlow)
        } else {
            Ok(Page { title: None, text, links: Vec::new() })
        }
    }
}
