//! Reads the configuration again while the server runs, and applies what can change without a restart.
//!
//! | look for | in |
//! | --- | --- |
//! | which settings can be reloaded | `settings` |
//! | which settings changed, and the configuration that results | `compare` |
//! | how a setting reaches its part | `apply` |
//!
//! An invalid configuration changes nothing. Settings that need a restart keep the value of the start, and every reload names
//! them until then.

mod apply;
mod compare;
mod settings;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::{sync::Mutex, task::spawn_blocking};
use toolyard_core::ports::StoreError;

pub(crate) use self::apply::LiveParts;
pub use self::settings::{RELOAD_RULES, ReloadRule, SectionRule, reload_rule};
use self::{
    apply::PreparedSettings,
    compare::{ChangedSetting, changed_settings, with_changes},
};
use crate::{
    config::{Config, ConfigLoadError, ConfigSources, load_config},
    process::StopTimeout,
    state::ServerState,
    telemetry::LogFilter,
};

/// What a server needs to reload its configuration.
#[derive(Debug)]
pub struct ReloadSources {
    /// Where the configuration comes from.
    pub sources: ConfigSources,
    /// The configuration that was loaded from there, with which the server starts.
    pub loaded: Config,
    /// The logger. Without one, `log.filter` needs a restart.
    pub log_filter: Option<LogFilter>,
    /// How long a stop may take. It follows `server.drain_ms`.
    pub stop_timeout: Option<StopTimeout>,
}

/// Reloads the configuration, one reload at a time.
#[derive(Debug)]
pub(crate) struct ConfigReloader {
    sources: ConfigSources,
    log_filter: Option<LogFilter>,
    stop_timeout: Option<StopTimeout>,
    /// The loaded configuration that is in force. It differs from the one of the server's state in what the start resolved,
    /// such as the port.
    loaded: Mutex<Config>,
}

impl ConfigReloader {
    pub(crate) fn new(reload: ReloadSources) -> Self {
        let ReloadSources { sources, loaded, log_filter, stop_timeout } = reload;
        Self { sources, log_filter, stop_timeout, loaded: Mutex::new(loaded) }
    }

    fn rule_of(&self, changed: &ChangedSetting) -> ReloadRule {
        match reload_rule(&changed.section, &changed.key) {
            Some(ReloadRule::Live) if changed.is("log", "filter") && self.log_filter.is_none() => {
                ReloadRule::Restart
            }
            Some(rule) => rule,
            None => ReloadRule::Restart,
        }
    }
}

/// What a reload changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadReport {
    /// Settings that changed and are in force now.
    pub applied: Vec<AppliedSetting>,
    /// Settings that differ from the running server and take effect after a restart.
    pub needs_restart: Vec<WaitingSetting>,
    /// Whether nothing differs from the running server.
    pub unchanged: bool,
}

/// A setting that was changed by a reload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedSetting {
    /// `section.key`
    pub setting: String,
    /// The value before. Missing if it may contain a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// The value in force. Missing if it may contain a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// A setting that takes effect after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingSetting {
    /// `section.key`
    pub setting: String,
}

/// Why a configuration is not applied.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// This server was not started from a configuration that can be read again.
    #[error("this server has no configuration to reload: a program embeds it, and chooses its settings")]
    NoSources,
    /// The configuration is invalid.
    #[error("{}; nothing was changed", .0.without_source())]
    Load(#[from] ConfigLoadError),
    /// A setting that is only checked when it is used.
    #[error("configuration: {0}; nothing was changed")]
    Invalid(String),
    /// The store failed while settings were applied.
    #[error("the store failed, so not all settings are applied: {0}; reload again when it works")]
    Store(#[from] StoreError),
}

/// Reads the configuration, applies what can be applied, and logs and returns what changed.
pub async fn reload_config(state: &ServerState) -> Result<ReloadReport, ReloadError> {
    let reloaded = reload(state).await;
    match &reloaded {
        Ok(report) => log_report(report),
        Err(error) => tracing::error!(%error, "configuration not reloaded"),
    }
    reloaded
}

async fn reload(state: &ServerState) -> Result<ReloadReport, ReloadError> {
    let reloader = state.reloader.as_ref().ok_or(ReloadError::NoSources)?;
    let mut loaded = reloader.loaded.lock().await;
    let sources = reloader.sources.clone();
    let failed = |_| ReloadError::Invalid("reading it was interrupted".to_owned());
    let wanted = spawn_blocking(move || load_config(sources)).await.map_err(failed)??;
    let (live, waiting): (Vec<_>, Vec<_>) = changed_settings(&loaded, &wanted)
        .into_iter()
        .partition(|changed| reloader.rule_of(changed) == ReloadRule::Live);
    if !live.is_empty() {
        let config = with_changes(&state.config.load(), &live).map_err(ReloadError::Invalid)?;
        let settings = PreparedSettings::prepare(config, reloader, &live)?;
        settings.apply(state).await?;
        *loaded = with_changes(&loaded, &live).map_err(ReloadError::Invalid)?;
    }
    Ok(ReloadReport {
        unchanged: live.is_empty() && waiting.is_empty(),
        applied: live.into_iter().map(ChangedSetting::into_applied).collect(),
        needs_restart: waiting.iter().map(|changed| WaitingSetting { setting: changed.name() }).collect(),
    })
}

fn log_report(report: &ReloadReport) {
    for AppliedSetting { setting, from, to } in &report.applied {
        match (from, to) {
            (Some(from), Some(to)) => tracing::info!(setting, %from, %to, "setting changed"),
            _ => tracing::info!(setting, "setting changed"),
        }
    }
    for WaitingSetting { setting } in &report.needs_restart {
        tracing::warn!(setting, "setting takes effect after a restart");
    }
    let (applied, needs_restart) = (report.applied.len(), report.needs_restart.len());
    tracing::info!(applied, needs_restart, "configuration reloaded");
}
