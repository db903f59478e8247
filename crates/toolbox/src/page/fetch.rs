//! Fetches a page, and determines its type.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, Method, Request, StatusCode};
use http_body_util::Full;
use toolyard_net::{Guard, HttpClient, HttpResponse, NetError, OutsideUrl};
use url::Url;

use super::charset::{self, ContentType};
use super::{FetchPageError, MAX_BODY_BYTES, MAX_REDIRECTS, TextPage, html};
use crate::text::truncate_text;

const AGENT: &str = concat!("Toolyard/", env!("CARGO_PKG_VERSION"));

/// A page as it was received.
pub(super) struct FetchedPage {
    /// The final URL, after redirects.
    pub(super) url: Url,
    kind: Option<ContentType>,
    body: Bytes,
}

/// Fetches a page and follows redirects. Every redirect is checked like the first URL.
pub(super) async fn fetch_following_redirects(
    text: &str,
    client: &HttpClient,
    guard: &Guard,
) -> Result<FetchedPage, FetchPageError> {
    let mut url = OutsideUrl::parse(text.trim(), guard)?;
    for _ in 0..=MAX_REDIRECTS {
        let response = client.send(page_request(&url)?).await.map_err(to_page_error)?;
        let here = full_url(&url)?;
        if !is_redirect(response.status) {
            return read_body(here, response).await;
        }
        let to = header_str(&response.headers, &LOCATION).ok_or(FetchPageError::BadRedirect)?;
        let to = here.join(to).map_err(|_| FetchPageError::BadRedirect)?;
        url = OutsideUrl::parse(to.as_str(), guard).map_err(|refused| FetchPageError::RedirectRefused {
            to: truncate_text(to.as_str(), 200),
            refused,
        })?;
    }
    Err(FetchPageError::TooManyRedirects)
}

fn page_request(url: &OutsideUrl) -> Result<Request<Full<Bytes>>, FetchPageError> {
    let request = Request::builder()
        .method(Method::GET)
        .uri(url.uri().clone())
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.1")
        .header(ACCEPT_ENCODING, "identity")
        .body(Full::default());
    request.map_err(|_| FetchPageError::Failed)
}

/// The checked URL, trailing slash included.
fn full_url(url: &OutsideUrl) -> Result<Url, FetchPageError> {
    Url::parse(&url.uri().to_string()).map_err(|_| FetchPageError::Failed)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

async fn read_body(url: Url, response: HttpResponse) -> Result<FetchedPage, FetchPageError> {
    if !response.status.is_success() {
        return Err(FetchPageError::Status(response.status.to_string()));
    }
    let encoding =
        header_str(&response.headers, &CONTENT_ENCODING).unwrap_or("identity").to_ascii_lowercase();
    if !matches!(encoding.as_str(), "" | "identity") {
        return Err(FetchPageError::Compressed(truncate_text(&encoding, 40)));
    }
    let kind = header_str(&response.headers, &CONTENT_TYPE).map(ContentType::parse);
    // Before the body is read: a video would be read up to the limit for nothing.
    if let Some(kind) = kind.as_ref().filter(|kind| !kind.is_text()) {
        return Err(FetchPageError::NotText(truncate_text(&kind.name, 80)));
    }
    let body = response.bytes(MAX_BODY_BYTES).await.map_err(|error| match error {
        NetError::TooLarge { .. } => FetchPageError::TooLarge,
        other => to_page_error(other),
    })?;
    Ok(FetchedPage { url, kind, body })
}

fn to_page_error(error: NetError) -> FetchPageError {
    match error {
        NetError::Refused(refused) => FetchPageError::Refused(refused),
        other => FetchPageError::Net(other),
    }
}

fn header_str<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl FetchedPage {
    /// Converts the page to text.
    pub(super) fn into_page(self, is_over: &(dyn Fn() -> bool + Sync)) -> Result<TextPage, FetchPageError> {
        let is_html = match &self.kind {
            Some(kind) => kind.is_html(),
            None => self.body.trim_ascii_start().starts_with(b"<"),
        };
        if self.body.contains(&0) && !charset::is_wide(&self.body, self.kind.as_ref()) {
            let name = self.kind.map_or_else(|| "something without a type".to_owned(), |kind| kind.name);
            return Err(FetchPageError::NotText(truncate_text(&name, 80)));
        }
        let text = charset::decode_text(&self.body, self.kind.as_ref(), is_html);
        if is_html {
            html::html_to_page(&text, &self.url, is_over).ok_or(FetchPageError::TooSlow)
        } else {
            Ok(TextPage { title: None, text, links: Vec::new() })
        }
    }
}
