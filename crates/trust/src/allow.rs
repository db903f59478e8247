//! Unsigned plugins that somebody lets run all the same, one by one.

use serde::{Deserialize, Serialize};
use toolyard_protocol::plugin::{ContentHash, PluginId, PluginPermissions};

/// What the user or the operator said of unsigned plugins. There is no way to say it of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllowList(pub Vec<AllowListEntry>);

/// One unsigned plugin that may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowListEntry {
    /// Which plugin.
    pub id: PluginId,
    /// Only this content. Without it, whatever comes under that id: for those who are writing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ContentHash>,
    /// The most that it gets, as it was seen when it was allowed; what it asks for later does not count.
    #[serde(default)]
    pub permissions: PluginPermissions,
}

impl AllowList {
    /// The entry for a plugin; the one for exactly this content before the one for any.
    pub(crate) fn find_entry(&self, id: &PluginId, hash: &ContentHash) -> Option<&AllowListEntry> {
        let exactly =
            |allowed: &&AllowListEntry| allowed.id == *id && allowed.content_hash.as_ref() == Some(hash);
        let any = |allowed: &&AllowListEntry| allowed.id == *id && allowed.content_hash.is_none();
        self.0.iter().find(exactly).or_else(|| self.0.iter().find(any))
    }
}
