//! Tavily: `POST /search`, the key as a bearer token.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Uri};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::json;
use toolyard_net::HttpClient;

use super::{Hit, SearchError, Secret, ask, request, secret_header};

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

pub(super) async fn search(
    query: &str,
    count: usize,
    endpoint: &Uri,
    key: &Secret,
    client: &HttpClient,
) -> Result<Vec<Hit>, SearchError> {
    let body = json!({ "query": query, "max_results": count }).to_string();
    let request = request(endpoint.clone())
        .method(Method::POST)
        .header(CONTENT_TYPE, "application/json")
        .header(AUTHORIZATION, secret_header(&format!("Bearer {}", key.expose()))?)
        .body(Full::from(body))
        .map_err(|_| SearchError::Settings)?;
    let answer: Answer = ask(client, request).await?;
    let hits = answer.results.into_iter().map(|result| Hit {
        title: result.title.unwrap_or_default(),
        url: result.url.unwrap_or_default(),
        snippet: result.content.unwrap_or_default(),
    });
    Ok(hits.collect())
}
