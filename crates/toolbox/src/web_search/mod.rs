//! `web_search`: titles, URLs and snippets, from the provider that the operator chose.
//!
//! Requests are sent through toolyard-net; the guard also decides about a SearXNG on an internal network. Redirects
//! are not followed: they would send the key to another server.

mod brave;
mod searxng;
mod secret;
mod tavily;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::Full;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolyard_net::{Guard, HttpClient, MAX_URL_LENGTH, NetError, OutsideUrl, UrlRefused};
use url::Url;

pub use secret::SearchKey;

use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};
use crate::text::{one_line, truncate_text};

/// Default time limit of a search.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(15);
/// Longest query, in characters; Brave accepts no more.
pub const MAX_QUERY_CHARS: usize = 400;
/// Default number of results.
pub const DEFAULT_RESULTS: usize = 5;
/// Most results; every provider supports this many.
pub const MAX_RESULTS: usize = 20;
/// Longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 200;
/// Longest snippet, in characters.
pub const MAX_SNIPPET_CHARS: usize = 600;
/// Largest response of a provider, in bytes.
pub const MAX_ANSWER_BYTES: usize = 2 * 1024 * 1024;

const AGENT: &str = concat!("Toolyard/", env!("CARGO_PKG_VERSION"));

/// The arguments of `web_search`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebSearchArguments {
    /// What to search for, in a few words, for example `weather Lisbon tomorrow`.
    #[schemars(length(max = MAX_QUERY_CHARS))]
    pub query: String,
    /// How many results, from 1 to 20. 5 if left out.
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    pub count: Option<usize>,
}

/// The search provider.
#[derive(Debug, Clone)]
pub struct SearchSettings(SearchBackend);

#[derive(Debug, Clone)]
enum SearchBackend {
    Searxng { endpoint: Uri },
    Brave { endpoint: Uri, key: SearchKey },
    Tavily { endpoint: Uri, key: SearchKey },
}

impl SearchSettings {
    /// A SearXNG that returns JSON, such as `https://search.example.com`.
    pub fn searxng(url: &str, guard: &Guard) -> Result<Self, UrlRefused> {
        let endpoint = OutsideUrl::parse(url, guard)?.join("search");
        Ok(Self(SearchBackend::Searxng { endpoint }))
    }

    /// Brave Search with the operator's key; at [`Self::BRAVE`] unless another base URL is given.
    pub fn brave(key: SearchKey, base: Option<&str>, guard: &Guard) -> Result<Self, UrlRefused> {
        let endpoint = OutsideUrl::parse(base.unwrap_or(Self::BRAVE), guard)?.join("res/v1/web/search");
        Ok(Self(SearchBackend::Brave { endpoint, key }))
    }

    /// Tavily with the operator's key; at [`Self::TAVILY`] unless another base URL is given.
    pub fn tavily(key: SearchKey, base: Option<&str>, guard: &Guard) -> Result<Self, UrlRefused> {
        let endpoint = OutsideUrl::parse(base.unwrap_or(Self::TAVILY), guard)?.join("search");
        Ok(Self(SearchBackend::Tavily { endpoint, key }))
    }

    /// Brave's base URL.
    pub const BRAVE: &str = "https://api.search.brave.com";
    /// Tavily's base URL.
    pub const TAVILY: &str = "https://api.tavily.com";
}

/// Why a search failed. No text contains the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// Nothing to search for.
    #[error("the query is empty; write what to search for in a few words")]
    Empty,
    /// Over [`MAX_QUERY_CHARS`].
    #[error("the query has {0} characters, at most {MAX_QUERY_CHARS} are possible; use fewer words")]
    TooLong(usize),
    /// An invalid number of results.
    #[error("`count` must be from 1 to {MAX_RESULTS}")]
    Count,
    /// The provider refuses the key, or does not allow API access.
    #[error(
        "the search provider refused access ({0}); tell the user that the search is not set up correctly"
    )]
    Access(StatusCode),
    /// Too many searches.
    #[error("too many searches at the moment; answer without a search or try again later")]
    RateLimited,
    /// The provider returned an error status.
    #[error("the search provider answered {0}; try again with another query")]
    Status(StatusCode),
    /// The provider's response does not match its documentation.
    #[error("the search provider's response could not be read; try again later")]
    BadAnswer,
    /// No connection, or it failed.
    #[error("the search provider could not be reached: {0}; try again later")]
    Net(NetError),
    /// The time limit is over.
    #[error("the search provider did not answer in time; try again later")]
    TooSlow,
    /// The key or the URL cannot be sent.
    #[error("the search is not set up correctly; tell the user")]
    Settings,
}

/// One result, as the provider returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SearchHit {
    title: String,
    url: String,
    snippet: String,
}

/// A response with `url`, `title` and `content`.
#[derive(Deserialize)]
struct ContentResults {
    #[serde(default)]
    results: Vec<ContentResult>,
}

#[derive(Deserialize)]
struct ContentResult {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
}

impl ContentResults {
    fn into_hits(self) -> Vec<SearchHit> {
        let hits = self.results.into_iter().map(|found| SearchHit {
            title: found.title.unwrap_or_default(),
            url: found.url.unwrap_or_default(),
            snippet: found.content.unwrap_or_default(),
        });
        hits.collect()
    }
}

/// The specification of `web_search`.
pub fn web_search_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "web_search",
        title: "Search the web",
        description: "Searches the web and gives titles, addresses and snippets. Use it for news and facts that may have \
                      changed; read a result with fetch_page.",
        input_schema: schema_of::<WebSearchArguments>(),
        hints: ToolboxHints::READ_ONLY_OUTSIDE,
    }
}

/// Searches within this time.
pub async fn web_search(
    arguments: WebSearchArguments,
    settings: &SearchSettings,
    client: &HttpClient,
    limit: Duration,
) -> Result<ToolboxOutput, SearchError> {
    let query = one_line(&arguments.query);
    let length = query.chars().count();
    let count = arguments.count.unwrap_or(DEFAULT_RESULTS);
    if query.is_empty() {
        return Err(SearchError::Empty);
    }
    if length > MAX_QUERY_CHARS {
        return Err(SearchError::TooLong(length));
    }
    if !(1..=MAX_RESULTS).contains(&count) {
        return Err(SearchError::Count);
    }
    let searching = async {
        match &settings.0 {
            SearchBackend::Searxng { endpoint } => searxng::search_searxng(&query, endpoint, client).await,
            SearchBackend::Brave { endpoint, key } => {
                brave::search_brave(&query, count, endpoint, key, client).await
            }
            SearchBackend::Tavily { endpoint, key } => {
                tavily::search_tavily(&query, count, endpoint, key, client).await
            }
        }
    };
    let hits = tokio::time::timeout(limit, searching).await.unwrap_or(Err(SearchError::TooSlow))?;
    Ok(web_search_output(&query, hits, count))
}

fn web_search_output(query: &str, hits: Vec<SearchHit>, count: usize) -> ToolboxOutput {
    let hits: Vec<_> = hits.into_iter().filter_map(bound_hit).take(count).collect();
    let mut text = match hits.len() {
        0 => format!("Nothing was found for `{query}`; try other words."),
        1 => format!("1 result for `{query}`:"),
        number => format!("{number} results for `{query}`:"),
    };
    for (index, SearchHit { title, url, snippet }) in hits.iter().enumerate() {
        text.push_str(&format!("\n\n{}. {title}\n{url}", index + 1));
        if !snippet.is_empty() {
            text.push_str(&format!("\n{snippet}"));
        }
    }
    let results =
        hits.iter().map(|hit| json!({ "title": hit.title, "url": hit.url, "snippet": hit.snippet }));
    let results: Vec<_> = results.collect();
    ToolboxOutput { text, structured: Some(json!({ "query": query, "results": results })) }
}

/// Puts each text on one line and truncates it. `None` if the URL is not a web page.
fn bound_hit(hit: SearchHit) -> Option<SearchHit> {
    let url = Url::parse(&hit.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let title = one_line(&hit.title);
    (url.as_str().len() <= MAX_URL_LENGTH).then(|| SearchHit {
        title: if title.is_empty() {
            "(without title)".to_owned()
        } else {
            truncate_text(&title, MAX_TITLE_CHARS)
        },
        url: url.to_string(),
        snippet: truncate_text(&one_line(&hit.snippet), MAX_SNIPPET_CHARS),
    })
}

/// A request to a provider, without key and body.
fn provider_request(uri: Uri) -> http::request::Builder {
    Request::builder()
        .uri(uri)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "application/json")
        .header(ACCEPT_ENCODING, "identity")
}

/// An endpoint with parameters.
fn with_query(endpoint: &Uri, parameters: &[(&str, &str)]) -> Result<Uri, SearchError> {
    let mut url = Url::parse(&endpoint.to_string()).map_err(|_| SearchError::Settings)?;
    url.query_pairs_mut().extend_pairs(parameters);
    Uri::try_from(url.as_str()).map_err(|_| SearchError::Settings)
}

/// A header that is kept out of logs.
fn secret_header(value: &str) -> Result<HeaderValue, SearchError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| SearchError::Settings)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Sends a request and parses the JSON response.
async fn request_json<T: DeserializeOwned>(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
) -> Result<T, SearchError> {
    let response = client.send(request).await.map_err(SearchError::Net)?;
    match response.status {
        status if status.is_success() => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(SearchError::Access(response.status)),
        StatusCode::TOO_MANY_REQUESTS => return Err(SearchError::RateLimited),
        status => return Err(SearchError::Status(status)),
    }
    let body = response.bytes(MAX_ANSWER_BYTES).await.map_err(SearchError::Net)?;
    serde_json::from_slice(&body).map_err(|_| SearchError::BadAnswer)
}
