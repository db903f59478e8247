//! Converts the configuration into the settings of each part.

use std::{num::NonZeroU32, path::Path, sync::Arc, time::Duration};

use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    limits::{CallLimits, MAX_ERROR_MESSAGE_BYTES},
    pinning::PinMode,
    policy::{RateLimit, RateLimits, ToolPolicy},
    ports::HomeMarks,
};
use toolyard_net::{ClientSettings, Guard, GuardPolicy, HttpClient, IpRange, ReferralClients};
use toolyard_platform::{PlatformConfig, RequestLimits};
use toolyard_sessions::{MessageRate, SessionSettings};
use toolyard_sources::upstream::{OAuthSetup, UpstreamSettings};
use toolyard_store::{CopiedTable, CopyError, PostgresSettings, SqliteSettings, StoreSettings, StoreState};

use crate::{
    config::{
        AuthMode, CallsConfig, Config, DefinitionsConfig, LedgerConfig, PolicyConfig, RateConfig,
        UpstreamConfig,
    },
    secrets::{self, RootKeyError, RootKeys},
    serve::{ServerDependencies, ServerStartError},
};

/// The word vectors, if `chat.vectors` is set.
pub(crate) fn load_word_vectors(config: &Config) -> Result<Option<Arc<WordVectors>>, ServerStartError> {
    let Some(folder) = &config.chat.vectors else { return Ok(None) };
    let read = WordVectors::open(folder);
    read.map(|vectors| Some(Arc::new(vectors)))
        .map_err(|error| ServerStartError::Config(format!("chat.vectors: {error}")))
}

pub(crate) fn auth_mode(config: &Config) -> Result<AuthMode, ServerStartError> {
    let is_loopback = config.server.listen.ip().is_loopback();
    // A public URL means that a proxy is in front of us, so callers are not limited to this machine.
    let default =
        if is_loopback && config.server.public_url.is_none() { AuthMode::Dev } else { AuthMode::Token };
    let mode = config.auth.mode.unwrap_or(default);
    if mode == AuthMode::Dev {
        // `load_config` checks this, too, but a configuration can also be built in code.
        if !is_loopback {
            let text = format!("auth.mode `dev` requires a loopback address, not {}", config.server.listen);
            return Err(ServerStartError::Config(text));
        }
        tracing::warn!(
            "dev mode: anyone on this machine can act as any user; set auth.mode = \"token\" to require credentials"
        );
    }
    Ok(mode)
}

/// The root keys. A missing key file is created, unless the key `must_exist`.
pub(crate) fn root_keys(
    config: &Config,
    deps: &ServerDependencies,
    must_exist: bool,
) -> Result<RootKeys, RootKeyError> {
    let auth = &config.auth;
    let file = root_key_file(config);
    let current = match &auth.root_key {
        Some(text) => secrets::parse_root_key(text, "auth.root_key")?,
        None if must_exist && !file.exists() => {
            let (file, database) = (file.display().to_string(), shown_store(config));
            return Err(RootKeyError::Missing { file, database });
        }
        None => RootKeys::load_or_create(&file, &*deps.ids)?,
    };
    let old = auth
        .old_root_key
        .as_deref()
        .map(|text| secrets::parse_root_key(text, "auth.old_root_key"))
        .transpose()?;
    Ok(RootKeys::new(std::iter::once(current).chain(old).collect(), deps.ids.clone()))
}

/// The path of the root key file.
pub fn root_key_file(config: &Config) -> std::path::PathBuf {
    config.auth.root_key_file.clone().unwrap_or_else(|| config.store.path.with_file_name("root.key"))
}

/// The root key as an operator knows it: the setting, or its file.
pub(crate) fn shown_root_key(config: &Config) -> String {
    match config.auth.root_key {
        Some(_) => "auth.root_key".to_owned(),
        None => root_key_file(config).display().to_string(),
    }
}

/// The error that the root key is not that of the store.
pub(crate) fn root_key_mismatch(config: &Config) -> RootKeyError {
    RootKeyError::Mismatch { source_of_key: shown_root_key(config), database: shown_store(config) }
}

/// The guard that decides which addresses apps and upstreams may have.
pub(crate) fn build_guard(config: &Config, mode: AuthMode) -> Result<Guard, ServerStartError> {
    Ok(Guard::new(guard_policy(config, mode)?))
}

fn guard_policy(config: &Config, mode: AuthMode) -> Result<GuardPolicy, ServerStartError> {
    Ok(GuardPolicy {
        loopback: config.net.allow_loopback.unwrap_or(mode == AuthMode::Dev),
        private: config.net.allow_private,
        also: parse_ip_ranges("net.also_allow", &config.net.also_allow)?,
        own_listener: Some(config.server.listen),
        ..GuardPolicy::default()
    })
}

/// Clients for addresses that an upstream refers to. In dev mode upstreams may be on this machine; a remote upstream must not
/// use that to reach it.
pub(crate) fn referral_clients(
    config: &Config,
    mode: AuthMode,
    deps: &ServerDependencies,
) -> Result<ReferralClients, ServerStartError> {
    let policy = guard_policy(config, mode)?;
    let own = || ReferralClients::new(&policy, client_settings(config));
    Ok(deps.http.clone().map_or_else(own, ReferralClients::unrestricted))
}

/// Web access for `fetch_page`, app icons and plugins. Models, users and pages choose these addresses, so loopback and private
/// networks are blocked even if apps may use them.
#[derive(Clone)]
pub(crate) struct WebAccess {
    pub(crate) http: HttpClient,
    pub(crate) guard: Guard,
}

pub(crate) fn web_access(config: &Config, deps: &ServerDependencies) -> Result<WebAccess, ServerStartError> {
    let guard = Guard::new(GuardPolicy {
        also: parse_ip_ranges("net.web_allow", &config.net.web_allow)?,
        own_listener: Some(config.server.listen),
        ..GuardPolicy::default()
    });
    let own = || HttpClient::new(guard.clone(), client_settings(config));
    Ok(WebAccess { http: deps.http.clone().unwrap_or_else(own), guard })
}

fn parse_ip_ranges(path: &str, texts: &[String]) -> Result<Vec<IpRange>, ServerStartError> {
    let range =
        |text: &String| text.parse().map_err(|error| ServerStartError::Config(format!("{path}: {error}")));
    texts.iter().map(range).collect()
}

pub(crate) fn client_settings(config: &Config) -> ClientSettings {
    ClientSettings {
        connect_timeout: Duration::from_millis(config.net.connect_timeout_ms),
        idle_per_host: config.net.idle_per_app,
        ..ClientSettings::default()
    }
}

pub(crate) fn store_settings(config: &Config) -> StoreSettings {
    let (store, ledger) = (&config.store, &config.ledger);
    let batch_delay = Duration::from_millis(ledger.batch_delay_ms);
    match &store.url {
        None => StoreSettings::Sqlite(SqliteSettings {
            readers: store.readers,
            batch_delay,
            batch_size: ledger.batch_size,
            quotas: config.quotas.store_quotas().into(),
            ..SqliteSettings::for_file(&store.path)
        }),
        Some(url) => StoreSettings::Postgres(PostgresSettings {
            connections: store.connections,
            statement_timeout: Duration::from_millis(store.statement_timeout_ms),
            lock_timeout: Duration::from_millis(store.lock_timeout_ms),
            acquire_timeout: Duration::from_millis(store.acquire_timeout_ms),
            batch_delay,
            batch_size: ledger.batch_size,
            quotas: config.quotas.store_quotas().into(),
            ..PostgresSettings::for_url(url)
        }),
    }
}

/// Looks at the store of this configuration, which a server may have open. Changes nothing.
pub async fn inspect_store(config: &Config) -> StoreState {
    toolyard_store::inspect_store(&store_settings(config)).await
}

/// Copies a database file, which no server may use meanwhile, to an empty PostgreSQL database.
pub async fn copy_store(
    from: &Path,
    url: &str,
    copied: impl FnMut(&CopiedTable),
) -> Result<Vec<CopiedTable>, CopyError> {
    toolyard_store::copy_store(from, &PostgresSettings::for_url(url), copied).await
}

/// The database as an operator knows it: its file, or its URL without the password.
pub fn shown_store(config: &Config) -> String {
    store_settings(config).shown_database()
}

pub(crate) fn call_limits(config: &CallsConfig, ledger: &LedgerConfig) -> CallLimits {
    CallLimits {
        call_timeout: Duration::from_millis(config.timeout_ms),
        max_call_timeout: Duration::from_millis(config.max_timeout_ms),
        wake_timeout: Duration::from_millis(config.wake_timeout_ms),
        max_wake_timeout: Duration::from_millis(config.max_wake_timeout_ms),
        in_flight_node: config.in_flight,
        in_flight_app: config.in_flight_per_app,
        in_flight_user: config.in_flight_per_user,
        key_lifetime: Duration::from_secs(config.key_lifetime_s),
        key_outcome_bytes: config.key_outcome_bytes,
        user_keys: config.keys_per_user,
        user_key_bytes: config.key_bytes_per_user,
        result_bytes: config.result_bytes,
        check_timeout: Duration::from_millis(config.check_timeout_ms),
        error_message_bytes: if ledger.error_message_hours == 0 { 0 } else { MAX_ERROR_MESSAGE_BYTES },
    }
}

pub(crate) fn nonzero_rate(per_second: u32, burst: u32) -> Result<RateLimit, ServerStartError> {
    match (NonZeroU32::new(per_second), NonZeroU32::new(burst)) {
        (Some(per_second), Some(burst)) => Ok(RateLimit { per_second, burst }),
        _ => Err(ServerStartError::Config("rates: every rate must be at least 1".to_owned())),
    }
}

/// Rate limits of requests that change something.
pub(crate) fn request_limits(rates: &RateConfig) -> Result<RequestLimits, ServerStartError> {
    let [all, costly] = request_rates(rates)?;
    Ok(RequestLimits::new(all, costly))
}

/// The rates of all requests that change something, and of costly ones.
pub(crate) fn request_rates(rates: &RateConfig) -> Result<[RateLimit; 2], ServerStartError> {
    Ok([
        nonzero_rate(rates.manage_per_s, rates.manage_burst)?,
        nonzero_rate(rates.costly_per_s, rates.costly_burst)?,
    ])
}

/// Limits and defaults of the platform's verbs.
pub(crate) fn platform_config(config: &Config, mode: AuthMode) -> PlatformConfig {
    PlatformConfig {
        default_app_kind: config.apps.default_kind,
        max_call_timeout_ms: config.calls.max_timeout_ms,
        max_wake_timeout_ms: config.calls.max_wake_timeout_ms,
        token_quota: config.quotas.token_quota(),
        allow_commands: config.upstream_settings.allow_commands.unwrap_or(mode == AuthMode::Dev),
        accounts: config.sign_in.settings(&config.base_url()),
        clients: config.oauth.settings(),
        approval_apps: config.approvals.apps.clone(),
    }
}

/// Tools that are denied to all users.
pub(crate) fn tool_policy(config: &PolicyConfig) -> Result<ToolPolicy, ServerStartError> {
    let denied = config.deny.iter().map(String::as_str);
    let invalid = |error| ServerStartError::Config(format!("policy.deny: {error}"));
    ToolPolicy::from_deny_list(denied).map_err(invalid)
}

pub(crate) fn call_rates(config: &RateConfig) -> Result<RateLimits, ServerStartError> {
    Ok(RateLimits {
        user: nonzero_rate(config.user_per_s, config.user_burst)?,
        tool: nonzero_rate(config.tool_per_s, config.tool_burst)?,
        all: nonzero_rate(config.all_per_s, config.all_burst)?,
    })
}

pub(crate) fn upstream_settings(
    config: &UpstreamConfig,
    calls: &CallsConfig,
    definitions: &DefinitionsConfig,
) -> UpstreamSettings {
    UpstreamSettings {
        connect: Duration::from_millis(config.connect_timeout_ms),
        list: Duration::from_millis(config.list_timeout_ms),
        refresh: Duration::from_secs(config.refresh_s),
        idle: Duration::from_secs(config.idle_s),
        held: Duration::from_secs(config.held_s),
        max_held: config.max_held,
        max_connections: config.max_connections,
        result_bytes: calls.result_bytes,
        read_contents: definitions.upstreams != PinMode::Off,
    }
}

/// Where users return after they authorize. Client metadata needs https, or authorization servers cannot fetch it.
pub(crate) fn oauth_setup(config: &Config, marks: HomeMarks) -> OAuthSetup {
    let base = config.base_url();
    let client_metadata_url = base.starts_with("https:").then(|| format!("{base}/oauth/client.json"));
    OAuthSetup {
        redirect_uri: format!("{base}/oauth/callback"),
        client_metadata_url,
        upstream_pages: format!("{base}/console/upstreams"),
        marks,
    }
}

pub(crate) fn session_settings(config: &Config) -> SessionSettings {
    let sessions = &config.sessions;
    SessionSettings {
        app_socket_url: app_socket_url(config),
        reconnect_window: Duration::from_millis(sessions.reconnect_window_ms),
        idle_stop: Duration::from_secs(sessions.idle_stop_s),
        device_grace: Duration::from_secs(sessions.device_grace_s),
        session_idle: Duration::from_secs(sessions.session_idle_s),
        overlay: Duration::from_millis(sessions.overlay_ms),
        stream_queue: sessions.stream_queue,
        control_queue: sessions.control_queue,
        requests_per_app: sessions.requests_per_app,
        app_messages: MessageRate { per_s: sessions.app_messages_per_s, burst: sessions.app_message_burst },
        dashboard_app: sessions.dashboard_app.clone(),
        max_users: sessions.max_users,
        max_apps: sessions.max_apps,
        speech_link: Duration::from_secs(config.speech.link_s),
        utterances: config.speech.transcribe_waiting,
        spoken_language: config.speech.language.clone(),
        ..SessionSettings::default()
    }
}

/// `ws://…/app-ws` under the public URL, or under the address we listen on.
fn app_socket_url(config: &Config) -> String {
    let base = match &config.server.public_url {
        Some(url) => url.trim_end_matches('/').replacen("http", "ws", 1),
        None => format!("ws://{}", config.server.listen),
    };
    format!("{base}/app-ws")
}
