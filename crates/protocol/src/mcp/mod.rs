//! The Model Context Protocol, both eras: messages, revisions, headers and `_meta`.
//!
//! Ids, params and results stay raw and are passed on as received. Server and client share
//! this module.
//!
//! | look for | in |
//! | --- | --- |
//! | a JSON-RPC message, read and written | [`message`] |
//! | which revision, which era | [`revision`] |
//! | header names and encoding | [`header`] |
//! | parameters that are mirrored in headers | [`mirrored`] |
//! | resource URIs of many servers in one list | [`uri`] |

pub mod header;
pub mod message;
pub mod mirrored;
pub mod revision;
pub mod uri;

pub use message::{InvalidRpcMessage, RpcError, RpcMessage};
pub use revision::McpRevision;

/// Methods.
#[expect(missing_docs, reason = "the names are the methods")]
pub mod method {
    pub const INITIALIZE: &str = "initialize";
    pub const DISCOVER: &str = "server/discover";
    pub const PING: &str = "ping";
    pub const LISTEN: &str = "subscriptions/listen";
    pub const TOOLS_LIST: &str = "tools/list";
    pub const TOOLS_CALL: &str = "tools/call";
    pub const PROMPTS_LIST: &str = "prompts/list";
    pub const PROMPTS_GET: &str = "prompts/get";
    pub const RESOURCES_LIST: &str = "resources/list";
    pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
    pub const RESOURCES_READ: &str = "resources/read";
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    pub const COMPLETE: &str = "completion/complete";
    pub const SET_LEVEL: &str = "logging/setLevel";
    pub const TASKS_GET: &str = "tasks/get";
    pub const TASKS_UPDATE: &str = "tasks/update";
    pub const TASKS_CANCEL: &str = "tasks/cancel";
    pub const ELICIT: &str = "elicitation/create";
    pub const SAMPLE: &str = "sampling/createMessage";
    pub const ROOTS_LIST: &str = "roots/list";
    pub const INITIALIZED: &str = "notifications/initialized";
    pub const CANCELLED: &str = "notifications/cancelled";
    pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
    pub const PROGRESS: &str = "notifications/progress";
    pub const MESSAGE: &str = "notifications/message";
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
}

/// Members of `_meta`.
pub mod meta {
    /// The protocol revision of a modern request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The client's capabilities, in every modern request.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Name and version of the client.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Name and version of the server.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Minimum level of log messages that a modern request wants; without it there are none.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The listen request that a message belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The token to report progress under.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// A tool's name as this platform stores it.
    pub const CANONICAL_NAME: &str = "toolyard/name";
    /// State of a tool's upstream: when it was last reached, and whether that succeeded.
    pub const UPSTREAM: &str = "toolyard/upstream";
    /// The idempotency key of a call.
    pub const IDEMPOTENCY_KEY: &str = "toolyard/idempotencyKey";
    /// The package that asks, in a question to a user.
    pub const ORIGIN: &str = "toolyard/origin";
    /// Our extensions of a result.
    pub const EXTENSIONS: &str = "toolyard/extensions";
    /// The error code of a failed call, and whether it may be retried.
    pub const ERROR: &str = "toolyard/error";
    /// The trace of a request.
    pub const TRACEPARENT: &str = "traceparent";
    /// Vendor data of the trace.
    pub const TRACESTATE: &str = "tracestate";
    /// Baggage of the trace.
    pub const BAGGAGE: &str = "baggage";
}

/// The scheme of pages that clients show to people.
pub const PAGE_SCHEME: &str = "ui://";
/// The extension for tasks: a call that ends later, as a handle that the client polls.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// `resultType` of a complete result.
pub const COMPLETE: &str = "complete";
/// `resultType` of a result that requires input.
pub const INPUT_REQUIRED: &str = "input_required";
/// `resultType` of a result that is a task.
pub const TASK: &str = "task";
