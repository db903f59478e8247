//! Tools without method names: list them, call them, react when they change.

use std::{borrow::Cow, collections::HashMap, future::Future, sync::Arc};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use tokio_util::sync::DropGuard;
use toolyard_protocol::{
    mcp::{
        RpcError, method,
        mirrored::{self, MirroredParameter},
    },
    raw::to_raw,
};

use crate::{
    client::McpClient,
    error::McpClientError,
    events::ServerEvent,
    list::{RejectedTool, UpstreamListKind, UpstreamListing},
    reply::UpstreamReply,
    request::RequestOptions,
};

/// Mirrored parameters of the tools that have some, from the last list.
pub(crate) type KnownTools = Mutex<HashMap<String, Arc<[MirroredParameter]>>>;

/// Params of `tools/call`.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallParams<'a> {
    /// The tool.
    pub name: &'a str,
    /// An object; default is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
    /// After [`UpstreamReply::InputRequired`]: the requested input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<&'a RawValue>,
    /// After [`UpstreamReply::InputRequired`]: its state, unchanged, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<&'a RawValue>,
}

impl<'a> ToolCallParams<'a> {
    /// A first call, without input.
    pub fn new(name: &'a str, arguments: Option<&'a RawValue>) -> Self {
        Self { name, arguments, input_responses: None, request_state: None }
    }
}

impl McpClient {
    /// Lists the tools. Over modern HTTP, tools with invalid `x-mcp-header` annotations are left out, as the protocol
    /// requires.
    pub async fn list_tools(&self) -> Result<UpstreamListing, McpClientError> {
        let mut listing = self.list_items(UpstreamListKind::Tools).await?;
        if !self.should_mirror_headers() {
            return Ok(listing);
        }
        let mut known = HashMap::new();
        let (mut left_out, mut accepted) = (Vec::new(), Vec::with_capacity(listing.items.len()));
        for item in listing.items {
            match mirrored_parameters(&item) {
                Some((name, Err(why))) => {
                    tracing::warn!(tool = name, error = why, "tool rejected: invalid header annotations");
                    left_out.push(RejectedTool { name, why });
                    continue;
                }
                Some((name, Ok(mirrored))) if !mirrored.is_empty() => {
                    known.insert(name, mirrored.into());
                }
                _ => {}
            }
            accepted.push(item);
        }
        (listing.items, listing.left_out) = (accepted, left_out);
        *self.link.tools.lock() = known;
        Ok(listing)
    }

    /// Calls a tool. Mirrors parameters into headers as the definition requires, if [`McpClient::list_tools`] has seen
    /// it and the options set none. If the server misses a header, the list is read again, once.
    pub async fn call_tool(
        &self,
        call: ToolCallParams<'_>,
        options: RequestOptions,
    ) -> Result<UpstreamReply, McpClientError> {
        let params = to_raw(&call);
        let own = options.mirrored.is_empty() && self.should_mirror_headers();
        let with_headers = || {
            let mut options = options.clone();
            if own {
                options.mirrored = self.mirrored_headers(call);
            }
            options
        };
        match self.request(method::TOOLS_CALL, Some(&params), with_headers()).await {
            Err(McpClientError::Rpc(error)) if error.code == RpcError::HEADER_MISMATCH && own => {
                tracing::debug!(tool = call.name, %error, "tool may have changed, reading the list again");
                self.list_tools().await?;
                self.request(method::TOOLS_CALL, Some(&params), with_headers()).await
            }
            other => other,
        }
    }

    /// Runs a handler whenever the tools may have changed, one run at a time, until the guard is dropped.
    pub fn on_tool_list_changed<F, R>(&self, mut handler: F) -> ChangeGuard
    where
        F: FnMut() -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let mut events = self.subscribe_events();
        let tasks = &self.link.wire().hub().tasks;
        let stop = tasks.stop_token().child_token();
        let guard = ChangeGuard { _ends: stop.clone().drop_guard() };
        tasks.spawn(stop.run_until_cancelled_owned(async move {
            while let Some(event) = events.next().await {
                if matches!(event, ServerEvent::ToolsChanged | ServerEvent::Missed) {
                    handler().await;
                }
            }
        }));
        guard
    }

    fn should_mirror_headers(&self) -> bool {
        self.link.wire().http().is_some() && self.revision().is_modern()
    }

    fn mirrored_headers(&self, call: ToolCallParams<'_>) -> Vec<(String, String)> {
        let known = self.link.tools.lock().get(call.name).cloned();
        let (Some(known), Some(arguments)) = (known, call.arguments) else { return Vec::new() };
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
        let sent = known.iter().filter_map(|one| Some((one.header.clone(), one.header_value(&arguments)?)));
        sent.collect()
    }
}

/// Runs a change handler until it is dropped.
#[derive(Debug)]
#[must_use = "dropping the guard ends the handler"]
pub struct ChangeGuard {
    _ends: DropGuard,
}

/// Name and mirrored parameters of a definition; `None` if it has no name.
fn mirrored_parameters(definition: &RawValue) -> Option<(String, Result<Vec<MirroredParameter>, String>)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Definition<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow, default)]
        input_schema: Option<&'a RawValue>,
    }
    let definition: Definition<'_> = serde_json::from_str(definition.get()).ok()?;
    let schema = definition.input_schema.map_or("null", RawValue::get);
    // Most schemas do not mention it, and parsing the schema is most of the cost.
    let found = if schema.contains(mirrored::ANNOTATION) {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        mirrored::mirrored_parameters(&schema)
    } else {
        Ok(Vec::new())
    };
    Some((definition.name.into_owned(), found))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mirrored_parameters_are_found_and_invalid_ones_reported() {
        let read = |definition: Value| mirrored_parameters(&to_raw(&definition));
        let tool = |header: Value| {
            json!({ "name": "t", "inputSchema": { "type": "object",
                "properties": { "region": { "type": "string", "x-mcp-header": header } } } })
        };
        let (name, found) = read(tool(json!("Region"))).unwrap();
        assert_eq!((name.as_str(), found.unwrap()[0].header.as_str()), ("t", "mcp-param-region"));
        assert!(read(tool(json!("a b"))).unwrap().1.is_err());
        assert_eq!(read(json!({ "name": "t" })).unwrap().1, Ok(vec![]));
        assert_eq!(read(json!({ "name": 5 })), None);
        assert_eq!(read(json!(5)), None);
    }
}
