//! The changes of an update that need the user's consent.

use std::cmp::Ordering;

use serde::Serialize;
use toolyard_protocol::plugin::{Manifest, PluginPermissions, PluginSignature};

/// How one manifest differs from its predecessor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestChange {
    /// It is a different plugin, not an update.
    pub other_plugin: bool,
    /// Permissions that are new.
    pub asks_for_more: PluginPermissions,
    /// The version is lower than before, which may bring back an old vulnerability.
    pub downgrade: bool,
    /// The publisher changed.
    pub publisher_changed: bool,
    /// It is signed by another key, or not signed any more.
    pub signer_changed: bool,
    /// New tools.
    pub tools_added: Vec<String>,
    /// Removed tools.
    pub tools_removed: Vec<String>,
}

impl ManifestChange {
    /// Whether the user must agree again before it replaces the old one.
    pub fn needs_consent(&self) -> bool {
        self.other_plugin
            || self.downgrade
            || self.publisher_changed
            || self.signer_changed
            || !self.asks_for_more.is_empty()
    }
}

/// What the new manifest changes. Does not check whether it is trusted.
pub fn compare_manifests(old: &Manifest, new: &Manifest) -> ManifestChange {
    ManifestChange {
        other_plugin: old.id != new.id,
        asks_for_more: new.permissions.added_since(&old.permissions),
        downgrade: is_lower(&new.version, &old.version),
        publisher_changed: old.publisher != new.publisher,
        signer_changed: signer_key(old) != signer_key(new),
        tools_added: missing_in(old, new),
        tools_removed: missing_in(new, old),
    }
}

/// Tools of `here` that `there` does not have.
fn missing_in(there: &Manifest, here: &Manifest) -> Vec<String> {
    let new = here.tools.iter().filter(|tool| there.tools.iter().all(|other| other.name != tool.name));
    new.map(|tool| tool.name.clone()).collect()
}

fn signer_key(manifest: &Manifest) -> Option<(&'static str, Option<&str>)> {
    match manifest.signature()? {
        signature @ PluginSignature::Ed25519 { key, .. } => Some((signature.alg(), Some(key.as_str()))),
        signature @ PluginSignature::Rs256 { key, .. } => Some((signature.alg(), key.as_deref())),
    }
}

/// Versions that cannot be compared count as lower if they differ, to be safe.
fn is_lower(new: &str, old: &str) -> bool {
    match (semver::Version::parse(new), semver::Version::parse(old)) {
        (Ok(new), Ok(old)) => new.cmp_precedence(&old) == Ordering::Less,
        _ => new != old,
    }
}
