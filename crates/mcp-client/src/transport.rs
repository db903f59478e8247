//! Where a server is.

use std::{fmt, path::PathBuf, sync::Arc};

use toolyard_net::{GuardedDialer, HttpClient, OutsideUrl};

use crate::credentials::Credentials;

/// Where a server is.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A child process.
    Stdio(StdioCommand),
    /// Streamable HTTP.
    Http(HttpTarget),
    /// One message per text frame, subprotocol `mcp`.
    WebSocket(WebSocketTarget),
}

/// A process to start. It runs with our permissions: show the whole command to the user who approves it.
#[derive(Clone, Default)]
pub struct StdioCommand {
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Working directory; default is ours.
    pub cwd: Option<PathBuf>,
}

/// A server behind a URL.
#[derive(Clone)]
pub struct HttpTarget {
    /// The endpoint.
    pub url: OutsideUrl,
    /// Sends the requests.
    pub http: HttpClient,
    /// Provides the credentials.
    pub credentials: Arc<dyn Credentials>,
}

/// A server behind a WebSocket.
#[derive(Clone)]
pub struct WebSocketTarget {
    /// The endpoint, written as `http` or `https`.
    pub url: OutsideUrl,
    /// Opens the socket.
    pub dialer: GuardedDialer,
    /// Provides the credentials.
    pub credentials: Arc<dyn Credentials>,
}

impl fmt::Debug for StdioCommand {
    /// Shows variable names only: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTarget").field("url", &self.url.to_string()).finish_non_exhaustive()
    }
}

impl fmt::Debug for WebSocketTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketTarget").field("url", &self.url.to_string()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_does_not_tell_secrets() {
        let command =
            StdioCommand { env: vec![("KEY".to_owned(), "sesame".to_owned())], ..StdioCommand::default() };
        let shown = format!("{command:?}");
        assert!(shown.contains("KEY") && !shown.contains("sesame"), "{shown}");
    }
}
