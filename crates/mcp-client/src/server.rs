//! What a server said of itself.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::{
    mcp::{Revision, meta},
    raw::RawFields,
};

use crate::{answer::object, error::ClientError, list::ListKind};

/// What a server said of itself, in its handshake or when it was discovered.
#[derive(Debug, Clone)]
pub struct Server {
    /// What is spoken with it.
    pub revision: Revision,
    /// Which program it is, as it came.
    pub info: Option<Box<RawValue>>,
    /// What it offers, as it came.
    pub capabilities: RawFields,
    /// How a model should use it. Untrusted text.
    pub instructions: Option<String>,
    /// Everything it said.
    pub raw: Box<RawValue>,
    offers: Offers,
}

/// The capabilities that this client acts on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Offers {
    tools: Option<Offer>,
    prompts: Option<Offer>,
    resources: Option<Offer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Offer {
    list_changed: bool,
    subscribe: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    #[serde(default)]
    capabilities: Option<Box<RawValue>>,
    #[serde(default)]
    server_info: Option<Box<RawValue>>,
    #[serde(default)]
    instructions: Option<Box<RawValue>>,
    #[serde(rename = "_meta", default)]
    meta: Option<Box<RawValue>>,
}

impl Server {
    /// Reads the result of `initialize` or `server/discover`. Only what this client acts on has to have the right shape.
    pub(crate) fn read(revision: Revision, raw: Box<RawValue>) -> Result<Self, ClientError> {
        let said: Said = object(&raw)
            .map_err(|error| ClientError::Malformed(format!("what the server says of itself: {error}")))?;
        let capabilities = said.capabilities.as_deref();
        let read = capabilities.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let from_meta =
            || said.meta.and_then(|meta| fields(&meta)?.get(meta::SERVER_INFO).map(RawValue::to_owned));
        Ok(Self {
            revision,
            offers: read.unwrap_or_default(),
            capabilities: capabilities.and_then(fields).unwrap_or_default(),
            info: said.server_info.or_else(from_meta),
            instructions: said
                .instructions
                .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
                .map(|text| toolyard_protocol::visible::visible(&text).into_owned()),
            raw,
        })
    }

    /// Whether it has such a list.
    pub fn offers(&self, kind: ListKind) -> bool {
        self.offer(kind).is_some()
    }

    /// Whether it tells when that list changes.
    pub fn tells_changes(&self, kind: ListKind) -> bool {
        self.offer(kind).is_some_and(|offer| offer.list_changed)
    }

    /// Whether it tells when a single resource changes.
    pub fn tells_updates(&self) -> bool {
        self.offers.resources.as_ref().is_some_and(|offer| offer.subscribe)
    }

    fn offer(&self, kind: ListKind) -> Option<&Offer> {
        match kind {
            ListKind::Tools => self.offers.tools.as_ref(),
            ListKind::Prompts => self.offers.prompts.as_ref(),
            ListKind::Resources | ListKind::Templates => self.offers.resources.as_ref(),
        }
    }
}

fn fields(raw: &RawValue) -> Option<RawFields> {
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
        let server = Server::read(Revision::NEWEST, to_raw(&said)).unwrap();
        assert_eq!(server.info.as_deref().unwrap().get(), r#"{"name":"a"}"#);
        assert_eq!(server.instructions.as_deref(), Some("be kind"));
        assert!(server.offers(ListKind::Tools) && server.tells_changes(ListKind::Tools));
        assert!(server.offers(ListKind::Templates) && !server.tells_changes(ListKind::Resources));
        assert!(!server.offers(ListKind::Prompts) && !server.tells_updates());

        let odd = json!({ "serverInfo": { "name": "b" }, "capabilities": { "tools": 5 }, "instructions": 7, "_meta": [] });
        let server = Server::read(Revision::NEWEST, to_raw(&odd)).unwrap();
        assert_eq!(server.info.as_deref().unwrap().get(), r#"{"name":"b"}"#);
        assert_eq!((server.instructions.as_deref(), server.offers(ListKind::Tools)), (None, false));
        assert!(Server::read(Revision::NEWEST, to_raw(&json!([]))).is_err());
    }
}
