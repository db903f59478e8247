//! Rate limits of requests that change something. Calls of tools have limits of their own, in the executor.

use toolyard_core::policy::{CallerLimiter, RateLimit};

use crate::{Actor, PlatformError};

/// Counts the requests of each actor.
pub struct RequestLimits {
    all: CallerLimiter,
    costly: CallerLimiter,
}

impl RequestLimits {
    /// Limits for all requests, and for those that make the server work or ask somebody else.
    pub fn new(all: RateLimit, costly: RateLimit) -> Self {
        Self { all: CallerLimiter::new(all), costly: CallerLimiter::new(costly) }
    }

    /// Counts a request. Operators may ask as often as they like.
    pub fn check_request(&self, actor: &Actor) -> Result<(), PlatformError> {
        if actor.is_operator() {
            return Ok(());
        }
        self.all.check(&actor.name()).map_err(PlatformError::RateLimited)
    }

    /// Counts a request that makes the server work, or ask somebody else.
    pub fn check_costly(&self, actor: &Actor) -> Result<(), PlatformError> {
        self.costly.check(&actor.name()).map_err(PlatformError::RateLimited)
    }

    /// Forgets actors that are as good as new, so that memory stays bounded.
    pub fn evict_idle(&self) {
        self.all.evict_idle();
        self.costly.evict_idle();
    }
}
