//! The allow list: unsigned plugins that may run, one entry each.

use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, PluginId, PluginPermissions};

/// The unsigned plugins that the user or the operator allows. There is no way to allow all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllowList(pub Vec<AllowListEntry>);

/// One unsigned plugin that may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowListEntry {
    /// The plugin.
    pub id: PluginId,
    /// Only this content. Without it, any content under that id: for plugin development.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ContentHash>,
    /// The maximum permissions, as shown when it was allowed. Later requests for more are ignored.
    #[serde(default)]
    pub permissions: PluginPermissions,
}

impl AllowList {
    /// The entry for a plugin; an entry for exactly this content takes precedence.
    pub(crate) fn find_entry(&self, id: &PluginId, hash: &ContentHash) -> Option<&AllowListEntry> {
        let exactly =
            |allowed: &&AllowListEntry| allowed.id == *id && allowed.content_hash.as_ref() == Some(hash);
        let any = |allowed: &&AllowListEntry| allowed.id == *id && allowed.content_hash.is_none();
        self.0.iter().find(exactly).or_else(|| self.0.iter().find(any))
    }
}
