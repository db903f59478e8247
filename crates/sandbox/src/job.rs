//! What to run, and what it may do.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolyard_net::{Guard, HttpClient};

use crate::error::SandboxError;
use crate::hosts::UrlHostPattern;
use crate::limits::SandboxLimits;
use crate::storage::PluginStorage;

/// One run of a piece of code.
#[derive(Debug, Clone)]
pub struct SandboxJob {
    /// The body of an async function over `args`.
    pub source: Arc<str>,
    /// Name of the code in stack traces.
    pub name: String,
    /// The arguments.
    pub args: Box<RawValue>,
    pub permissions: RunPermissions,
}

/// What a run may do besides computing. By default nothing.
#[derive(Clone, Default)]
pub struct RunPermissions {
    /// Hosts that `fetch` may call, redirects included.
    pub hosts: Vec<UrlHostPattern>,
    /// The storage behind `storage`.
    pub storage: Option<Arc<dyn PluginStorage>>,
    /// Whether the code may know the current time.
    pub clock: bool,
}

impl fmt::Debug for RunPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunPermissions")
            .field("hosts", &self.hosts)
            .field("storage", &self.storage.is_some())
            .field("clock", &self.clock)
            .finish()
    }
}

/// The current time, in milliseconds since 1970.
pub type ClockFn = dyn Fn() -> i64 + Send + Sync;
/// Fills the bytes with random values.
pub type RandomFn = dyn Fn(&mut [u8]) + Send + Sync;

/// Access to the outside world, passed in.
#[derive(Clone)]
pub struct SandboxHost {
    /// Sends the requests of `fetch`.
    pub client: HttpClient,
    /// Checks each URL, in addition to the hosts of the job.
    pub guard: Guard,
    /// For `Date`, only with the permission `clock`.
    pub clock: Arc<ClockFn>,
    /// For `Math.random` and `crypto.randomUUID`.
    pub random: Arc<RandomFn>,
}

impl fmt::Debug for SandboxHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxHost").finish_non_exhaustive()
    }
}

impl SandboxJob {
    pub(crate) fn check_sizes(&self, limits: &SandboxLimits) -> Result<(), SandboxError> {
        if self.source.len() > limits.source_bytes {
            return Err(SandboxError::SourceTooLarge { limit: limits.source_bytes });
        }
        if self.args.get().len() > limits.input_bytes {
            return Err(SandboxError::InputTooLarge { limit: limits.input_bytes });
        }
        Ok(())
    }
}
