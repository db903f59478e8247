//! The sections.

use std::{net::SocketAddr, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::catalog::ViewLimits;
use toolyard_protocol::{PackageName, app::AppKind};

/// Where the server listens and who may talk to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port.
    pub listen: SocketAddr,
    /// How apps and clients reach this server from outside: `https://tools.example.com`. Where it is missing, the
    /// address it listens on.
    pub public_url: Option<String>,
    /// Host names under which the server answers, beside its own address and public URL. Others get 403.
    pub hosts: Vec<String>,
    /// Web origins that may use the API from a browser, beside the server's own: `https://console.example.com`.
    pub origins: Vec<String>,
    /// Largest request body in bytes, except for tool sets.
    pub body_bytes: usize,
    /// Largest body of a tool set in bytes.
    pub tool_set_bytes: usize,
    /// How long a request may take to send its body, in milliseconds.
    pub body_timeout_ms: u64,
    /// Connections of clients at once, sockets included; more wait to be accepted. At most half of the files that the
    /// process may have open, whatever is set here.
    pub max_connections: usize,
    /// Connections at once from one address (IPv6: one /64); more are closed at once. 0: no limit. Behind a proxy every
    /// connection comes from the proxy: name it in `proxies`, and set the limit there.
    pub max_connections_per_address: usize,
    /// Address ranges of proxies that `max_connections_per_address` does not count: `10.1.0.0/16`.
    pub proxies: Vec<String>,
    /// How long a client may take to send the head of a request, and how long a connection may idle, in milliseconds.
    pub head_timeout_ms: u64,
    /// A client that takes nothing of a response, stream or socket message for this long is disconnected, in milliseconds.
    pub write_timeout_ms: u64,
    /// Sockets at once that have not said who they are (`/app-ws` before its first message). When one more comes, the
    /// oldest is closed.
    pub unauthenticated_sockets: usize,
    /// How long a socket may take to say who it is, in milliseconds.
    pub introduction_ms: u64,
    /// Streams and sockets that one user or app may have open at once: `/mcp/ws`, `/api/calls/stream`, chat answers. The
    /// streams of `/mcp` have a bound of their own, `mcp.streams_per_user`.
    pub streams_per_user: usize,
    /// Largest message on a socket in bytes.
    pub socket_message_bytes: usize,
    /// How long a stop waits for calls under way, in milliseconds.
    pub drain_ms: u64,
    /// Seconds between heartbeats on sockets.
    pub heartbeat_s: u64,
    /// A worker thread that makes no progress for this long is reported: in the log, by `/readyz` and as a metric, in
    /// milliseconds.
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

/// How callers are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// `X-User-Id` alone is believed, and whoever names nobody is the operator. Loopback only.
    Dev,
    /// Tokens and app keys.
    Token,
}

/// Who is who.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    /// `dev` or `token`. Where it is missing: `dev` on a loopback address without a public URL, `token` otherwise.
    pub mode: Option<AuthMode>,
    /// Root key, 64 hex digits; everything secret is derived from it or sealed with it. Where it is missing, it is made
    /// and kept in `root_key_file`.
    pub root_key: Option<String>,
    /// The root key before the current one, during a rotation: still opens and verifies, never seals or signs. A start
    /// seals everything anew with the current one, so it can go when the tokens made with it have expired.
    pub old_root_key: Option<String>,
    /// Where the root key is kept. Where it is missing: `root.key` beside the database.
    pub root_key_file: Option<PathBuf>,
    /// Start with a root key that is not the one of the database, because that one is lost: tokens end, and the signing
    /// secrets of apps and the secrets of upstreams have to be made again. Take it away after the start.
    pub accept_new_root_key: bool,
    /// Another issuer of user tokens.
    pub oidc: Option<OidcConfig>,
}

/// An OIDC issuer whose tokens stand for users.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// `https://accounts.example.com`, exactly as in the tokens.
    pub issuer: String,
    /// What the tokens are for, exactly as in the tokens.
    pub audience: String,
    /// Where the issuer's keys are.
    pub jwks_url: String,
    /// The claim that is the user's id. `email` is case-insensitive. Every other claim is case-sensitive: an upper-case
    /// letter becomes `^` and the lower-case letter in the user id, so that `Ada` and `ada` stay two users.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// Whether tokens must say `email_verified: true` when `user_claim` is `email`. Set it to false only if the issuer
    /// verifies every address and leaves the claim out; `email_verified: false` is always refused.
    #[serde(default = "default_true")]
    pub require_email_verified: bool,
    /// Keys are fetched again when a token names an unknown one, but not more often than once in so many seconds.
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

/// Where things are stored.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// The SQLite database.
    pub path: PathBuf,
    /// Connections that read.
    pub readers: u32,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self { path: PathBuf::from("data/toolyard.db"), readers: 4 }
    }
}

/// Bounds of calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallsConfig {
    /// Longest call, wake included, in milliseconds, where the app asks for nothing else.
    pub timeout_ms: u64,
    /// Longest call that an app may ask for, in milliseconds.
    pub max_timeout_ms: u64,
    /// Longest wake, in milliseconds, where the app asks for nothing else.
    pub wake_timeout_ms: u64,
    /// Longest wake that an app may ask for, in milliseconds.
    pub max_wake_timeout_ms: u64,
    /// Calls under way at once on this node.
    pub in_flight: usize,
    /// Calls under way at once to one app.
    pub in_flight_per_app: usize,
    /// Calls under way at once for one user.
    pub in_flight_per_user: usize,
    /// How long the outcome under an idempotency key is kept, in seconds.
    pub key_lifetime_s: u64,
    /// Largest outcome that is kept under a key, in bytes.
    pub key_outcome_bytes: usize,
    /// Idempotency keys of one user at once. More are refused until the oldest are over.
    pub keys_per_user: usize,
    /// All outcomes that are kept under the keys of one user, in bytes. The oldest make room; their calls are still not
    /// made again.
    pub key_bytes_per_user: usize,
    /// Largest result of a tool, in bytes, of apps and upstreams alike.
    pub result_bytes: usize,
    /// Longest check of arguments or of a result against a schema, in milliseconds. A tool whose check takes longer is
    /// hidden until its definition changes or the server is restarted.
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

/// Rate limits: calls a second in the long run, and how many at once after a pause. A person never meets the defaults.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateConfig {
    /// Calls a second of one user.
    pub user_per_s: u32,
    /// Calls at once of one user.
    pub user_burst: u32,
    /// Calls a second of one tool, over all users.
    pub tool_per_s: u32,
    /// Calls at once of one tool, over all users.
    pub tool_burst: u32,
    /// Calls a second of everything on this node.
    pub all_per_s: u32,
    /// Calls at once of everything on this node.
    pub all_burst: u32,
    /// Requests a second of one caller that manage something: apps, tools, installs, settings, tokens, plugins.
    pub manage_per_s: u32,
    /// Such requests of one caller at once.
    pub manage_burst: u32,
    /// Requests a second of one caller that make the server work or ask others: pictures of apps, checks of tools,
    /// files of apps, signatures, refreshes of upstreams.
    pub costly_per_s: u32,
    /// Such requests of one caller at once.
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
    /// What an app is whose registration does not say `kind`: `tools-only` apps just answer calls, `session` apps are
    /// started before a call and can show and hear.
    pub default_kind: AppKind,
}

impl Default for AppsConfig {
    fn default() -> Self {
        Self { default_kind: AppKind::ToolsOnly }
    }
}

/// What nobody may call.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Tools that are denied to everybody: `com.example.app:tool`, or `com.example.app:*`.
    pub deny: Vec<String>,
}

/// Devices and running apps.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionsConfig {
    /// How long an app whose socket broke may take to come back by itself, in milliseconds. The SDK gives up after 6 s.
    pub reconnect_window_ms: u64,
    /// A woken app that nobody called for this long is stopped, in seconds.
    pub idle_stop_s: u64,
    /// How long a session outlives its device, in seconds.
    pub device_grace_s: u64,
    /// How long a session without a device lives after the last request, in seconds.
    pub session_idle_s: u64,
    /// How long the picture of an app that is not in front stays, in milliseconds.
    pub overlay_ms: u64,
    /// Messages of streams that wait for a slow socket; more are dropped, and the app is told.
    pub stream_queue: usize,
    /// Other messages that wait for a slow socket; at more the socket is closed.
    pub control_queue: usize,
    /// Requests of one app (photo, sound, lamp) that wait for a slow device; more are refused.
    pub requests_per_app: usize,
    /// Messages a second that one app may send in the long run; an app that sends more is stopped.
    pub app_messages_per_s: u32,
    /// Messages at once that one app may send after a pause.
    pub app_message_burst: u32,
    /// The package of the app that may change the mode and the system texts of the dashboard. Where it is missing, no app
    /// may.
    pub dashboard_app: Option<PackageName>,
    /// Users with a session at once.
    pub max_users: usize,
    /// Apps that run for one user at once.
    pub max_apps: usize,
    /// How often what idles is looked for, in milliseconds.
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

/// Requests that leave.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NetConfig {
    /// Whether apps may be on this machine. Where it is missing: yes in `dev` mode, no in `token` mode.
    pub allow_loopback: Option<bool>,
    /// Whether apps may be on private addresses.
    pub allow_private: bool,
    /// Address ranges in which apps and upstreams may also be: `10.1.0.0/16`.
    pub also_allow: Vec<String>,
    /// Address ranges that `fetch_page`, plugins and pictures of apps may reach beside public addresses: `10.1.2.0/24`.
    /// None of the settings above applies to them, because models, users and web pages choose those addresses.
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
    /// Tools, prompts or resources in one page of a list. Some clients read the first page only.
    pub page_size: usize,
    /// Days that a session of a handshake revision stays good.
    pub session_days: u32,
    /// How long a change waits for more of them before clients are told, in milliseconds.
    pub debounce_ms: u64,
    /// Streams at once on which one user's clients listen for changes.
    pub streams_per_user: usize,
    /// How long a browser may take to open a socket with its ticket, in seconds.
    pub ticket_s: u64,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self { page_size: 100, session_days: 30, debounce_ms: 200, streams_per_user: 64, ticket_s: 30 }
    }
}

/// What one user can have at once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ViewsConfig {
    /// Tools in one user's view, and as many prompts, resources and templates each. Those of apps installed later are
    /// hidden, with the reason.
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

/// Bounds of upstreams.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Whether operators may add commands over REST, too. Where it is missing: only in dev mode. The configuration file
    /// may always name commands.
    pub allow_commands: Option<bool>,
    /// For reaching an upstream, a process's start included, in milliseconds.
    pub connect_timeout_ms: u64,
    /// For each page of a list, in milliseconds.
    pub list_timeout_ms: u64,
    /// Lists are read again after so many seconds, whatever an upstream says.
    pub refresh_s: u64,
    /// A user's connection is closed after so many seconds without use.
    pub idle_s: u64,
    /// How long a request is held open for a caller that was asked back, in seconds.
    pub held_s: u64,
    /// Requests held open at once.
    pub max_held: usize,
    /// Connections to upstreams at once.
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

/// How long calls are remembered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerConfig {
    /// Days that a call stays in the ledger.
    pub keep_days: u32,
    /// How long a batch of records may wait for more, in milliseconds. A kill loses what waits, and what is being written.
    pub batch_delay_ms: u64,
    /// Records after which a batch waits no longer. New calls are refused while eight times as many are unwritten.
    pub batch_size: usize,
    /// Hours that the error message of a failed call is kept, up to 2,000 bytes of it. 0 keeps none.
    pub error_message_hours: u32,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        Self { keep_days: 90, batch_delay_ms: 20, batch_size: 1_024, error_message_hours: 24 }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// What is logged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// What is logged, by target: `info`, `info,toolyard::call=warn`.
    pub filter: String,
    /// How lines look.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "info".to_owned(), format: LogFormat::Text }
    }
}

/// Where traces go.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// An OTLP endpoint over HTTP: `http://127.0.0.1:4318/v1/traces`. Without it nothing is sent.
    pub otlp_url: Option<String>,
}
