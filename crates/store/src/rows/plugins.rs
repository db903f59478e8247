//! Users' plugins and their data.

use sqlx::FromRow;
use toolyard_core::ports::{InstalledPlugin, PluginNamespace, PluginSwitch, StoreError};
use toolyard_protocol::plugin::ContentHash;

use super::{parse_column, to_timestamp};

/// Most plugins of one user in one list.
pub(crate) const MAX_PLUGINS: i64 = 1_000;
/// Most keys in one list; the quota of a plugin is smaller.
pub(crate) const MAX_KEYS: i64 = 10_000;

#[derive(FromRow)]
pub(crate) struct PluginRow {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) manifest: String,
    pub(crate) hash: String,
    pub(crate) status: String,
    pub(crate) granted: String,
    pub(crate) enabled: bool,
    pub(crate) stopped: Option<String>,
    pub(crate) installed_at: i64,
}

impl PluginRow {
    pub(crate) fn into_plugin(self) -> Result<InstalledPlugin, StoreError> {
        let switch = match (self.enabled, self.stopped) {
            (true, _) => PluginSwitch::On,
            (false, Some(why)) => PluginSwitch::Stopped(why),
            (false, None) => PluginSwitch::Off,
        };
        Ok(InstalledPlugin {
            id: parse_column("id of a plugin", &self.id)?,
            version: self.version,
            manifest: self.manifest,
            // A damaged row must not hide the user's other plugins: no content has this hash, so the plugin cannot run.
            hash: self.hash.parse().unwrap_or_else(|_| ContentHash::from_digest(&[0; 32])),
            status: self.status,
            granted: serde_json::from_str(&self.granted).unwrap_or_default(),
            switch,
            at: to_timestamp(self.installed_at),
        })
    }
}

/// The two columns of a switch.
pub(crate) fn switch_columns(switch: &PluginSwitch) -> (bool, Option<&str>) {
    match switch {
        PluginSwitch::On => (true, None),
        PluginSwitch::Off => (false, None),
        PluginSwitch::Stopped(why) => (false, Some(why)),
    }
}

/// The columns of a namespace: user, plugin and signer.
pub(crate) fn namespace_key(shelf: &PluginNamespace) -> [&str; 3] {
    [shelf.user.as_str(), shelf.id.as_str(), shelf.signer.as_str()]
}
