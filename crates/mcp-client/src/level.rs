//! Log levels of handshake servers over a pipe. The level applies to the whole connection, so the client requests the
//! lowest level that any caller wants; the others filter.

use serde_json::json;
use tokio::time::Instant;
use toolyard_protocol::{mcp::method, raw::to_raw};

use crate::{client::McpClient, request::RequestOptions};

/// The capability of servers that send log messages.
const LOGGING: &str = "logging";
/// Levels in increasing severity.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl McpClient {
    /// Requests log messages of this level and above. Does nothing over HTTP and in the modern era, where each request
    /// carries the level, or if the server already sends this level.
    pub async fn request_log_level(&self, level: &str) {
        let server = self.link.server();
        let logs = server.capabilities.get(LOGGING).is_some();
        let Some(rank) = LEVELS.iter().position(|known| *known == level).filter(|_| logs) else { return };
        if server.revision.is_modern() || self.link.wire().http().is_some() {
            return;
        }
        // One at a time: a waiting caller then finds the level set.
        let mut set = self.link.level.lock().await;
        if set.is_some_and(|set| set <= rank) {
            return;
        }
        let params = to_raw(&json!({ "level": level }));
        // The call waits for this request but does not need it.
        let deadline = Some(Instant::now() + self.link.limits().courtesy);
        let options = RequestOptions { deadline, ..RequestOptions::default() };
        match self.request(method::SET_LEVEL, Some(&params), options).await {
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, level, "server refused the log level"),
        }
        // Also after a refusal: it would be refused again.
        *set = Some(rank);
    }
}
