//! Reads a whole list, page by page and within limits. If a later page fails, the earlier ones are kept.

use std::{collections::HashSet, time::Duration};

use serde::Deserialize;
use serde_json::{json, value::RawValue};
use toolyard_protocol::{mcp::method, raw::RawFields, raw::to_raw};

use crate::{client::McpClient, error::McpClientError, request::RequestOptions};

/// The lists of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpstreamListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl UpstreamListKind {
    /// The method that reads the list.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Prompts => method::PROMPTS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::Templates => method::RESOURCES_TEMPLATES_LIST,
        }
    }

    /// The result member with the items.
    const fn items_member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

/// A list as far as it could be read.
#[derive(Debug, Clone, Default)]
pub struct UpstreamListing {
    /// The items, unchanged and unchecked.
    pub items: Vec<Box<RawValue>>,
    /// Why items may be missing.
    pub incomplete: Option<String>,
    /// How long the server says the list is valid.
    pub ttl: Option<Duration>,
    /// Tools that must not be used and are not among the items. Only [`McpClient::list_tools`] fills this.
    pub left_out: Vec<RejectedTool>,
}

/// A tool that must not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedTool {
    /// The tool's name.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

impl McpClient {
    /// Reads a list. Fails only if the first page cannot be read.
    pub async fn list_items(&self, kind: UpstreamListKind) -> Result<UpstreamListing, McpClientError> {
        self.link.set_listed();
        let limits = self.link.limits();
        let mut listing = UpstreamListing::default();
        let (mut bytes, mut cursor, mut seen) = (0, None, HashSet::new());
        for _ in 0..limits.list_pages {
            let page = match self.fetch_page(kind, cursor.as_deref()).await {
                Ok(page) => page,
                Err(error) if cursor.is_none() => return Err(error),
                Err(error) => {
                    return Ok(listing.mark_incomplete(format!("a later page could not be read: {error}")));
                }
            };
            listing.ttl = listing.ttl.into_iter().chain(page.ttl).min();
            for item in page.items {
                bytes += item.get().len();
                if listing.items.len() >= limits.list_items {
                    return Ok(
                        listing.mark_incomplete(format!("there are more than {} items", limits.list_items))
                    );
                }
                if bytes > limits.list_bytes {
                    return Ok(listing
                        .mark_incomplete(format!("the items have more than {} bytes", limits.list_bytes)));
                }
                listing.items.push(item);
            }
            match page.next {
                Ok(None) => return Ok(listing),
                Ok(Some(next)) if !seen.insert(next.clone()) => {
                    return Ok(listing.mark_incomplete("the server repeated a page cursor".to_owned()));
                }
                Ok(Some(next)) => cursor = Some(next),
                Err(why) => return Ok(listing.mark_incomplete(why)),
            }
        }
        Ok(listing.mark_incomplete(format!("there are more than {} pages", limits.list_pages)))
    }

    async fn fetch_page(
        &self,
        kind: UpstreamListKind,
        cursor: Option<&str>,
    ) -> Result<ListPage, McpClientError> {
        let params = cursor.map(|cursor| to_raw(&json!({ "cursor": cursor })));
        let answer = self.request(kind.method(), params.as_deref(), RequestOptions::default()).await?;
        ListPage::from_result(kind, &answer.into_complete()?)
    }
}

impl UpstreamListing {
    fn mark_incomplete(mut self, why: String) -> Self {
        tracing::debug!(reason = why, items = self.items.len(), "list incomplete");
        self.incomplete = Some(why);
        self
    }
}

struct ListPage {
    items: Vec<Box<RawValue>>,
    /// The next cursor, or why it is unknown.
    next: Result<Option<String>, String>,
    ttl: Option<Duration>,
}

impl ListPage {
    fn from_result(kind: UpstreamListKind, result: &RawValue) -> Result<Self, McpClientError> {
        let (method, member) = (kind.method(), kind.items_member());
        let malformed =
            |why: &str| McpClientError::Malformed(format!("the result of `{method}` has no list: {why}"));
        let fields: RawFields =
            serde_json::from_str(result.get()).map_err(|error| malformed(&error.to_string()))?;
        let items = fields
            .parse_field::<Vec<Box<RawValue>>>(member)
            .ok_or_else(|| malformed("there is no list in it"))?;
        let next = match fields.parse_field::<Option<PageCursor>>("nextCursor") {
            None | Some(Ok(None)) => Ok(None),
            Some(Ok(Some(PageCursor(cursor)))) => Ok(Some(cursor)),
            Some(Err(_)) => Err("`nextCursor` is not a string".to_owned()),
        };
        let ttl = fields.parse_field::<u64>("ttlMs").and_then(Result::ok).map(Duration::from_millis);
        Ok(Self { items: items.map_err(|error| malformed(&error.to_string()))?, next, ttl })
    }
}

#[derive(Deserialize)]
struct PageCursor(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Result<ListPage, McpClientError> {
        ListPage::from_result(UpstreamListKind::Tools, &RawValue::from_string(raw.to_owned()).unwrap())
    }

    #[test]
    fn one_bad_item_never_loses_the_rest() {
        let page =
            read(r#"{"tools":[{"name":"a"},5,null,{"name":1.50}],"ttlMs":7,"nextCursor":"c"}"#).unwrap();
        let items: Vec<_> = page.items.iter().map(|item| item.get()).collect();
        assert_eq!(items, [r#"{"name":"a"}"#, "5", "null", r#"{"name":1.50}"#]);
        assert_eq!((page.next, page.ttl), (Ok(Some("c".to_owned())), Some(Duration::from_millis(7))));
    }

    #[test]
    fn a_result_without_a_list_is_an_error() {
        for raw in ["{}", "[]", "null", r#"{"tools":null}"#, r#"{"tools":{}}"#, r#"{"prompts":[]}"#] {
            assert!(matches!(read(raw), Err(McpClientError::Malformed(_))), "{raw}");
        }
        assert!(read(r#"{"tools":[]}"#).unwrap().items.is_empty());
    }

    #[test]
    fn an_invalid_cursor_is_reported() {
        assert_eq!(read(r#"{"tools":[],"nextCursor":null}"#).unwrap().next, Ok(None));
        assert!(read(r#"{"tools":[],"nextCursor":5}"#).unwrap().next.is_err());
        assert_eq!(read(r#"{"tools":[],"ttlMs":-1}"#).unwrap().ttl, None);
    }
}
