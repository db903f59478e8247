//! Tavily: `POST /search`, the key as a bearer token.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Uri};
use http_body_util::Full;
use serde_json::json;
use toolyard_net::HttpClient;

use super::{
    ContentResults, SearchError, SearchHit, SearchKey, provider_request, request_json, secret_header,
};

pub(super) async fn search_tavily(
    query: &str,
    count: usize,
    endpoint: &Uri,
    key: &SearchKey,
    client: &HttpClient,
) -> Result<Vec<SearchHit>, SearchError> {
    let body = json!({ "query": query, "max_results": count }).to_string();
    let request = provider_request(endpoint.clone())
        .method(Method::POST)
        .header(CONTENT_TYPE, "application/json")
        .header(AUTHORIZATION, secret_header(&format!("Bearer {}", key.expose()))?)
        .body(Full::from(body))
        .map_err(|_| SearchError::Settings)?;
    request_json::<ContentResults>(client, request).await.map(ContentResults::into_hits)
}
