//! Rate limits of requests that change something. Tool calls have their own limits, in the executor.

use toolyard_core::policy::{CallerLimiter, RateLimit};

use crate::{Actor, PlatformError};

/// Counts the requests of each actor.
pub struct RequestLimits {
    all: CallerLimiter,
    costly: CallerLimiter,
}

impl RequestLimits {
    /// Limits for all requests, and for costly ones: those that compute much or send requests.
    pub fn new(all: RateLimit, costly: RateLimit) -> Self {
        Self { all: CallerLimiter::new(all), costly: CallerLimiter::new(costly) }
    }

    /// Applies other rates. Counting starts again.
    pub fn replace_rates(&self, all: RateLimit, costly: RateLimit) {
        self.all.replace_rate(all);
        self.costly.replace_rate(costly);
    }

    /// Counts a request. Operators are not limited.
    pub fn check_request(&self, actor: &Actor) -> Result<(), PlatformError> {
        if actor.is_operator() {
            return Ok(());
        }
        self.all.check(&actor.name()).map_err(PlatformError::RateLimited)
    }

    /// Counts a costly request.
    pub fn check_costly(&self, actor: &Actor) -> Result<(), PlatformError> {
        self.costly.check(&actor.name()).map_err(PlatformError::RateLimited)
    }

    /// Evicts actors whose limits are fully refilled, so that memory stays bounded.
    pub fn evict_idle(&self) {
        self.all.evict_idle();
        self.costly.evict_idle();
    }
}
