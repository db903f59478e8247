//! SearXNG: `GET /search?format=json`. The operator has to switch `json` on under `search.formats`; otherwise the answer
//! is 403.

use http::Uri;
use http_body_util::Full;
use toolyard_net::HttpClient;

use super::{Hit, Results, SearchError, ask, request, with_query};

/// The number of results is SearXNG's own.
pub(super) async fn search(
    query: &str,
    endpoint: &Uri,
    client: &HttpClient,
) -> Result<Vec<Hit>, SearchError> {
    let uri = with_query(endpoint, &[("q", query), ("format", "json")])?;
    let request = request(uri).body(Full::default()).map_err(|_| SearchError::Settings)?;
    ask::<Results>(client, request).await.map(Results::hits)
}
