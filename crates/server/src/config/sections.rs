//! The sections of the configuration.

use std::{net::SocketAddr, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::catalog::ViewLimits;
use toolyard_protocol::{PackageName, app::AppKind};

/// Where the server listens, and who may send requests to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port.
    pub listen: SocketAddr,
    /// The URL under which apps and clients reach this server: `https://tools.example.com`. Default: the address it listens
    /// on.
    pub public_url: Option<String>,
    /// Allowed host names, besides its own address and public URL. Requests to others get 403.
    pub hosts: Vec<String>,
    /// Web origins that may use the API from a browser, besides the server's own: `https://console.example.com`.
    pub origins: Vec<String>,
    /// Largest request body in bytes, except for tool sets.
    pub body_bytes: usize,
    /// Largest body of a tool set in bytes.
    pub tool_set_bytes: usize,
    /// How long a client may take to send a request body, in milliseconds.
    pub body_timeout_ms: u64,
    /// Concurrent client connections, sockets included; more wait to be accepted. Never more than half of the open file
    /// limit of the process.
    pub max_connections: usize,
    /// Concurrent connections from one address (IPv6: one /64); more are closed immediately. 0: no limit. Behind a proxy every
    /// connection comes from the proxy: list it in `proxies`, and set the limit there.
    pub max_connections_per_address: usize,
    /// Address ranges of proxies that `max_connections_per_address` does not count: `10.1.0.0/16`.
    pub proxies: Vec<String>,
    /// How long a client may take to send the head of a request, and how long a connection may idle, in milliseconds.
    pub head_timeout_ms: u64,
    /// A client that does not read its response, stream or socket for this long is disconnected, in milliseconds.
    pub write_timeout_ms: u64,
    /// Sockets that are not authenticated yet (`/app-ws` before its first message). If there are more, the oldest is closed.
    pub unauthenticated_sockets: usize,
    /// How long a socket may take to authenticate, in milliseconds.
    pub introduction_ms: u64,
    /// Open streams and sockets of one user or app: `/mcp/ws`, `/api/calls/stream`, chat streams. Streams of `/mcp` have
    /// their own limit, `mcp.streams_per_user`.
    pub streams_per_user: usize,
    /// Largest message on a socket in bytes.
    pub socket_message_bytes: usize,
    /// How long a stop waits for calls in progress, in milliseconds.
    pub drain_ms: u64,
    /// Seconds between heartbeats on sockets.
    pub heartbeat_s: u64,
    /// A worker thread without progress for this long is reported in the log, by `/readyz` and as a metric, in milliseconds.
    pub stuck_after_ms: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            public_url: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            body_bytes: 1024 * 1024,
            tool_set_bytes: 8 * 1024 * 1024,
            body_timeout_ms: 30_000,
            max_connections: 40_000,
            max_connections_per_address: 0,
            proxies: Vec::new(),
            head_timeout_ms: 30_000,
            write_timeout_ms: 30_000,
            unauthenticated_sockets: 128,
            introduction_ms: 5_000,
            streams_per_user: 64,
            socket_message_bytes: 1024 * 1024,
            drain_ms: 10_000,
            heartbeat_s: 10,
            stuck_after_ms: 10_000,
        }
    }
}

/// How callers authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// By `X-User-Id` alone; without it the caller is the operator. Loopback only.
    Dev,
    /// By tokens and app keys.
    Token,
}

/// Authentication.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    /// `dev` or `token`. Default: `dev` on a loopback address without a public URL, otherwise `token`.
    pub mode: Option<AuthMode>,
    /// The root key, 64 hex digits. All secrets are derived from it or sealed with it. If not set, it is created and stored in
    /// `root_key_file`.
    pub root_key: Option<String>,
    /// The previous root key, during a rotation. It still opens secrets and verifies tokens, but never seals or signs. The
    /// server reseals all secrets when it starts, so remove this key when the tokens signed with it have expired.
    pub old_root_key: Option<String>,
    /// The file with the root key. Default: `root.key` next to the database.
    pub root_key_file: Option<PathBuf>,
    /// Start with a root key that is not the one of the database, because that one is lost. All tokens become invalid, and the
    /// signing secrets of apps and the secrets of upstreams must be replaced. Remove this setting after the start.
    pub accept_new_root_key: bool,
    /// An identity provider that issues user tokens.
    pub oidc: Option<OidcConfig>,
}

/// An OIDC identity provider whose tokens identify users.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// `https://accounts.example.com`, exactly as in the tokens.
    pub issuer: String,
    /// The audience of the tokens, exactly as in the tokens.
    pub audience: String,
    /// The URL of the issuer's keys.
    pub jwks_url: String,
    /// The claim that is the user's id. `email` is case-insensitive. Every other claim is case-sensitive: an upper-case
    /// letter becomes `^` and the lower-case letter in the user id, so that `Ada` and `ada` stay two users.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// Whether tokens must say `email_verified: true` when `user_claim` is `email`. Set it to false only if the issuer
    /// verifies every address and leaves the claim out; `email_verified: false` is always refused.
    #[serde(default = "default_true")]
    pub require_email_verified: bool,
    /// Keys are fetched again when a token names an unknown key, at most once in this many seconds.
    #[serde(default = "default_refetch_seconds")]
    pub refetch_s: u64,
}

fn default_user_claim() -> String {
    "email".to_owned()
}

fn default_true() -> bool {
    true
}

fn default_refetch_seconds() -> u64 {
    60
}

/// Limits of calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallsConfig {
    /// Default timeout of a call, wake included, in milliseconds.
    pub timeout_ms: u64,
    /// Longest call timeout that an app may set, in milliseconds.
    pub max_timeout_ms: u64,
    /// Default timeout of a wake, in milliseconds.
    pub wake_timeout_ms: u64,
    /// Longest wake timeout that an app may set, in milliseconds.
    pub max_wake_timeout_ms: u64,
    /// Concurrent calls on this node.
    pub in_flight: usize,
    /// Concurrent calls to one app.
    pub in_flight_per_app: usize,
    /// Concurrent calls for one user.
    pub in_flight_per_user: usize,
    /// How long the outcome under an idempotency key is kept, in seconds.
    pub key_lifetime_s: u64,
    /// Largest outcome that is kept under an idempotency key, in bytes.
    pub key_outcome_bytes: usize,
    /// Idempotency keys of one user. More are refused until the oldest expire.
    pub keys_per_user: usize,
    /// Bytes of all outcomes kept under the keys of one user. The oldest outcomes are dropped first; their calls are still
    /// never repeated.
    pub key_bytes_per_user: usize,
    /// Largest result of a tool in bytes, for apps and upstreams.
    pub result_bytes: usize,
    /// Longest validation of arguments or a result against a schema, in milliseconds. A tool whose validation takes longer is
    /// hidden until its definition changes or the server restarts.
    pub check_timeout_ms: u64,
}

impl Default for CallsConfig {
    fn default() -> Self {
        Self {
            timeout_ms: 30_000,
            max_timeout_ms: 300_000,
            wake_timeout_ms: 10_000,
            max_wake_timeout_ms: 60_000,
            in_flight: 10_000,
            in_flight_per_app: 1_000,
            in_flight_per_user: 200,
            key_lifetime_s: 24 * 60 * 60,
            key_outcome_bytes: 64 * 1024,
            keys_per_user: 20_000,
            key_bytes_per_user: 64 * 1024 * 1024,
            result_bytes: 1024 * 1024,
            check_timeout_ms: 2_000,
        }
    }
}

/// Rate limits: a sustained rate per second, and the burst that is allowed after a pause. A person never reaches the defaults.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateConfig {
    /// Calls per second of one user.
    pub user_per_s: u32,
    /// Burst of calls of one user.
    pub user_burst: u32,
    /// Calls per second of one tool, over all users.
    pub tool_per_s: u32,
    /// Burst of calls of one tool, over all users.
    pub tool_burst: u32,
    /// Calls per second on this node.
    pub all_per_s: u32,
    /// Burst of calls on this node.
    pub all_burst: u32,
    /// Management requests per second of one caller: apps, tools, installs, settings, tokens, plugins.
    pub manage_per_s: u32,
    /// Burst of management requests of one caller.
    pub manage_burst: u32,
    /// Expensive requests per second of one caller: app icons, tool checks, files of apps, signatures, refreshes of upstreams.
    pub costly_per_s: u32,
    /// Burst of expensive requests of one caller.
    pub costly_burst: u32,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            user_per_s: 50,
            user_burst: 200,
            tool_per_s: 2_000,
            tool_burst: 4_000,
            all_per_s: 20_000,
            all_burst: 40_000,
            manage_per_s: 100,
            manage_burst: 1_000,
            costly_per_s: 5,
            costly_burst: 60,
        }
    }
}

/// Apps that developers register.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AppsConfig {
    /// The kind of an app whose registration has no `kind`: `tools-only` apps only respond to calls, `session` apps are woken
    /// before a call and can use the display and the microphone.
    pub default_kind: AppKind,
}

impl Default for AppsConfig {
    fn default() -> Self {
        Self { default_kind: AppKind::ToolsOnly }
    }
}

/// Tools that are denied to all users.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// The denied tools: `com.example.app:tool`, or `com.example.app:*`.
    pub deny: Vec<String>,
}

/// Devices and running apps.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionsConfig {
    /// How long an app may take to reconnect after its socket broke, in milliseconds. The SDK gives up after 6 s.
    pub reconnect_window_ms: u64,
    /// A woken app without calls for this long is stopped, in seconds.
    pub idle_stop_s: u64,
    /// How long a session lives after its device disconnects, in seconds.
    pub device_grace_s: u64,
    /// How long a session without a device lives after the last request, in seconds.
    pub session_idle_s: u64,
    /// How long the display of an app that is not in front stays visible, in milliseconds.
    pub overlay_ms: u64,
    /// Stream messages queued for a slow socket. More are dropped, and the app is notified.
    pub stream_queue: usize,
    /// Other messages queued for a slow socket. If there are more, the socket is closed.
    pub control_queue: usize,
    /// Requests of one app (photo, audio, LED) queued for a slow device. More are refused.
    pub requests_per_app: usize,
    /// Sustained rate of messages of one app per second. An app that sends more is stopped.
    pub app_messages_per_s: u32,
    /// Burst of messages of one app after a pause.
    pub app_message_burst: u32,
    /// The package of the app that may change the mode and the system texts of the dashboard. If not set, no app may.
    pub dashboard_app: Option<PackageName>,
    /// Most users with a session.
    pub max_users: usize,
    /// Most running apps of one user.
    pub max_apps: usize,
    /// How often idle apps and sessions are looked for, in milliseconds.
    pub sweep_ms: u64,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self {
            reconnect_window_ms: 6_000,
            idle_stop_s: 300,
            device_grace_s: 60,
            session_idle_s: 900,
            overlay_ms: 10_000,
            stream_queue: 256,
            control_queue: 256,
            requests_per_app: 16,
            app_messages_per_s: 50,
            app_message_burst: 200,
            dashboard_app: None,
            max_users: 100_000,
            max_apps: 32,
            sweep_ms: 2_000,
        }
    }
}

/// Outgoing requests.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NetConfig {
    /// Whether apps may be on this machine. Default: true in `dev` mode, false in `token` mode.
    pub allow_loopback: Option<bool>,
    /// Whether apps may be on private addresses.
    pub allow_private: bool,
    /// More address ranges that apps and upstreams may have: `10.1.0.0/16`.
    pub also_allow: Vec<String>,
    /// Address ranges that `fetch_page`, plugins and app icons may reach besides public addresses: `10.1.2.0/24`. The settings
    /// above do not apply to them, because models, users and web pages choose those addresses.
    pub web_allow: Vec<String>,
    /// How long a connection may take to open, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Idle connections that are kept for each app.
    pub idle_per_app: usize,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            allow_loopback: None,
            allow_private: false,
            also_allow: Vec::new(),
            web_allow: Vec::new(),
            connect_timeout_ms: 5_000,
            idle_per_app: 256,
        }
    }
}

/// The MCP door.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Tools, prompts or resources on one page of a list. Some clients read the first page only.
    pub page_size: usize,
    /// Days that a session of a protocol revision with a handshake is valid.
    pub session_days: u32,
    /// How long changes are collected before clients are notified, in milliseconds.
    pub debounce_ms: u64,
    /// Concurrent streams on which one user's clients listen for changes.
    pub streams_per_user: usize,
    /// How long a browser may take to open a socket with its ticket, in seconds.
    pub ticket_s: u64,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self { page_size: 100, session_days: 30, debounce_ms: 200, streams_per_user: 64, ticket_s: 30 }
    }
}

/// Limits of one user's view.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ViewsConfig {
    /// Most tools in one user's view; the same limit applies to prompts, resources and templates. Those of apps installed later
    /// are hidden, with the reason.
    pub max_tools: usize,
    /// Bytes of all definitions in one user's view.
    pub max_bytes: usize,
}

impl Default for ViewsConfig {
    fn default() -> Self {
        let limits = ViewLimits::default();
        Self { max_tools: limits.tools, max_bytes: limits.bytes }
    }
}

/// Limits of upstreams.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Whether operators may add commands over REST. Default: only in dev mode. Commands in the configuration file are always
    /// allowed.
    pub allow_commands: Option<bool>,
    /// Timeout for connecting to an upstream, the start of a process included, in milliseconds.
    pub connect_timeout_ms: u64,
    /// Timeout for each page of a list, in milliseconds.
    pub list_timeout_ms: u64,
    /// Seconds after which lists are read again, even if the upstream reports no change.
    pub refresh_s: u64,
    /// Seconds after which an unused connection of a user is closed.
    pub idle_s: u64,
    /// How long a request is held open while its caller is asked for input, in seconds.
    pub held_s: u64,
    /// Most requests held open.
    pub max_held: usize,
    /// Concurrent connections to upstreams.
    pub max_connections: usize,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            allow_commands: None,
            connect_timeout_ms: 30_000,
            list_timeout_ms: 20_000,
            refresh_s: 300,
            idle_s: 600,
            held_s: 300,
            max_held: 1_000,
            max_connections: 10_000,
        }
    }
}

/// How long records of calls are kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerConfig {
    /// Days that the record of a call is kept.
    pub keep_days: u32,
    /// How long a batch of records waits for more, in milliseconds. If the process is killed, records that are not written
    /// are lost.
    pub batch_delay_ms: u64,
    /// Records after which a batch is written without waiting. New calls are refused while eight times as many are unwritten.
    pub batch_size: usize,
    /// Hours that the error message of a failed call is kept, at most 2,000 bytes of it. 0: not at all.
    pub error_message_hours: u32,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        Self { keep_days: 90, batch_delay_ms: 20, batch_size: 1_024, error_message_hours: 24 }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Logging.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// Which levels are logged, by target: `info`, `info,toolyard::call=warn`.
    pub filter: String,
    /// The format of log lines.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "info".to_owned(), format: LogFormat::Text }
    }
}

/// Traces.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// An OTLP endpoint over HTTP: `http://127.0.0.1:4318/v1/traces`. If not set, no traces are exported.
    pub otlp_url: Option<String>,
    /// The environment variable that holds a token with which a monitoring system reads `/metrics`, and nothing else. Operators can
    /// read them as well.
    pub scrape_token_env: Option<String>,
}
