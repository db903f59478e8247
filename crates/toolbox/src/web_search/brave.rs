//! Brave Search: `GET /res/v1/web/search`, the key in `X-Subscription-Token`.

use http::Uri;
use http_body_util::Full;
use serde::Deserialize;
use toolyard_net::HttpClient;

use super::{Hit, SearchError, Secret, ask, request, secret_header, with_query};
use crate::page::plain;

#[derive(Deserialize)]
struct Answer {
    /// Missing if nothing was found.
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    description: Option<String>,
}

pub(super) async fn search(
    query: &str,
    count: usize,
    endpoint: &Uri,
    key: &Secret,
    client: &HttpClient,
) -> Result<Vec<Hit>, SearchError> {
    let uri = with_query(endpoint, &[("q", query), ("count", &count.to_string())])?;
    let request = request(uri).header("x-subscription-token", secret_header(key.expose())?);
    let request = request.body(Full::default()).map_err(|_| SearchError::Settings)?;
    let answer: Answer = ask(client, request).await?;
    let results = answer.web.map(|web| web.results).unwrap_or_default();
    // Brave marks the words that were searched for with tags.
    let hits = results.into_iter().map(|result| Hit {
        title: plain(&result.title.unwrap_or_default()),
        url: result.url.unwrap_or_default(),
        snippet: plain(&result.description.unwrap_or_default()),
    });
    Ok(hits.collect())
}
