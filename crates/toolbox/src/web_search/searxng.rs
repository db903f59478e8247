//! SearXNG: `GET /search?format=json`. The operator must enable `json` under `search.formats`; otherwise the response
//! is 403.

use http::Uri;
use http_body_util::Full;
use toolyard_net::HttpClient;

use super::{ContentResults, SearchError, SearchHit, provider_request, request_json, with_query};

/// SearXNG decides the number of results.
pub(super) async fn search_searxng(
    query: &str,
    endpoint: &Uri,
    client: &HttpClient,
) -> Result<Vec<SearchHit>, SearchError> {
    let uri = with_query(endpoint, &[("q", query), ("format", "json")])?;
    let request = provider_request(uri).body(Full::default()).map_err(|_| SearchError::Settings)?;
    request_json::<ContentResults>(client, request).await.map(ContentResults::into_hits)
}
