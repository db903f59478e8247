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
/// How long a request waits for one, the wait for a fetch slot included.
const WAIT: Duration = Duration::from_secs(8);
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
    clients: BoundedCache<String, Arc<Cached<OAuthClient>>>,
    keys: BoundedCache<String, Arc<Cached<KeySet>>>,
}

struct Cached<T> {
    until: Timestamp,
    /// None if it could not be fetched.
    value: Option<T>,
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
            return cached.value.clone().ok_or(DocumentError::Unreachable);
        }
        let Some((body, lifetime)) = self.fetch(url.as_str(), MAX_DOCUMENT_BYTES).await else {
            self.clients.insert(
                url.as_str().to_owned(),
                Arc::new(Cached { until: after(now, FAILURE_S), value: None }),
            );
            return Err(DocumentError::Unreachable);
        };
        // A document that cannot be used is not cached: its author may be mending it.
        let client = parse_document(url, &body)?;
        let entry = Cached { until: after(now, lifetime), value: Some(client.clone()) };
        self.clients.insert(url.as_str().to_owned(), Arc::new(entry));
        Ok(client)
    }

    /// The keys of a client.
    pub(crate) async fn keys(&self, url: &str) -> Option<KeySet> {
        let now = self.clock.now();
        if let Some(cached) = self.keys.get(url).filter(|cached| cached.until > now) {
            return cached.value.clone();
        }
        let fetched = self.fetch(url, MAX_KEY_SET_BYTES).await;
        let (value, lifetime) = match fetched {
            Some((body, lifetime)) => (KeySet::parse(&body).ok(), lifetime),
            None => (None, FAILURE_S),
        };
        let lifetime = if value.is_some() { lifetime } else { FAILURE_S };
        self.keys
            .insert(url.to_owned(), Arc::new(Cached { until: after(now, lifetime), value: value.clone() }));
        value
    }

    /// The body at a URL, and for how many seconds it may be used.
    async fn fetch(&self, url: &str, limit: usize) -> Option<(Bytes, i64)> {
        let late = |_| Err("no response in time".to_owned());
        let request = async {
            let _room = self.room.acquire().await;
            timeout(FETCH_TIMEOUT, self.request(url, limit)).await.unwrap_or_else(late)
        };
        let fetched = timeout(WAIT, request).await.unwrap_or_else(late);
        fetched.inspect_err(|error| tracing::info!(url, error, "client document not fetched")).ok()
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
