//! The members of a manifest and their types. Further rules are in `read`.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    MAX_CODE_BYTES, MAX_NAME_CHARS, MAX_TOOLS, MAX_URL_BYTES, SCHEMA_VERSION,
    ids::{ContentHash, PluginId},
    permissions::PluginPermissions,
};
use crate::{chat::ClientTool, tool::MAX_DESCRIPTION_BYTES};

/// A plugin: tools, the JavaScript that runs them, and the permissions they need.
///
/// A signature covers the canonical form (RFC 8785) of everything except the members `alg`, `keyId` and `signature`.
/// Members that are not listed here are allowed and covered too. Without `schemaVersion` it is the older form: no
/// publisher is required, and the version may be any text.
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
    /// The document type, if given.
    #[serde(rename = "type")]
    #[schemars(extend("const" = super::TYPE))]
    pub kind: Option<String>,
    /// The version of this format; missing in the older form.
    #[schemars(range(min = SCHEMA_VERSION, max = SCHEMA_VERSION))]
    pub schema_version: Option<u32>,
    /// Its unique id. It never changes.
    pub id: PluginId,
    /// Display name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub name: String,
    /// Semantic version, such as `1.2.0`.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub version: String,
    /// The publisher, for display. The signer is independent of it.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub publisher: Option<String>,
    /// What it does, for display.
    #[serde(default)]
    #[schemars(length(max = MAX_DESCRIPTION_BYTES))]
    pub description: String,
    /// Where to read more: an https URL.
    #[schemars(length(max = MAX_URL_BYTES), extend("pattern" = "^https://"))]
    pub homepage: Option<String>,
    /// The permissions it requests.
    #[serde(default)]
    pub permissions: PluginPermissions,
    /// Its tools.
    #[schemars(length(min = 1, max = MAX_TOOLS))]
    pub tools: Vec<PluginTool>,
    /// The oldest host version that can run it, as a semantic version.
    pub min_host_version: Option<String>,
    /// When it was issued.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub issued_at: Option<Timestamp>,
    /// When it expires. It does not run afterwards.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub expires_at: Option<Timestamp>,
    /// The signature algorithm: `Ed25519`, or `RS256` in the older form.
    #[schemars(extend("enum" = ["Ed25519", "RS256", null]))]
    pub alg: Option<String>,
    /// The key that signed it: the first 16 hex digits of SHA-256 of the public key.
    pub key_id: Option<String>,
    /// The signature, in base64.
    pub signature: Option<String>,
    /// Older form: SHA-256 of the canonical form of `tools`, which `signature` covers as text.
    pub content_hash: Option<ContentHash>,
    /// Older form: the owner of the key.
    #[schemars(length(max = MAX_NAME_CHARS))]
    pub curator_id: Option<String>,
    /// Older form: where it was downloaded from. Never fetched.
    #[schemars(length(max = MAX_URL_BYTES))]
    pub source_url: Option<String>,
    /// Older form: when a store added it. Ignored here.
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
    /// JSON Schema of its arguments, an object, as received.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub parameters: Box<RawValue>,
    /// The body of an async function with the parameter `args`. Its return value is the result, as JSON.
    #[schemars(length(min = 1, max = MAX_CODE_BYTES))]
    pub executor_code: String,
    /// Hints for the host, as in MCP. Hints are not permissions.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub annotations: Option<Box<RawValue>>,
}

impl PluginTool {
    /// The tool as in chat requests: without its code.
    pub fn to_client_tool(&self) -> ClientTool {
        ClientTool {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: serde_json::from_str(self.parameters.get()).unwrap_or_default(),
        }
    }
}
