//! Tavily: `POST /search`, the key as a bearer token.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Uri};
use http_body_util::Full;
use serde_json::json;
use toolyard_net::HttpClient;

use super::{Hit, Results, SearchError, Secret, ask, request, secret_header};

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
    ask::<Results>(client, request).await.map(Results::hits)
}
