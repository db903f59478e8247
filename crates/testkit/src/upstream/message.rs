//! JSON-RPC in both eras: versions, requests and errors. No transport, no tools.

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::sessions::LegacySession;

/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";

/// The revisions opened by `initialize`, newest first.
pub const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Prefix of the keys in `_meta` that the specification owns.
pub(super) const META_PREFIX: &str = "io.modelcontextprotocol/";

/// Messages that one stream may buffer.
pub(super) const QUEUE: usize = 1_024;

/// Log levels, from the least to the most urgent.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The rank of a log level; an unknown one counts as the lowest.
pub(super) fn level_rank(level: &str) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or(0)
}

/// One step of a response, independent of the transport.
#[derive(Debug)]
pub(super) enum AnswerStep {
    /// A message before the response: a notification, or a request of the server.
    Message(Value),
    /// The response, and its HTTP status if no message was sent before.
    Answer(u16, Value),
    /// Raw bytes instead of a response.
    Raw { status: u16, kind: String, body: Vec<u8> },
    /// The connection closes without a response.
    Cut,
    /// The response starts, and the connection closes.
    CutMidway,
    /// The stream ends; the response waits for a client that reconnects with this event id. Without streams it is sent at once.
    Park { event: String, message: Value },
}

/// An error response.
#[derive(Debug, Clone)]
pub(super) struct RpcFailure {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
    /// The HTTP status in the modern era; the legacy era uses 200.
    pub(super) status: u16,
}

impl RpcFailure {
    pub(super) fn new(code: i64, status: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, status }
    }

    /// The parameters are invalid; raised by a handler.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, 200, message)
    }

    /// The request is not valid in the modern era.
    pub(super) fn bad_meta(message: impl Into<String>) -> Self {
        Self::new(-32602, 400, message)
    }

    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32020, 400, message)
    }

    pub(super) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, 404, format!("Method not found: {method}"))
    }

    pub(super) fn missing_capability(required: Value) -> Self {
        Self::new(-32021, 400, "Missing required client capability")
            .with_data(json!({ "requiredCapabilities": required }))
    }

    pub(super) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The error message; without an id if it is not known.
    pub(super) fn to_message(&self, id: Option<&Value>) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        let mut message = json!({ "jsonrpc": "2.0", "error": error });
        if let Some(id) = id {
            message["id"] = id.clone();
        }
        message
    }
}

/// The era of a request.
#[derive(Clone)]
pub(super) enum RequestEra {
    Modern,
    Legacy(std::sync::Arc<LegacySession>),
}

/// One request to respond to.
#[derive(Clone)]
pub(super) struct UpstreamCall {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) side: RequestEra,
    /// The channel for its response and the messages before it.
    pub(super) out: mpsc::Sender<AnswerStep>,
}

impl UpstreamCall {
    /// The tool, prompt or resource that it names.
    pub(super) fn target(&self) -> &str {
        self.params["name"].as_str().or_else(|| self.params["uri"].as_str()).unwrap_or_default()
    }

    pub(super) fn argument(&self, name: &str) -> &Value {
        &self.params["arguments"][name]
    }

    pub(super) fn is_modern(&self) -> bool {
        matches!(self.side, RequestEra::Modern)
    }

    /// One of the specification's own keys in `_meta`.
    pub(super) fn own_meta(&self, key: &str) -> &Value {
        &self.params["_meta"][format!("{META_PREFIX}{key}")]
    }

    /// Whether the client declares a capability.
    pub(super) fn client_can(&self, capability: &str) -> bool {
        match &self.side {
            RequestEra::Modern => self.own_meta("clientCapabilities")[capability].is_object(),
            RequestEra::Legacy(session) => session.capabilities[capability].is_object(),
        }
    }

    /// Sends a notification before the response. It is lost if the client has disconnected.
    pub(super) async fn notify(&self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        drop(self.out.send(AnswerStep::Message(message)).await);
    }

    /// Reports progress if the client requested it.
    pub(super) async fn report_progress(&self, progress: u64, total: u64) {
        let token = &self.params["_meta"]["progressToken"];
        if !token.is_null() {
            let params = json!({ "progressToken": token, "progress": progress, "total": total });
            self.notify("notifications/progress", params).await;
        }
    }

    /// Sends a log message if the client wants this level: in the modern era only if the request sets one.
    pub(super) async fn send_log(&self, level: &str, data: &str) {
        let wanted = match &self.side {
            RequestEra::Modern => self.own_meta("logLevel").as_str().map(level_rank),
            RequestEra::Legacy(session) => Some(session.log_level()),
        };
        if wanted.is_some_and(|wanted| level_rank(level) >= wanted) {
            let params = json!({ "level": level, "logger": "fixture", "data": data });
            self.notify("notifications/message", params).await;
        }
    }

    /// Sends the response.
    pub(super) async fn send_answer(&self, answer: Result<Value, RpcFailure>, server: &Value) {
        let (status, message) = match answer {
            Ok(result) => (200, self.build_result(result, server)),
            Err(failure) => {
                let status = if self.is_modern() { failure.status } else { 200 };
                (status, failure.to_message(Some(&self.id)))
            }
        };
        drop(self.out.send(AnswerStep::Answer(status, message)).await);
    }

    fn build_result(&self, mut result: Value, server: &Value) -> Value {
        if let (true, Some(fields)) = (self.is_modern(), result.as_object_mut()) {
            fields.entry("resultType").or_insert_with(|| json!("complete"));
            let meta = fields.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
            meta[format!("{META_PREFIX}serverInfo")] = server.clone();
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result })
    }
}

/// A result with one text.
pub(super) fn text_result(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// A result that reports a tool error.
pub(super) fn tool_error(message: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": message.into() }], "isError": true })
}
