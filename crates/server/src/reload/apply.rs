//! How reloaded settings reach the parts that use them. What the state's configuration is asked for at each use needs nothing
//! here.

use std::time::Duration;

use toolyard_core::{
    LiveValue,
    limits::CallLimits,
    policy::{RateLimit, RateLimits, ToolPolicy},
    ports::StoreQuotas,
};
use toolyard_platform::upstreams;
use tracing_subscriber::EnvFilter;

use super::{ConfigReloader, ReloadError, compare::ChangedSetting};
use crate::{
    config::{Config, RateConfig},
    hosts::HostRules,
    parts,
    serve::ServerStartError,
    state::ServerState,
    telemetry::LogFilter,
};

/// Settings that parts of the server share, and that a reload replaces.
pub(crate) struct LiveParts {
    /// The hosts and origins that are allowed.
    pub(crate) hosts: LiveValue<HostRules>,
    /// Limits of calls.
    pub(crate) limits: LiveValue<CallLimits>,
    /// How much one person may store.
    pub(crate) quotas: LiveValue<StoreQuotas>,
    /// Tools that are denied to all users.
    pub(crate) policy: LiveValue<ToolPolicy>,
}

/// The rates of calls; of changes and of costly requests.
type PreparedRates = (RateLimits, [RateLimit; 2]);

/// Settings that were checked and can be applied.
pub(super) struct PreparedSettings<'a> {
    config: Config,
    reloader: &'a ConfigReloader,
    policy: ToolPolicy,
    /// The rates, if one changed: new rates forget what was counted.
    rates: Option<PreparedRates>,
    /// The log filter, if it changed.
    log_filter: Option<EnvFilter>,
    upstreams_changed: bool,
}

impl<'a> PreparedSettings<'a> {
    /// Checks everything that can be wrong, so that nothing is applied if something is.
    pub(super) fn prepare(
        config: Config,
        reloader: &'a ConfigReloader,
        changes: &[ChangedSetting],
    ) -> Result<Self, ReloadError> {
        let has_changed = |section: &str| changes.iter().any(|change| change.section == section);
        let log_filter = has_changed("log").then(|| LogFilter::parse(&config.log));
        let rates = has_changed("rates").then(|| prepare_rates(&config.rates));
        Ok(Self {
            policy: parts::tool_policy(&config.policy).map_err(invalid)?,
            log_filter: log_filter.transpose().map_err(ReloadError::Invalid)?,
            rates: rates.transpose().map_err(invalid)?,
            upstreams_changed: has_changed("upstreams"),
            config,
            reloader,
        })
    }

    /// Applies the settings. What can fail comes first.
    pub(super) async fn apply(self, state: &ServerState) -> Result<(), ReloadError> {
        let Self { config, reloader, policy, rates, log_filter, upstreams_changed } = self;
        if upstreams_changed {
            upstreams::sync_from_config(&state.platform, &config.upstreams).await?;
        }
        let approvals = &config.approvals;
        state.approvals.reconfigure(approvals.policy(), approvals.settings(&config.base_url())).await?;
        if let Some((calls, [manage, costly])) = rates {
            state.limiter.replace_rates(calls);
            state.platform.limits.replace_rates(manage, costly);
        }
        let live = &state.live;
        live.hosts.replace(HostRules::new(&config.server, state.auth_mode));
        live.limits.replace(parts::call_limits(&config.calls, &config.ledger));
        live.quotas.replace(config.quotas.store_quotas());
        live.policy.replace(policy);
        state.platform.config.replace(parts::platform_config(&config, state.auth_mode));
        if let (Some(log), Some(filter)) = (&reloader.log_filter, log_filter) {
            log.replace(filter);
        }
        if let Some(timeout) = &reloader.stop_timeout {
            timeout.set_drain(Duration::from_millis(config.server.drain_ms));
        }
        state.config.replace(config);
        Ok(())
    }
}

fn prepare_rates(config: &RateConfig) -> Result<PreparedRates, ServerStartError> {
    Ok((parts::call_rates(config)?, parts::request_rates(config)?))
}

fn invalid(error: ServerStartError) -> ReloadError {
    match error {
        ServerStartError::Config(text) => ReloadError::Invalid(text),
        error => ReloadError::Invalid(error.to_string()),
    }
}
