//! A manifest as it is written: its members and their types. The rules on top of that are in `read`.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    MAX_CODE_BYTES, MAX_NAME_CHARS, MAX_TOOLS, MAX_URL_BYTES, SCHEMA_VERSION,
    ids::{ContentHash, PluginId},
    permissions::PluginPermissions,
};
use crate::{chat::ClientTool, tool::MAX_DESCRIPTION_BYTES};

/// A plugin: tools, the JavaScript that runs them, and what they ask for.
///
/// A signature covers the canonical form (RFC 8785) of everything but the members `alg`, `keyId` and `signature`;
/// members that are not listed here are allowed and covered too. Without `schemaVersion` it is the older form: no
/// publisher is needed, and the version may be any text.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    title = "Plugin manifest",
    extend("dependentRequired" = {
        "schemaVersion": ["publisher"],
        "alg": ["signature"],
        "keyId": ["signature"],
    })
)]
pub struct ManifestFields {
    /// What this document is, where it says so.
    #[serde(rename = "type")]
    #[schemars(extend("const" = super::TYPE))]
    pub kind: Option<String>,
    /// Which form this is; absent in the older one.
    #[schemars(range(min = SCHEMA_VERSION, max = SCHEMA_VERSION))]
    pub schema_version: Option<u32>,
    /// Its name among all plugins. It never changes.
    pub id: PluginId,
    /// For people.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub name: String,
    /// Semantic version, such as `1.2.0`.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub version: String,
    /// Who makes it, for people. Who signed it is another question.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub publisher: Option<String>,
    /// What it is good for, for people.
    #[serde(default)]
    #[schemars(length(max = MAX_DESCRIPTION_BYTES))]
    pub description: String,
    /// Where to read more: an https URL.
    #[schemars(length(max = MAX_URL_BYTES), extend("pattern" = "^https://"))]
    pub homepage: Option<String>,
    /// What it asks for.
    #[serde(default)]
    pub permissions: PluginPermissions,
    /// Its tools.
    #[schemars(length(min = 1, max = MAX_TOOLS))]
    pub tools: Vec<PluginTool>,
    /// The oldest host that can run it, as a semantic version.
    pub min_host_version: Option<String>,
    /// When it was made.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub issued_at: Option<Timestamp>,
    /// From when on it is not run any more.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub expires_at: Option<Timestamp>,
    /// How it is signed: `Ed25519`, or `RS256` as the older form has it.
    #[schemars(extend("enum" = ["Ed25519", "RS256", null]))]
    pub alg: Option<String>,
    /// Which key signed it: the first 16 hex digits of SHA-256 of the public key.
    pub key_id: Option<String>,
    /// The signature, in base64.
    pub signature: Option<String>,
    /// Older form: SHA-256 of the canonical form of `tools`, which `signature` covers as text.
    pub content_hash: Option<ContentHash>,
    /// Older form: whose key it is.
    #[schemars(length(max = MAX_NAME_CHARS))]
    pub curator_id: Option<String>,
    /// Older form: where it was fetched from. Never followed.
    #[schemars(length(max = MAX_URL_BYTES))]
    pub source_url: Option<String>,
    /// Older form: when a store put it there. Means nothing here.
    pub installed_at: Option<String>,
}

/// One tool of a plugin.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginTool {
    /// Letters, digits and `_`, a letter first.
    #[schemars(regex(pattern = "^[A-Za-z][A-Za-z0-9_]{0,63}$"))]
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    #[schemars(length(max = MAX_DESCRIPTION_BYTES))]
    pub description: String,
    /// JSON Schema of its arguments, an object, as it came.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub parameters: Box<RawValue>,
    /// The body of an async function over `args`. What it returns is the result, as JSON.
    #[schemars(length(min = 1, max = MAX_CODE_BYTES))]
    pub executor_code: String,
    /// Hints for the host, as MCP has them. Hints are no permissions.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub annotations: Option<Box<RawValue>>,
}

impl PluginTool {
    /// The tool as chat requests carry it: without its code.
    pub fn to_client_tool(&self) -> ClientTool {
        ClientTool {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: serde_json::from_str(self.parameters.get()).unwrap_or_default(),
        }
    }
}
