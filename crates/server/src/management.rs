//! Rate limits of requests that manage something. Calls of tools have limits of their own, in the executor.

use toolyard_core::policy::CallerLimiter;

use crate::{
    auth::{Identity, Refusal},
    config::RateConfig,
    parts,
    serve::StartError,
};

/// Counts the requests of each caller.
pub(crate) struct ManagementLimits {
    all: CallerLimiter,
    costly: CallerLimiter,
}

impl ManagementLimits {
    pub(crate) fn new(rates: &RateConfig) -> Result<Self, StartError> {
        Ok(Self {
            all: CallerLimiter::new(parts::rate(rates.manage_per_s, rates.manage_burst)?),
            costly: CallerLimiter::new(parts::rate(rates.costly_per_s, rates.costly_burst)?),
        })
    }

    /// Counts a request that manages something. Operators may ask as often as they like.
    pub(crate) fn check(&self, who: &Identity) -> Result<(), Refusal> {
        if who.is_operator() {
            return Ok(());
        }
        self.all.check(&who.name()).map_err(Refusal::RateLimited)
    }

    /// Counts a request that makes the server work, or ask somebody else.
    pub(crate) fn check_costly(&self, who: &Identity) -> Result<(), Refusal> {
        self.costly.check(&who.name()).map_err(Refusal::RateLimited)
    }

    pub(crate) fn forget_idle(&self) {
        self.all.forget_idle();
        self.costly.forget_idle();
    }
}
