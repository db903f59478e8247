//! Which log messages a server of the handshake era sends over a pipe: the level holds for the whole connection, so the
//! lowest one that anybody wants is asked for, and whoever wants less leaves out the rest.

use serde_json::json;
use tokio::time::Instant;
use toolyard_protocol::{mcp::method, raw::to_raw};

use crate::{client::McpClient, request::RequestOptions};

/// The capability of servers that send log messages.
const LOGGING: &str = "logging";
/// Levels, the least first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl McpClient {
    /// Asks for log messages from this level on. Does nothing over HTTP and in the modern era, where requests say it,
    /// and where the server sends at least as much already.
    pub async fn request_log_level(&self, level: &str) {
        let server = self.link.server();
        let logs = server.capabilities.get(LOGGING).is_some();
        let Some(rank) = LEVELS.iter().position(|known| *known == level).filter(|_| logs) else { return };
        if server.revision.is_modern() || self.link.wire().http().is_some() {
            return;
        }
        // One at a time: whoever waited finds it set.
        let mut set = self.link.level.lock().await;
        if set.is_some_and(|set| set <= rank) {
            return;
        }
        let params = to_raw(&json!({ "level": level }));
        // A call waits for it, and does not need it.
        let deadline = Some(Instant::now() + self.link.limits().courtesy);
        let options = RequestOptions { deadline, ..RequestOptions::default() };
        match self.request(method::SET_LEVEL, Some(&params), options).await {
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, level, "the server takes no log level"),
        }
        // Also where it was refused: it would be refused again.
        *set = Some(rank);
    }
}
