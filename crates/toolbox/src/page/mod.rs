//! `fetch_page`: a page of the web as text.
//!
//! Requests leave through toolyard-net, whose guard judges the URL, every redirect and every address that a name leads
//! to. Nothing is run and nothing else is loaded: no scripts, no images, no cookies.

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

/// How long fetching a page may take, unless the caller says otherwise.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(20);
/// Largest body that is taken, in bytes.
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Most redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;
/// Characters of one answer.
pub const PAGE_CHARS: usize = 20_000;
/// Most links of one answer.
pub const MAX_LINKS: usize = 100;
/// Longest title, and longest text of a link, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// The arguments of `fetch_page`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchPageArguments {
    /// The address of the page, for example `https://example.com/news`.
    pub url: String,
    /// First character to show. To go on after a cut, take the number that the answer named.
    pub start: Option<usize>,
    /// Whether to list the links of the page after its text. They are not listed if left out.
    pub links: Option<bool>,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchPageError {
    /// Not a URL, or one that may not be called.
    #[error("this URL cannot be fetched: {0}")]
    Refused(#[from] UrlRefused),
    /// The page leads on to a URL that may not be called.
    #[error("the page leads on to `{to}`, which cannot be fetched: {refused}")]
    RedirectRefused {
        /// Where it leads, perhaps cut.
        to: String,
        /// Why not.
        refused: UrlRefused,
    },
    /// A redirect without a place.
    #[error("the server answered with a redirect that leads nowhere; try another URL")]
    BadRedirect,
    /// Over [`MAX_REDIRECTS`].
    #[error("the page leads on more than {MAX_REDIRECTS} times; try another URL")]
    TooManyRedirects,
    /// No connection, or it broke.
    #[error("the page could not be fetched: {0}; check the URL or try another")]
    Net(NetError),
    /// An answer that is not the page.
    #[error("the server answered {0}; check the URL or try another")]
    Status(String),
    /// Over [`MAX_BODY_BYTES`].
    #[error("the page is larger than {MAX_BODY_BYTES} bytes; try a more specific URL")]
    TooLarge,
    /// Not text.
    #[error("the URL leads to `{0}`, which cannot be shown as text; only HTML, JSON and other text can")]
    NotText(String),
    /// Compressed although we asked for it as it is.
    #[error("the server sends the page only compressed (`{0}`), which is not understood; try another URL")]
    Compressed(String),
    /// The time was over.
    #[error("the page did not come in time; try again or try another URL")]
    TooSlow,
    /// `start` is behind the end.
    #[error(
        "the page has only {length} characters, so nothing is left at start={start}; use a smaller number"
    )]
    PastEnd {
        /// As it was given.
        start: usize,
        /// Of the whole text.
        length: usize,
    },
    /// A fault of ours.
    #[error("the page could not be made into text")]
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

/// `fetch_page`, for models.
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

/// Fetches a page within this time. The guard has to be the client's own.
pub async fn fetch_page(
    arguments: FetchPageArguments,
    client: &HttpClient,
    guard: &Guard,
    limit: Duration,
) -> Result<ToolboxOutput, FetchPageError> {
    let work = async {
        let fetched = fetch::fetch_following_redirects(&arguments.url, client, guard).await?;
        let url = fetched.url.clone();
        // Bytes to text is work without waiting; a hostile page makes it last.
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
        text.push_str(&format!("\n(cut: characters {start} to {end} of {length}; go on with start={next})"));
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
