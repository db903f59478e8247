//! The words of the Model Context Protocol, both eras: messages, revisions, headers, and what stands in `_meta`.
//!
//! Messages stay raw: an id, params and results are passed on as they came. Who serves and who calls is no business of
//! this module; the server's door and the client share it.
//!
//! | look for | in |
//! | --- | --- |
//! | a JSON-RPC message, read and written | [`message`] |
//! | which revision, which era | [`revision`] |
//! | header names, and how a text travels in a header | [`header`] |
//! | parameters that are mirrored in headers | [`mirrored`] |
//! | resource URIs of many servers in one | [`uri`] |

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
    pub const ELICIT: &str = "elicitation/create";
    pub const SAMPLE: &str = "sampling/createMessage";
    pub const ROOTS_LIST: &str = "roots/list";
    pub const INITIALIZED: &str = "notifications/initialized";
    pub const CANCELLED: &str = "notifications/cancelled";
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
    /// The revision that a modern request speaks.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client can do, in every modern request.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Which program asks.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Which program answers.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// From which level on a modern request wants log messages; without it there are none.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Which listen request a message belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Under which token progress is wanted.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// A tool's name as this platform stores it.
    pub const CANONICAL_NAME: &str = "toolyard/name";
    /// Where a tool stands: when its upstream was last heard of, and whether that was well.
    pub const UPSTREAM: &str = "toolyard/upstream";
    /// A key under which a call is made once.
    pub const IDEMPOTENCY_KEY: &str = "toolyard/idempotencyKey";
    /// Which package asks, in a question to a user.
    pub const ORIGIN: &str = "toolyard/origin";
    /// Our extensions of a result.
    pub const EXTENSIONS: &str = "toolyard/extensions";
    /// The error code of a failed call, and whether it may be made again.
    pub const ERROR: &str = "toolyard/error";
    /// The trace of a request.
    pub const TRACEPARENT: &str = "traceparent";
    /// More on the trace of a request.
    pub const TRACESTATE: &str = "tracestate";
    /// What travels with a trace.
    pub const BAGGAGE: &str = "baggage";
}

/// `resultType` of a result that is one.
pub const COMPLETE: &str = "complete";
/// `resultType` of a result that asks back.
pub const INPUT_REQUIRED: &str = "input_required";
