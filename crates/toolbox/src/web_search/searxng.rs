//! SearXNG: `GET /search?format=json`. The operator has to switch `json` on under `search.formats`; otherwise the answer
//! is 403.

use http::Uri;
use http_body_util::Full;
use serde::Deserialize;
use toolyard_net::HttpClient;

use super::{Hit, SearchError, ask, request, with_query};

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
}

/// The number of results is SearXNG's own.
pub(super) async fn search(
    query: &str,
    endpoint: &Uri,
    client: &HttpClient,
) -> Result<Vec<Hit>, SearchError> {
    let uri = with_query(endpoint, &[("q", query), ("format", "json")])?;
    let request = request(uri).body(Full::default()).map_err(|_| SearchError::Settings)?;
    let answer: Answer = ask(client, request).await?;
    let hits = answer.results.into_iter().map(|result| Hit {
        title: result.title.unwrap_or_default(),
        url: result.url.unwrap_or_default(),
        snippet: result.content.unwrap_or_default(),
    });
    Ok(hits.collect())
}
