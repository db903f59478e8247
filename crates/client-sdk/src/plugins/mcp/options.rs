//! How the bridge works.

use std::{fmt, sync::Arc, time::Duration};

use toolyard_net::Guard;
use toolyard_protocol::chat::ClientToolLimits;

/// A variable of the environment, by its name.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How the bridge works, and its bounds.
#[derive(Clone)]
pub struct McpOptions {
    /// The program's environment. Commands get a few common variables of it, such as `PATH`.
    pub environment: EnvLookup,
    /// Which addresses servers behind a URL may have.
    pub guard: Guard,
    /// For one server until its tools are known. It may have to be installed first.
    pub connect_limit: Duration,
    /// For one call. The client has its own limit for every tool, which is often shorter.
    pub call_limit: Duration,
    /// Largest result of a call that goes to the model, in bytes; the rest is cut.
    pub max_result_bytes: usize,
    /// What tools of a client may be, as the chat server has it. Leave room here for tools of others.
    pub limits: ClientToolLimits,
}

impl McpOptions {
    /// With the usual bounds: `McpOptions::new(|name| std::env::var(name).ok())`.
    pub fn new(environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            environment: Arc::new(environment),
            // Whoever names a server could name a command as well.
            guard: Guard::unrestricted(),
            connect_limit: Duration::from_secs(60),
            call_limit: Duration::from_secs(300),
            max_result_bytes: 128 * 1024,
            limits: ClientToolLimits::default(),
        }
    }
}

impl fmt::Debug for McpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOptions")
            .field("connect_limit", &self.connect_limit)
            .field("call_limit", &self.call_limit)
            .field("max_result_bytes", &self.max_result_bytes)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
