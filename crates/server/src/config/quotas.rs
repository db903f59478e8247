//! The section `[quotas]`: how much one person may store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::{StoreQuotas, TokenQuota};

/// How much one person may store. A request beyond a quota is refused, and the error names the quota.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuotaConfig {
    /// Apps that one developer may register.
    pub apps_per_developer: u64,
    /// Upstreams that one developer may add. Those in the configuration file do not count.
    pub upstreams_per_developer: u64,
    /// Stored versions of an app's tool set. Publishing another one removes the oldest, never the current one.
    pub tool_versions_per_app: u64,
    /// Apps that one user may install.
    pub installs_per_user: u64,
    /// Tools that one user may disable.
    pub switched_off_tools_per_user: u64,
    /// Tools for which one user may choose always, ask or never.
    pub tool_choices_per_user: u64,
    /// Bytes of one user's settings, over all apps.
    pub settings_bytes_per_user: u64,
    /// Tokens of one user that have not expired. Revoked tokens count until they expire.
    pub tokens_per_user: u32,
    /// Tokens of all users that have not expired.
    pub tokens: u32,
    /// Plugin versions that one curator may have in the catalogue.
    pub catalogue_versions_per_curator: u64,
    /// Users whose last device is remembered. The least recently seen are forgotten first.
    pub remembered_devices: u64,
}

impl Default for QuotaConfig {
    fn default() -> Self {
        let store = StoreQuotas::default();
        Self {
            apps_per_developer: store.apps_per_developer,
            upstreams_per_developer: store.upstreams_per_developer,
            tool_versions_per_app: store.tool_versions_per_app,
            installs_per_user: store.installs_per_user,
            switched_off_tools_per_user: store.switched_off_tools_per_user,
            tool_choices_per_user: store.tool_choices_per_user,
            settings_bytes_per_user: store.settings_bytes_per_user,
            tokens_per_user: 100,
            tokens: 100_000,
            catalogue_versions_per_curator: store.catalogue_versions_per_curator,
            remembered_devices: store.remembered_devices,
        }
    }
}

impl QuotaConfig {
    /// The quotas that the store enforces.
    pub(crate) fn store_quotas(&self) -> StoreQuotas {
        StoreQuotas {
            apps_per_developer: self.apps_per_developer,
            upstreams_per_developer: self.upstreams_per_developer,
            installs_per_user: self.installs_per_user,
            switched_off_tools_per_user: self.switched_off_tools_per_user,
            tool_choices_per_user: self.tool_choices_per_user,
            settings_bytes_per_user: self.settings_bytes_per_user,
            catalogue_versions_per_curator: self.catalogue_versions_per_curator,
            tool_versions_per_app: self.tool_versions_per_app.max(1),
            remembered_devices: self.remembered_devices,
        }
    }

    /// The quotas of tokens.
    pub(crate) fn token_quota(&self) -> TokenQuota {
        TokenQuota { of_subject: self.tokens_per_user, of_all: self.tokens }
    }
}
