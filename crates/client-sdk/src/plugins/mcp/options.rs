//! Settings of the bridge.

use std::{fmt, sync::Arc, time::Duration};

use toolyard_net::Guard;
use toolyard_protocol::chat::ClientToolLimits;

/// Looks up an environment variable.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Settings and limits of the bridge.
#[derive(Clone)]
pub struct McpOptions {
    /// The program's environment. Commands inherit a few common variables, such as `PATH`.
    pub environment: EnvLookup,
    /// Which addresses servers behind a URL may have.
    pub guard: Guard,
    /// Timeout for starting one server and listing its tools. It may have to be installed first.
    pub connect_limit: Duration,
    /// Timeout of one call. The client has its own timeout for tools, which is often shorter.
    pub call_limit: Duration,
    /// Largest result that is sent to the model, in bytes. The rest is cut.
    pub max_result_bytes: usize,
    /// The chat server's limits for client tools. Set lower limits here to leave room for other tools.
    pub limits: ClientToolLimits,
}

impl McpOptions {
    /// The default limits: `McpOptions::new(|name| std::env::var(name).ok())`.
    pub fn new(environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            environment: Arc::new(environment),
            // A caller that may add a URL may also add a command, so the guard would protect nothing.
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
