//! Plugins: a manifest with tools, the JavaScript that runs them, and what they ask for.
//!
//! Types, and a reader that keeps the rules. Not here: whether a signature holds (crate `trust`) and how code is run
//! (crate `sandbox`).
//!
//! | look for | in |
//! | --- | --- |
//! | the members | [`ManifestFields`], [`PluginTool`] |
//! | the rules | [`Manifest::read`] |
//! | what may be asked for | [`PluginPermissions`], [`HostPattern`] |
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
pub use ids::{ContentHash, InvalidWord, KeyId, MAX_ID_CHARS, PluginId, PluginSigner};
pub use permissions::{MAX_HOSTS, PluginPermissions, Storage};
pub use read::ManifestError;
pub use signature::PluginSignature;

/// The form of manifests that this program writes.
pub const SCHEMA_VERSION: u32 = 1;
/// What a manifest says that it is, where it says so. Key lists and revocations say something else, so that a signature
/// over one kind of document never holds for another.
pub const TYPE: &str = "toolyard/plugin";
/// Largest manifest.
pub const MAX_MANIFEST_BYTES: usize = 1024 * 1024;
/// Most tools of one plugin: as many as a chat request takes.
pub const MAX_TOOLS: usize = 64;
/// Longest code of one tool.
pub const MAX_CODE_BYTES: usize = 256 * 1024;
/// Longest name of a plugin, version, publisher or curator.
pub const MAX_NAME_CHARS: usize = 100;
/// Longest URL.
pub const MAX_URL_BYTES: usize = 2048;

/// The members that stand beside what is signed.
pub const OUTSIDE_SIGNATURE: [&str; 3] = ["alg", "keyId", "signature"];

/// A manifest that has kept its rules, and the text that it was read from.
///
/// It can be looked at and not changed, so that members and text never say different things.
#[derive(Debug, Clone)]
pub struct Manifest {
    fields: ManifestFields,
    signature: Option<PluginSignature>,
    raw: Box<str>,
}

impl Manifest {
    /// The text, byte for byte as it came.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The signature beside it, if there is one. Not verified.
    pub fn signature(&self) -> Option<&PluginSignature> {
        self.signature.as_ref()
    }

    /// Whether it is the form without `schemaVersion`.
    pub fn is_older_form(&self) -> bool {
        self.fields.schema_version.is_none()
    }

    /// Whether its code may know the time with these permissions. The older form has no word for permissions and was
    /// written for browsers, where all code knows the time; the time tells nothing about the user, so it always does.
    pub fn may_know_time(&self, granted: &PluginPermissions) -> bool {
        granted.clock || self.is_older_form()
    }

    /// Whether a host of that version is too old for it.
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
