//! Reads what the definitions of an upstream point to: instructions, `ui://` pages and icons. They are pinned with the
//! definitions, so that a changed page is noticed as a changed text is.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, Request, Uri, header};
use http_body_util::Full;
use serde_json::{json, value::RawValue};
use tokio::time::{Instant, timeout};
use toolyard_core::{
    ToolError,
    catalog::AppHead,
    pinning::ContentDigest,
    ports::{ForwardedMethod, ForwardedReply, ForwardedRequest, UpstreamOffer, UpstreamRecord},
};
use toolyard_mcp_client::{McpClient, McpClientError, RequestOptions};
use toolyard_net::{NetError, OutsideUrl};
use toolyard_protocol::{
    ErrorCode,
    mcp::{PAGE_SCHEME, method},
    raw::{RawFields, to_raw},
    tool::{MAX_TOOLS, ToolDefinition},
    visible::strip_invisible,
};

use super::UpstreamSource;

/// Pages that are read of one upstream. Others are not shown.
pub(super) const MAX_PAGES: usize = 32;
/// Largest page in bytes. Larger ones are not shown.
pub(super) const MAX_PAGE_BYTES: usize = 512 * 1024;
/// Icons that are fetched for one upstream. Others are pinned by their URL alone.
const MAX_ICONS: usize = 32;
/// Largest icon in bytes. Larger ones count as one and the same, so that an icon cannot grow unnoticed.
const MAX_ICON_BYTES: usize = 128 * 1024;
const LARGE_ICON: &[u8] = b"larger than the limit";
/// How long a host may take to send an icon.
const ICON_TIMEOUT: Duration = Duration::from_secs(5);
/// Icons that are fetched at the same time.
const ICONS_AT_ONCE: usize = 8;
/// Longest instructions in bytes; the rest is cut off.
const MAX_INSTRUCTIONS_BYTES: usize = 64 * 1024;

impl UpstreamSource {
    /// Adds the content that an offer points to. What cannot be read now stays as it was.
    pub(super) async fn read_contents(
        &self,
        record: &UpstreamRecord,
        client: &McpClient,
        offer: &mut UpstreamOffer,
        last: Option<&UpstreamOffer>,
    ) {
        offer.instructions = read_instructions(client).await.map(cut_instructions);
        let tools = offer.tools.iter().take(MAX_TOOLS);
        let tools: Vec<ToolDefinition> =
            tools.filter_map(|raw| ToolDefinition::parse(raw, "tool").ok()).collect();
        // All pages together have the time of one list.
        let deadline = Instant::now() + self.parts.settings.list;
        for uri in page_uris(&tools, &offer.resources) {
            let page = read_page(client, &uri, deadline).await;
            if let Err(error) = &page {
                tracing::warn!(uri, %error, "page could not be read");
            }
            let before = || last.and_then(|last| last.pages.get(&uri).cloned());
            if let Some(page) = page.ok().or_else(before) {
                offer.pages.insert(uri, page);
            }
        }
        let fetched = stream::iter(icon_urls(&tools).into_iter().map(|url| async move {
            let digest = self.fetch_icon(record, &url).await;
            (url, digest)
        }));
        let fetched: Vec<_> = fetched.buffer_unordered(ICONS_AT_ONCE).collect().await;
        for (url, digest) in fetched {
            let before = || last.and_then(|last| last.icons.get(&url).copied());
            if let Some(digest) = digest.or_else(before) {
                offer.icons.insert(url, digest);
            }
        }
    }

    /// The digest of an icon; `None` if it cannot be fetched.
    async fn fetch_icon(&self, record: &UpstreamRecord, url: &str) -> Option<ContentDigest> {
        let server: Uri = record.details.url.as_deref().unwrap_or_default().parse().unwrap_or_default();
        let fetch = async {
            let url = OutsideUrl::parse(url, &self.parts.guard).map_err(|error| error.to_string())?;
            let mut request = Request::new(Full::new(Bytes::new()));
            *request.uri_mut() = url.uri().clone();
            request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("image/*"));
            let response = self
                .parts
                .referrals
                .for_server(&server)
                .send(request)
                .await
                .map_err(|error| error.to_string())?;
            if !response.status.is_success() {
                return Err(format!("the host responded with {}", response.status));
            }
            match response.bytes(MAX_ICON_BYTES).await {
                Err(NetError::TooLarge { .. }) => Ok(Bytes::from_static(LARGE_ICON)),
                read => read.map_err(|error| error.to_string()),
            }
        };
        let fetched =
            timeout(ICON_TIMEOUT, fetch).await.unwrap_or_else(|_| Err("no response in time".to_owned()));
        let fetched = fetched.inspect_err(|error| tracing::debug!(url, error, "icon could not be fetched"));
        Some(ContentDigest::from_content(&fetched.ok()?))
    }
}

/// The content of a page, without the rest of the response.
async fn read_page(
    client: &McpClient,
    uri: &str,
    deadline: Instant,
) -> Result<Box<RawValue>, McpClientError> {
    let params = to_raw(&json!({ "uri": uri }));
    let options = RequestOptions { deadline: Some(deadline), ..RequestOptions::default() };
    let result = client.request(method::RESOURCES_READ, Some(&params), options).await?.into_complete()?;
    let fields: RawFields = serde_json::from_str(result.get()).unwrap_or_default();
    let contents = fields.get("contents").map(RawValue::to_owned);
    let contents =
        contents.ok_or_else(|| McpClientError::Malformed("the page has no `contents`".to_owned()))?;
    if contents.get().len() > MAX_PAGE_BYTES {
        let text = format!("the page is larger than {MAX_PAGE_BYTES} bytes");
        return Err(McpClientError::Malformed(text));
    }
    // The rest of the result belongs to this one response.
    let mut page = RawFields::default();
    page.set("contents", contents);
    Ok(page.to_raw())
}

/// The instructions of now. A server with a handshake can change them only with a new one.
async fn read_instructions(client: &McpClient) -> Option<String> {
    let known = || client.server().instructions.clone();
    if !client.revision().is_modern() {
        return known();
    }
    let Ok(reply) = client.request(method::DISCOVER, None, RequestOptions::default()).await else {
        return known();
    };
    let Ok(result) = reply.into_complete() else { return known() };
    let fields: RawFields = serde_json::from_str(result.get()).unwrap_or_default();
    let text = fields.parse_field::<String>("instructions").and_then(Result::ok);
    text.map(|text| strip_invisible(&text).into_owned())
}

fn cut_instructions(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_INSTRUCTIONS_BYTES));
    text
}

/// The pages that tools name, and those in the list of resources.
fn page_uris(tools: &[ToolDefinition], resources: &[Box<RawValue>]) -> BTreeSet<String> {
    let listed = resources.iter().filter_map(|raw| {
        let fields: RawFields = serde_json::from_str(raw.get()).ok()?;
        fields.parse_field::<String>("uri").and_then(Result::ok)
    });
    let named = tools.iter().flat_map(ToolDefinition::page_uris);
    let all: BTreeSet<String> = named.chain(listed).filter(|uri| uri.starts_with(PAGE_SCHEME)).collect();
    all.into_iter().take(MAX_PAGES).collect()
}

fn icon_urls(tools: &[ToolDefinition]) -> BTreeSet<String> {
    let is_web = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    let all: BTreeSet<String> = tools.iter().flat_map(ToolDefinition::icon_urls).filter(is_web).collect();
    all.into_iter().take(MAX_ICONS).collect()
}

/// The accepted content of a page, if pages are pinned. Whatever the upstream would send now, users get what was accepted.
pub(super) fn pinned_page(
    app: &AppHead,
    request: &ForwardedRequest,
) -> Option<Result<ForwardedReply, ToolError>> {
    let is_page = request.method == ForwardedMethod::ReadResource && request.name.starts_with(PAGE_SCHEME);
    if !is_page || !app.pages.is_enforced {
        return None;
    }
    Some(match app.pages.contents.get(&*request.name) {
        Some(page) => Ok(ForwardedReply::Done(page.clone())),
        None => {
            let text = format!(
                "The page {} of {} is not shown: nobody accepted it, or it is too large to be pinned.",
                request.name,
                app.package()
            );
            Err(ToolError::new(ErrorCode::Denied, text))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(number: usize) -> ToolDefinition {
        let icons: Vec<_> =
            (0..2).map(|icon| json!({ "src": format!("https://i.example/{number}/{icon}") })).collect();
        let raw = to_raw(
            &json!({ "name": format!("t{number}"), "inputSchema": { "type": "object" }, "icons": icons,
            "_meta": { "ui": { "resourceUri": format!("ui://w/{number:03}") }, "openai/outputTemplate": "https://w" } }),
        );
        ToolDefinition::parse(&raw, "tool").unwrap()
    }

    #[test]
    fn pages_icons_and_instructions_are_bounded() {
        let tools: Vec<_> = (0..100).map(tool).collect();
        let listed =
            [to_raw(&json!({ "uri": "ui://a" })), to_raw(&json!({ "uri": "file:///b" })), to_raw(&json!(5))];
        assert_eq!(page_uris(&tools[..1], &listed), ["ui://a", "ui://w/000"].map(str::to_owned).into());
        assert_eq!((page_uris(&tools, &listed).len(), icon_urls(&tools).len()), (MAX_PAGES, MAX_ICONS));
        assert_eq!(cut_instructions("ä".repeat(MAX_INSTRUCTIONS_BYTES)).len(), MAX_INSTRUCTIONS_BYTES);
    }
}
