//! `fetch_page`: a web page as text.
//!
//! Requests are sent through toolyard-net, whose guard checks the URL, every redirect and every resolved address.
//! Nothing is executed and nothing else is loaded: no scripts, no images, no cookies.

mod charset;
mod fetch;
mod html;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolyard_net::{Guard, HttpClient, NetError, UrlRefused};

use crate::blocking::{self, UnfinishedWork};
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};
use crate::text::{one_line, truncate_text};

pub(crate) use html::html_to_line;

/// Default time limit for fetching a page.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(20);
/// Largest body that is accepted, in bytes.
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Most redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;
/// Characters per output.
pub const PAGE_CHARS: usize = 20_000;
/// Most links per output.
pub const MAX_LINKS: usize = 100;
/// Longest title, and longest text of a link, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// The arguments of `fetch_page`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchPageArguments {
    /// The address of the page, for example `https://example.com/news`.
    pub url: String,
    /// First character to show. To continue after a cut, use the number in the previous output.
    pub start: Option<usize>,
    /// Whether to list the links of the page after its text. They are not listed if left out.
    pub links: Option<bool>,
}

/// Why a page could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchPageError {
    /// Not a URL, or one that is not allowed.
    #[error("this URL cannot be fetched: {0}")]
    Refused(#[from] UrlRefused),
    /// A redirect to a URL that is not allowed.
    #[error("the page redirects to `{to}`, which cannot be fetched: {refused}")]
    RedirectRefused {
        /// The target, possibly truncated.
        to: String,
        /// Why not.
        refused: UrlRefused,
    },
    /// A redirect without a target.
    #[error("the server answered with a redirect without a valid target; try another URL")]
    BadRedirect,
    /// Over [`MAX_REDIRECTS`].
    #[error("the page redirects more than {MAX_REDIRECTS} times; try another URL")]
    TooManyRedirects,
    /// No connection, or it failed.
    #[error("the page could not be fetched: {0}; check the URL or try another")]
    Net(NetError),
    /// An error status.
    #[error("the server answered {0}; check the URL or try another")]
    Status(String),
    /// Over [`MAX_BODY_BYTES`].
    #[error("the page is larger than {MAX_BODY_BYTES} bytes; try a more specific URL")]
    TooLarge,
    /// Not text.
    #[error("the URL leads to `{0}`, which cannot be shown as text; only HTML, JSON and other text can")]
    NotText(String),
    /// Compressed although it was requested uncompressed.
    #[error("the server sends the page only compressed (`{0}`), which is not supported; try another URL")]
    Compressed(String),
    /// The time limit is over.
    #[error("the page did not come in time; try again or try another URL")]
    TooSlow,
    /// `start` is beyond the end.
    #[error(
        "the page has only {length} characters, so nothing is left at start={start}; use a smaller number"
    )]
    PastEnd {
        /// As it was given.
        start: usize,
        /// Length of the whole text.
        length: usize,
    },
    /// An internal error.
    #[error("the page could not be converted to text")]
    Failed,
}

/// A page as text.
pub(crate) struct TextPage {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) links: Vec<PageLink>,
}

/// A link of a page.
pub(crate) struct PageLink {
    pub(crate) text: String,
    pub(crate) url: String,
}

/// The specification of `fetch_page`.
pub fn fetch_page_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "fetch_page",
        title: "Fetch a web page",
        description: "Fetches a web page, or a JSON or text document, and gives its text. Long pages come in parts; \
                      each answer says whether there is more.",
        input_schema: schema_of::<FetchPageArguments>(),
        hints: ToolboxHints::READ_ONLY_OUTSIDE,
    }
}

/// Fetches a page within this time. The guard must be the client's own.
pub async fn fetch_page(
    arguments: FetchPageArguments,
    client: &HttpClient,
    guard: &Guard,
    limit: Duration,
) -> Result<ToolboxOutput, FetchPageError> {
    let work = async {
        let fetched = fetch::fetch_following_redirects(&arguments.url, client, guard).await?;
        let url = fetched.url.clone();
        // Converting to text does not wait; a hostile page makes it slow.
        let page = blocking::run_until(limit, move |is_over| fetched.into_page(is_over)).await;
        let page = page.map_err(|unfinished| match unfinished {
            UnfinishedWork::TooSlow => FetchPageError::TooSlow,
            UnfinishedWork::Failed => FetchPageError::Failed,
        })??;
        page_output(&arguments, url.as_str(), &page)
    };
    tokio::time::timeout(limit, work).await.unwrap_or(Err(FetchPageError::TooSlow))
}

fn page_output(
    arguments: &FetchPageArguments,
    url: &str,
    page: &TextPage,
) -> Result<ToolboxOutput, FetchPageError> {
    let start = arguments.start.unwrap_or(0);
    let length = page.text.chars().count();
    if start > 0 && start >= length {
        return Err(FetchPageError::PastEnd { start, length });
    }
    let shown: String = page.text.chars().skip(start).take(PAGE_CHARS).collect();
    let end = (start + PAGE_CHARS).min(length);
    let next = (end < length).then_some(end);
    let title = page.title.as_deref().map(|title| truncate_text(&one_line(title), MAX_TITLE_CHARS));

    let mut text = format!("URL: {url}\n");
    if let Some(title) = &title {
        text.push_str(&format!("Title: {title}\n"));
    }
    text.push_str(&format!("\n{}", if shown.is_empty() { "(the page has no text)" } else { &shown }));
    if let Some(next) = next {
        text.push_str(&format!(
            "\n(cut: characters {start} to {end} of {length}; continue with start={next})"
        ));
    }
    let wants_links = arguments.links == Some(true);
    let links: Vec<_> = if wants_links { page.links.iter().take(MAX_LINKS).collect() } else { Vec::new() };
    if wants_links {
        text.push_str("\n\nLinks:");
        for link in &links {
            text.push_str(&format!("\n- {}: {}", truncate_text(&link.text, MAX_TITLE_CHARS), link.url));
        }
        if page.links.len() > MAX_LINKS {
            text.push_str(&format!("\n(cut: the first {MAX_LINKS} of {} links)", page.links.len()));
        }
    }
    let links: Vec<_> = links
        .iter()
        .map(|link| json!({ "text": truncate_text(&link.text, MAX_TITLE_CHARS), "url": link.url }))
        .collect();
    let mut structured = json!({ "url": url, "title": title, "text": shown, "start": start, "length": length, "next_start": next });
    if wants_links {
        structured["links"] = links.into();
    }
    Ok(ToolboxOutput { text, structured: Some(structured) })
}
