//! Quotas: how much one person may store. The store counts inside the transaction that writes, so that two concurrent
//! requests cannot both take the last place.

use super::StoreError;

/// What a quota limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaKind {
    /// Apps registered by one developer.
    AppsPerDeveloper,
    /// Upstreams added by one developer.
    UpstreamsPerDeveloper,
    /// Apps installed by one user.
    InstallsPerUser,
    /// Tools switched off by one user.
    SwitchedOffTools,
    /// Tools for which one user chose always, ask or never.
    ToolChoices,
    /// Total size of one user's app settings, in bytes.
    SettingsBytesPerUser,
    /// Plugin versions of one curator in the catalogue.
    CatalogueVersionsPerCurator,
}

impl QuotaKind {
    /// The configuration key of the limit.
    pub const fn config_key(self) -> &'static str {
        match self {
            Self::AppsPerDeveloper => "quotas.apps_per_developer",
            Self::UpstreamsPerDeveloper => "quotas.upstreams_per_developer",
            Self::InstallsPerUser => "quotas.installs_per_user",
            Self::SwitchedOffTools => "quotas.switched_off_tools_per_user",
            Self::ToolChoices => "quotas.tool_choices_per_user",
            Self::SettingsBytesPerUser => "quotas.settings_bytes_per_user",
            Self::CatalogueVersionsPerCurator => "quotas.catalogue_versions_per_curator",
        }
    }

    /// What is counted, and how to free some of it.
    const fn count_and_advice(self) -> (&'static str, &'static str) {
        match self {
            Self::AppsPerDeveloper => ("apps of one developer", "remove an app"),
            Self::UpstreamsPerDeveloper => ("upstreams of one developer", "remove an upstream"),
            Self::InstallsPerUser => ("installed apps of one user", "uninstall an app"),
            Self::SwitchedOffTools => {
                ("switched-off tools of one user", "switch a tool on, or uninstall its app")
            }
            Self::ToolChoices => ("approval choices of one user", "remove the choice for a tool"),
            Self::SettingsBytesPerUser => {
                ("bytes of settings of one user", "shorten the values or uninstall an app")
            }
            Self::CatalogueVersionsPerCurator => {
                ("plugin versions of one curator in the catalogue", "have another curator publish")
            }
        }
    }
}

/// A quota that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the limit of {most} {} is reached; {}, or ask the operator to raise `{}`",
    .quota.count_and_advice().0, .quota.count_and_advice().1, .quota.config_key()
)]
pub struct QuotaReached {
    /// Which quota.
    pub quota: QuotaKind,
    /// Its limit.
    pub most: u64,
}

impl QuotaKind {
    /// Fails if `count` exceeds `most`.
    pub fn check(self, count: u64, most: u64) -> Result<(), StoreError> {
        if count > most { Err(QuotaReached { quota: self, most }.into()) } else { Ok(()) }
    }
}

/// The limits, and how much history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreQuotas {
    /// Apps of one developer.
    pub apps_per_developer: u64,
    /// Upstreams of one developer, not counting those in the configuration file.
    pub upstreams_per_developer: u64,
    /// Installed apps of one user.
    pub installs_per_user: u64,
    /// Switched-off tools of one user.
    pub switched_off_tools_per_user: u64,
    /// Approval choices of one user.
    pub tool_choices_per_user: u64,
    /// Bytes of one user's settings.
    pub settings_bytes_per_user: u64,
    /// Versions of one curator in the catalogue.
    pub catalogue_versions_per_curator: u64,
    /// Versions of an app's tools that are kept. Publishing removes older ones, but never the current one.
    pub tool_versions_per_app: u64,
    /// Users' last devices that are kept; the least recently seen are removed first.
    pub remembered_devices: u64,
}

impl Default for StoreQuotas {
    fn default() -> Self {
        Self {
            apps_per_developer: 200,
            upstreams_per_developer: 100,
            installs_per_user: 500,
            switched_off_tools_per_user: 5_000,
            tool_choices_per_user: 5_000,
            settings_bytes_per_user: 4 * 1024 * 1024,
            catalogue_versions_per_curator: 2_000,
            tool_versions_per_app: 100,
            remembered_devices: 100_000,
        }
    }
}
