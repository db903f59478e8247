//! How a server describes itself.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::{
    mcp::{McpRevision, meta},
    raw::RawFields,
};

use crate::{error::McpClientError, list::UpstreamListKind, reply::parse_object};

/// How a server described itself in the handshake or when it was discovered.
#[derive(Debug, Clone)]
pub struct ServerDescription {
    /// The negotiated revision.
    pub revision: McpRevision,
    /// Name and version of the server, unchanged.
    pub info: Option<Box<RawValue>>,
    /// Its capabilities, unchanged.
    pub capabilities: RawFields,
    /// How a model should use the server. Untrusted text.
    pub instructions: Option<String>,
    /// The whole result.
    pub raw: Box<RawValue>,
    offers: ServerCapabilities,
}

/// The capabilities that this client acts on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ServerCapabilities {
    tools: Option<ListCapability>,
    prompts: Option<ListCapability>,
    resources: Option<ListCapability>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListCapability {
    list_changed: bool,
    subscribe: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawServerDescription {
    #[serde(default)]
    capabilities: Option<Box<RawValue>>,
    #[serde(default)]
    server_info: Option<Box<RawValue>>,
    #[serde(default)]
    instructions: Option<Box<RawValue>>,
    #[serde(rename = "_meta", default)]
    meta: Option<Box<RawValue>>,
}

impl ServerDescription {
    /// Reads the result of `initialize` or `server/discover`. Only members that this client uses must have the right
    /// shape.
    pub(crate) fn from_result(revision: McpRevision, raw: Box<RawValue>) -> Result<Self, McpClientError> {
        let described: RawServerDescription = parse_object(&raw)
            .map_err(|error| McpClientError::Malformed(format!("the server's description: {error}")))?;
        let capabilities = described.capabilities.as_deref();
        let read = capabilities.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let from_meta = || {
            described
                .meta
                .and_then(|meta| parse_fields(&meta)?.get(meta::SERVER_INFO).map(RawValue::to_owned))
        };
        Ok(Self {
            revision,
            offers: read.unwrap_or_default(),
            capabilities: capabilities.and_then(parse_fields).unwrap_or_default(),
            info: described.server_info.or_else(from_meta),
            instructions: described
                .instructions
                .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
                .map(|text| toolyard_protocol::visible::strip_invisible(&text).into_owned()),
            raw,
        })
    }

    /// Whether the server has this list.
    pub fn has_list(&self, kind: UpstreamListKind) -> bool {
        self.list_capability(kind).is_some()
    }

    /// Whether the server sends a notification when this list changes.
    pub fn notifies_list_changes(&self, kind: UpstreamListKind) -> bool {
        self.list_capability(kind).is_some_and(|offer| offer.list_changed)
    }

    /// Whether the server sends a notification when a single resource changes.
    pub fn notifies_resource_updates(&self) -> bool {
        self.offers.resources.as_ref().is_some_and(|offer| offer.subscribe)
    }

    fn list_capability(&self, kind: UpstreamListKind) -> Option<&ListCapability> {
        match kind {
            UpstreamListKind::Tools => self.offers.tools.as_ref(),
            UpstreamListKind::Prompts => self.offers.prompts.as_ref(),
            UpstreamListKind::Resources | UpstreamListKind::Templates => self.offers.resources.as_ref(),
        }
    }
}

fn parse_fields(raw: &RawValue) -> Option<RawFields> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    #[test]
    fn server_info_is_read_from_either_place_and_odd_values_are_ignored() {
        let described = json!({ "capabilities": { "tools": { "listChanged": true }, "resources": {} },
            "_meta": { meta::SERVER_INFO: { "name": "a" } }, "instructions": "be\u{200b} kind" });
        let server = ServerDescription::from_result(McpRevision::NEWEST, to_raw(&described)).unwrap();
        assert_eq!(server.info.as_deref().unwrap().get(), r#"{"name":"a"}"#);
        assert_eq!(server.instructions.as_deref(), Some("be kind"));
        assert!(
            server.has_list(UpstreamListKind::Tools) && server.notifies_list_changes(UpstreamListKind::Tools)
        );
        assert!(
            server.has_list(UpstreamListKind::Templates)
                && !server.notifies_list_changes(UpstreamListKind::Resources)
        );
        assert!(!server.has_list(UpstreamListKind::Prompts) && !server.notifies_resource_updates());

        let odd = json!({ "serverInfo": { "name": "b" }, "capabilities": { "tools": 5 }, "instructions": 7, "_meta": [] });
        let server = ServerDescription::from_result(McpRevision::NEWEST, to_raw(&odd)).unwrap();
        assert_eq!(server.info.as_deref().unwrap().get(), r#"{"name":"b"}"#);
        assert_eq!((server.instructions.as_deref(), server.has_list(UpstreamListKind::Tools)), (None, false));
        assert!(ServerDescription::from_result(McpRevision::NEWEST, to_raw(&json!([]))).is_err());
    }
}
