//! What a server said of itself.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::{
    mcp::{McpRevision, meta},
    raw::RawFields,
};

use crate::{error::McpClientError, list::UpstreamListKind, reply::parse_object};

/// What a server said of itself, in its handshake or when it was discovered.
#[derive(Debug, Clone)]
pub struct ServerDescription {
    /// What is spoken with it.
    pub revision: McpRevision,
    /// Which program it is, as it came.
    pub info: Option<Box<RawValue>>,
    /// What it offers, as it came.
    pub capabilities: RawFields,
    /// How a model should use it. Untrusted text.
    pub instructions: Option<String>,
    /// Everything it said.
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
    /// Reads the result of `initialize` or `server/discover`. Only what this client acts on has to have the right shape.
    pub(crate) fn from_result(revision: McpRevision, raw: Box<RawValue>) -> Result<Self, McpClientError> {
        let said: RawServerDescription = parse_object(&raw)
            .map_err(|error| McpClientError::Malformed(format!("what the server says of itself: {error}")))?;
        let capabilities = said.capabilities.as_deref();
        let read = capabilities.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let from_meta =
            || said.meta.and_then(|meta| parse_fields(&meta)?.get(meta::SERVER_INFO).map(RawValue::to_owned));
        Ok(Self {
            revision,
            offers: read.unwrap_or_default(),
            capabilities: capabilities.and_then(parse_fields).unwrap_or_default(),
            info: said.server_info.or_else(from_meta),
            instructions: said
                .instructions
                .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
                .map(|text| toolyard_protocol::visible::strip_invisible(&text).into_owned()),
            raw,
        })
    }

    /// Whether it has such a list.
    pub fn has_list(&self, kind: UpstreamListKind) -> bool {
        self.list_capability(kind).is_some()
    }

    /// Whether it tells when that list changes.
    pub fn notifies_list_changes(&self, kind: UpstreamListKind) -> bool {
        self.list_capability(kind).is_some_and(|offer| offer.list_changed)
    }

    /// Whether it tells when a single resource changes.
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
    fn identity_is_read_from_either_place_and_oddities_do_no_harm() {
        let said = json!({ "capabilities": { "tools": { "listChanged": true }, "resources": {} },
            "_meta": { meta::SERVER_INFO: { "name": "a" } }, "instructions": "be\u{200b} kind" });
        let server = ServerDescription::from_result(McpRevision::NEWEST, to_raw(&said)).unwrap();
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
