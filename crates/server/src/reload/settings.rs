//! Which settings can be reloaded. A test fails if a setting of the schema is missing here.

/// When a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadRule {
    /// With a reload.
    Live,
    /// When the server is restarted.
    Restart,
}

/// When the settings of a section take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionRule {
    /// The same for all of them.
    All(ReloadRule),
    /// One by one.
    Each {
        /// With a reload.
        live: &'static [&'static str],
        /// When the server is restarted.
        restart: &'static [&'static str],
    },
}

use ReloadRule::{Live, Restart};
use SectionRule::{All, Each};

/// Every section of the configuration.
pub const RELOAD_RULES: &[(&str, SectionRule)] = &[
    (
        "server",
        Each {
            // Open sockets keep their heartbeat and their largest message.
            live: &[
                "hosts",
                "origins",
                "body_bytes",
                "tool_set_bytes",
                "body_timeout_ms",
                "socket_message_bytes",
                "drain_ms",
                "heartbeat_s",
            ],
            restart: &[
                "listen",
                "public_url",
                "max_connections",
                "max_connections_per_address",
                "proxies",
                "head_timeout_ms",
                "write_timeout_ms",
                "unauthenticated_sockets",
                "introduction_ms",
                "streams_per_user",
                "stuck_after_ms",
            ],
        },
    ),
    ("auth", All(Restart)),
    ("sign_in", All(Restart)),
    (
        "oauth",
        Each {
            live: &["registration"],
            restart: &[
                "enabled",
                "max_clients",
                "clients_per_user",
                "access_token_s",
                "access_token_hosts",
                "clients",
                "grant_days",
            ],
        },
    ),
    ("store", All(Restart)),
    ("cluster", All(Restart)),
    ("audit", Each { live: &["keep_days"], restart: &[] }),
    (
        "calls",
        Each {
            live: &[
                "timeout_ms",
                "max_timeout_ms",
                "wake_timeout_ms",
                "max_wake_timeout_ms",
                "in_flight",
                "in_flight_per_app",
                "in_flight_per_user",
                "key_lifetime_s",
                "key_outcome_bytes",
                "keys_per_user",
                "key_bytes_per_user",
                "check_timeout_ms",
            ],
            // Connections to upstreams are opened with it.
            restart: &["result_bytes"],
        },
    ),
    (
        "rates",
        Each {
            live: &[
                "user_per_s",
                "user_burst",
                "tool_per_s",
                "tool_burst",
                "all_per_s",
                "all_burst",
                "manage_per_s",
                "manage_burst",
                "costly_per_s",
                "costly_burst",
            ],
            restart: &[],
        },
    ),
    ("apps", Each { live: &["default_kind"], restart: &[] }),
    (
        "quotas",
        Each {
            live: &[
                "apps_per_developer",
                "upstreams_per_developer",
                "tool_versions_per_app",
                "installs_per_user",
                "switched_off_tools_per_user",
                "tool_choices_per_user",
                "settings_bytes_per_user",
                "tokens_per_user",
                "tokens",
                "catalogue_versions_per_curator",
                "remembered_devices",
            ],
            restart: &[],
        },
    ),
    ("policy", Each { live: &["deny"], restart: &[] }),
    (
        "approvals",
        Each {
            live: &[
                "preset",
                "rules",
                "expires_s",
                "max_open",
                "max_grants",
                "apps",
                "mcp_clients",
                "mcp_wait_s",
            ],
            restart: &["data_flow", "labels", "destinations", "push", "push_contact", "webhook"],
        },
    ),
    ("redaction", All(Restart)),
    ("definitions", All(Restart)),
    ("sessions", All(Restart)),
    ("net", All(Restart)),
    (
        "mcp",
        Each {
            live: &["debounce_ms"],
            restart: &["page_size", "session_days", "streams_per_user", "ticket_s"],
        },
    ),
    ("views", All(Restart)),
    // By id: an upstream that is added, changed or removed.
    ("upstreams", All(Live)),
    ("upstream_settings", All(Restart)),
    (
        "chat",
        Each {
            // A turn keeps the settings with which it starts.
            live: &[
                "system",
                "callers_choose_model",
                "models",
                "callers_set_system",
                "body_bytes",
                "steps",
                "tokens",
                "time_s",
                "tools",
                "calls",
                "result_chars",
                "corrections",
                "repeats",
                "max_continuations",
                "client_tools",
                "client_tool_bytes",
                "client_tool_depth",
                "client_tool_properties",
            ],
            restart: &["model", "turns_per_user", "turns_per_minute", "vectors", "replays", "replay_bytes"],
        },
    ),
    ("models", All(Restart)),
    ("model_search", All(Restart)),
    ("builtin", All(Restart)),
    ("plugins", All(Restart)),
    ("speech", All(Restart)),
    (
        "ledger",
        Each { live: &["keep_days", "error_message_hours"], restart: &["batch_delay_ms", "batch_size"] },
    ),
    ("log", Each { live: &["filter"], restart: &["format"] }),
    ("telemetry", All(Restart)),
];

/// Sections whose values may contain secrets, so that a report names only the setting. Values of settings that need a restart
/// are never reported.
pub(super) const SECRET_SECTIONS: [&str; 1] = ["upstreams"];

/// When this setting takes effect. `None` if it is not in the table.
pub fn reload_rule(section: &str, key: &str) -> Option<ReloadRule> {
    let (_, rule) = RELOAD_RULES.iter().find(|(name, _)| *name == section)?;
    match rule {
        All(rule) => Some(*rule),
        Each { live, .. } if live.contains(&key) => Some(Live),
        Each { restart, .. } if restart.contains(&key) => Some(Restart),
        Each { .. } => None,
    }
}
