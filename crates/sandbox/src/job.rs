//! What is to be run, and what it may do.

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
    /// What the code is called in stacks that it can see.
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
    /// What `storage` reads and writes.
    pub storage: Option<Arc<dyn PluginStorage>>,
    /// Whether the code may know what time it is.
    pub clock: bool,
}

impl fmt::Debug for RunPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permissions")
            .field("hosts", &self.hosts)
            .field("storage", &self.storage.is_some())
            .field("clock", &self.clock)
            .finish()
    }
}

/// The present, in milliseconds since 1970.
pub type ClockFn = dyn Fn() -> i64 + Send + Sync;
/// Fills the bytes with chance.
pub type RandomFn = dyn Fn(&mut [u8]) + Send + Sync;

/// The outside world, passed in.
#[derive(Clone)]
pub struct SandboxHost {
    /// Sends what `fetch` asks for.
    pub client: HttpClient,
    /// Judges each URL, besides the hosts of the job.
    pub guard: Guard,
    /// For `Date`, and only with the permission.
    pub clock: Arc<ClockFn>,
    /// For `Math.random` and `crypto.randomUUID`.
    pub random: Arc<RandomFn>,
}

impl fmt::Debug for SandboxHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
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
