//! Brave Search: `GET /res/v1/web/search`, the key in `X-Subscription-Token`.

use http::Uri;
use http_body_util::Full;
use serde::Deserialize;
use toolyard_net::HttpClient;

use super::{SearchError, SearchHit, SearchKey, provider_request, request_json, secret_header, with_query};
use crate::page::html_to_line;

#[derive(Deserialize)]
struct BraveResponse {
    /// Missing if nothing was found.
    web: Option<BraveWebSection>,
}

#[derive(Deserialize)]
struct BraveWebSection {
    #[serde(default)]
    results: Vec<BraveResult>,
}

#[derive(Deserialize)]
struct BraveResult {
    url: Option<String>,
    title: Option<String>,
    description: Option<String>,
}

pub(super) async fn search_brave(
    query: &str,
    count: usize,
    endpoint: &Uri,
    key: &SearchKey,
    client: &HttpClient,
) -> Result<Vec<SearchHit>, SearchError> {
    let uri = with_query(endpoint, &[("q", query), ("count", &count.to_string())])?;
    let request = provider_request(uri).header("x-subscription-token", secret_header(key.expose())?);
    let request = request.body(Full::default()).map_err(|_| SearchError::Settings)?;
    let answer: BraveResponse = request_json(client, request).await?;
    let results = answer.web.map(|web| web.results).unwrap_or_default();
    // Brave highlights the search words with tags.
    let hits = results.into_iter().map(|result| SearchHit {
        title: html_to_line(&result.title.unwrap_or_default()),
        url: result.url.unwrap_or_default(),
        snippet: html_to_line(&result.description.unwrap_or_default()),
    });
    Ok(hits.collect())
}
