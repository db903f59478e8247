//! Plugins: a manifest with tools, the JavaScript that runs them, and the permissions they need.
//!
//! Types, and a parser that enforces the rules. Signatures are verified in crate `trust`; code runs in crate
//! `sandbox`.
//!
//! | look for | in |
//! | --- | --- |
//! | the members | [`ManifestFields`], [`PluginTool`] |
//! | the rules | [`Manifest::parse`] |
//! | permissions | [`PluginPermissions`], [`HostPattern`] |
//! | JSON that can be signed | [`strict`] |

mod fields;
mod host;
mod ids;
mod permissions;
mod read;
mod signature;
pub mod strict;

use std::ops::Deref;

pub use fields::{ManifestFields, PluginTool};
pub use host::{HostPattern, InvalidHost, MAX_HOST_CHARS};
pub use ids::{ContentHash, InvalidManifestId, KeyId, MAX_ID_CHARS, PluginId, PluginSigner};
pub use permissions::{MAX_HOSTS, PluginPermissions, Storage};
pub use read::ManifestError;
pub use signature::PluginSignature;

/// The manifest version that this program writes.
pub const SCHEMA_VERSION: u32 = 1;
/// The document type of a manifest. Key lists and revocation lists have other types, so that a signature
/// over one kind of document is never valid for another.
pub const TYPE: &str = "toolyard/plugin";
/// Largest manifest.
pub const MAX_MANIFEST_BYTES: usize = 1024 * 1024;
/// Maximum number of tools of one plugin: as many as a chat request accepts.
pub const MAX_TOOLS: usize = 64;
/// Longest code of one tool.
pub const MAX_CODE_BYTES: usize = 256 * 1024;
/// Longest name of a plugin, version, publisher or curator.
pub const MAX_NAME_CHARS: usize = 100;
/// Longest URL.
pub const MAX_URL_BYTES: usize = 2048;

/// The members that a signature does not cover.
pub const OUTSIDE_SIGNATURE: [&str; 3] = ["alg", "keyId", "signature"];

/// A valid manifest, and the text that it was parsed from.
///
/// Read-only, so that members and text never differ.
#[derive(Debug, Clone)]
pub struct Manifest {
    fields: ManifestFields,
    signature: Option<PluginSignature>,
    raw: Box<str>,
}

impl Manifest {
    /// The text, byte for byte as received.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The signature, if there is one. Not verified.
    pub fn signature(&self) -> Option<&PluginSignature> {
        self.signature.as_ref()
    }

    /// Whether it is the older form, without `schemaVersion`.
    pub fn is_older_form(&self) -> bool {
        self.fields.schema_version.is_none()
    }

    /// Whether its code may read the clock with these permissions. The older form has no permissions and was
    /// written for browsers, where all code can read the clock. The time reveals nothing about the user, so it is always allowed.
    pub fn may_know_time(&self, granted: &PluginPermissions) -> bool {
        granted.clock || self.is_older_form()
    }

    /// Whether it requires a newer host than this version.
    pub fn needs_newer_host(&self, host: &semver::Version) -> bool {
        let least = self.fields.min_host_version.as_deref().map(semver::Version::parse);
        matches!(least, Some(Ok(least)) if *host < least)
    }
}

impl Deref for Manifest {
    type Target = ManifestFields;

    fn deref(&self) -> &ManifestFields {
        &self.fields
    }
}

/// JSON Schema of manifests.
pub fn manifest_schema() -> serde_json::Value {
    schemars::schema_for!(ManifestFields).into()
}
