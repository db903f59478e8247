//! What an update changes that the user has to be asked about again.

use std::cmp::Ordering;

use serde::Serialize;
use toolyard_protocol::plugin::{Manifest, PluginPermissions, PluginSignature};

/// How one manifest differs from the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestChange {
    /// It is another plugin, and no update at all.
    pub other_plugin: bool,
    /// What it asks for now and did not before.
    pub asks_for_more: PluginPermissions,
    /// The version is lower than it was: somebody may be bringing back an old fault.
    pub downgrade: bool,
    /// Another publisher is named.
    pub publisher_changed: bool,
    /// Another key signed it, or none does any more.
    pub signer_changed: bool,
    /// Tools that were not there.
    pub tools_added: Vec<String>,
    /// Tools that are gone.
    pub tools_removed: Vec<String>,
}

impl ManifestChange {
    /// Whether the user has to agree again before it takes the place of the old one.
    pub fn needs_consent(&self) -> bool {
        self.other_plugin
            || self.downgrade
            || self.publisher_changed
            || self.signer_changed
            || !self.asks_for_more.is_empty()
    }
}

/// What the new manifest changes. Says nothing of whether it is believed.
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

/// Versions that cannot be compared count as lower, where they differ: nobody can say that they are not.
fn is_lower(new: &str, old: &str) -> bool {
    match (semver::Version::parse(new), semver::Version::parse(old)) {
        (Ok(new), Ok(old)) => new.cmp_precedence(&old) == Ordering::Less,
        _ => new != old,
    }
}
