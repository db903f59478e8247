//! Clients that describe themselves in a document at the URL that is their id. The document is fetched through the guard of
//! the web, and cached as its server says, within bounds.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};
use tokio::{sync::Semaphore, time::timeout};
use toolyard_authorization::{
    authorize::AuthorizePageError,
    client::{
        CacheHeaders, ClientMetadataError, DocumentUrl, MAX_DOCUMENT_BYTES, OAuthClient,
        document_cache_lifetime, parse_document,
    },
    jwt::{KeySet, MAX_KEY_SET_BYTES},
};
use toolyard_core::{bounded_cache::BoundedCache, ports::Clock};
use toolyard_net::OutsideUrl;

use crate::parts::WebAccess;

/// Documents and key sets in the cache.
const MAX_CACHED: usize = 500;
/// How long a host may take to send one.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request waits for a fetch slot.
const WAIT: Duration = Duration::from_secs(3);
/// Concurrent fetches.
const AT_ONCE: usize = 8;
/// How long a failure is remembered, so that a slow host is not asked again by every request.
const FAILURE_S: i64 = 10;

/// Why a client cannot be found.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum DocumentError {
    /// The document cannot be used.
    #[error(transparent)]
    Page(#[from] AuthorizePageError),
    /// The document cannot be fetched. The text omits what the host responded.
    #[error("the client's metadata document could not be fetched; check its address and try again")]
    Unreachable,
}

impl From<ClientMetadataError> for DocumentError {
    fn from(error: ClientMetadataError) -> Self {
        Self::Page(error.into())
    }
}

/// Fetches documents and key sets, and caches them.
pub(crate) struct ClientDocuments {
    web: WebAccess,
    clock: Arc<dyn Clock>,
    room: Semaphore,
    clients: BoundedCache<String, Arc<Cached<OAuthClient, DocumentError>>>,
    keys: BoundedCache<String, Arc<Cached<KeySet, FetchError>>>,
}

struct Cached<T, E> {
    until: Timestamp,
    value: Result<T, E>,
}

/// Why nothing was fetched.
#[derive(Debug, Clone, Copy)]
enum FetchError {
    /// All slots are taken.
    Busy,
    /// The host does not respond, or not with what was expected.
    Failed,
}

impl ClientDocuments {
    pub(crate) fn new(web: WebAccess, clock: Arc<dyn Clock>) -> Self {
        Self {
            web,
            clock,
            room: Semaphore::new(AT_ONCE),
            clients: BoundedCache::new(MAX_CACHED),
            keys: BoundedCache::new(MAX_CACHED),
        }
    }

    /// The client that the document describes.
    pub(crate) async fn client(&self, url: &DocumentUrl) -> Result<OAuthClient, DocumentError> {
        let now = self.clock.now();
        let cached = self.clients.get(url.as_str()).filter(|cached| cached.until > now);
        if let Some(cached) = cached {
            return cached.value.clone();
        }
        let (value, lifetime) = match self.fetch(url.as_str(), MAX_DOCUMENT_BYTES).await {
            Ok((body, lifetime)) => (parse_document(url, &body).map_err(DocumentError::from), lifetime),
            Err(FetchError::Failed) => (Err(DocumentError::Unreachable), FAILURE_S),
            // Others use all the room. That says nothing about this client.
            Err(FetchError::Busy) => return Err(DocumentError::Unreachable),
        };
        // The author of an unusable document may be mending it.
        let lifetime = if value.is_ok() { lifetime } else { FAILURE_S };
        let entry = Cached { until: after(now, lifetime), value: value.clone() };
        self.clients.insert(url.as_str().to_owned(), Arc::new(entry));
        value
    }

    /// The keys of a client.
    pub(crate) async fn keys(&self, url: &str) -> Option<KeySet> {
        let now = self.clock.now();
        if let Some(cached) = self.keys.get(url).filter(|cached| cached.until > now) {
            return cached.value.clone().ok();
        }
        let (value, lifetime) = match self.fetch(url, MAX_KEY_SET_BYTES).await {
            Ok((body, lifetime)) => (KeySet::parse(&body).map_err(|_| FetchError::Failed), lifetime),
            Err(FetchError::Failed) => (Err(FetchError::Failed), FAILURE_S),
            Err(FetchError::Busy) => return None,
        };
        let lifetime = if value.is_ok() { lifetime } else { FAILURE_S };
        self.keys
            .insert(url.to_owned(), Arc::new(Cached { until: after(now, lifetime), value: value.clone() }));
        value.ok()
    }

    /// The body at a URL, and for how many seconds it may be used.
    async fn fetch(&self, url: &str, limit: usize) -> Result<(Bytes, i64), FetchError> {
        let Ok(_room) = timeout(WAIT, self.room.acquire()).await else {
            tracing::warn!(url, "client document not fetched: too many other fetches");
            return Err(FetchError::Busy);
        };
        let late = |_| Err(format!("no response within {} s", FETCH_TIMEOUT.as_secs()));
        let fetched = timeout(FETCH_TIMEOUT, self.request(url, limit)).await.unwrap_or_else(late);
        fetched.map_err(|error| {
            tracing::info!(url, error, "client document not fetched");
            FetchError::Failed
        })
    }

    async fn request(&self, url: &str, limit: usize) -> Result<(Bytes, i64), String> {
        let url = OutsideUrl::parse(url, &self.web.guard).map_err(|error| error.to_string())?;
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = url.uri().clone();
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let response = self.web.http.send(request).await.map_err(|error| error.to_string())?;
        // A redirect is not followed: the document must be at the URL that is the client's id.
        if !response.status.is_success() {
            return Err(format!("the host responded with {}", response.status));
        }
        let lifetime = cache_lifetime(&response.headers, self.clock.now());
        let body = response.bytes(limit).await.map_err(|error| error.to_string())?;
        Ok((body, lifetime))
    }
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now)
}

fn cache_lifetime(headers: &HeaderMap, now: Timestamp) -> i64 {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let headers = CacheHeaders {
        cache_control: text(header::CACHE_CONTROL),
        expires: text(header::EXPIRES),
        age: text(header::AGE),
    };
    i64::try_from(document_cache_lifetime(headers, now).as_secs()).unwrap_or(0)
}
