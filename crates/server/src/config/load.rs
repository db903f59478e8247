//! Reads and checks the configuration.

use std::path::PathBuf;

use toml::{Table, Value};

use super::{AuthMode, Config, approvals::MAX_MCP_WAIT_S};

/// Environment variables are `TOOLYARD_` and the path of a setting, joined by `__`: `TOOLYARD_SERVER__LISTEN`,
/// `TOOLYARD_MODELS__LOCAL__URL`.
const PREFIX: &str = "TOOLYARD_";
/// The file that is read by default, if it exists.
const DEFAULT_FILE: &str = "toolyard.toml";

/// A setting that must not be set by accident, for example by a line in a container's description.
const NOT_BY_ENVIRONMENT: [&str; 2] = ["plugins", "allow_unsigned"];

/// The sources of the configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigSources {
    /// The file, if one was named. It must exist then.
    pub file: Option<PathBuf>,
    /// The environment variables.
    pub environment: Vec<(String, String)>,
    /// Flags: section, key, and value as TOML or plain text. They override everything else.
    pub flags: Vec<(&'static str, &'static str, String)>,
}

/// An error in the configuration, and its place.
#[derive(Debug, thiserror::Error)]
pub enum ConfigLoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{} is not TOML: {error}", file.display())]
    NotToml {
        /// Which file.
        file: PathBuf,
        /// Where and why.
        error: toml::de::Error,
    },
    /// A value has the wrong type, or a key is unknown.
    #[error("configuration: `{path}`: {message}")]
    Wrong {
        /// `section.key`
        path: String,
        /// What was expected.
        message: String,
    },
}

impl ConfigLoadError {
    /// The error without the line of the file, which may contain a secret.
    pub fn without_source(&self) -> String {
        match self {
            Self::NotToml { file, error } => {
                // "TOML parse error at line 3, column 5", then the line itself.
                let text = error.to_string();
                let place = text.lines().next().unwrap_or_default();
                format!("{} is not TOML: {place}: {}", file.display(), error.message())
            }
            Self::Unreadable { .. } | Self::Wrong { .. } => self.to_string(),
        }
    }
}

fn config_error(path: &str, message: impl Into<String>) -> ConfigLoadError {
    ConfigLoadError::Wrong { path: path.to_owned(), message: message.into() }
}

/// Reads and checks the configuration.
pub fn load_config(sources: ConfigSources) -> Result<Config, ConfigLoadError> {
    let mut table = read_file(sources.file)?;
    for (path, value) in from_environment(sources.environment) {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        if names == NOT_BY_ENVIRONMENT {
            return Err(config_error(
                "plugins.allow_unsigned",
                "can be set in the file only, plugin by plugin",
            ));
        }
        set_value(&mut table, &names, &value)?;
    }
    for (section, key, value) in sources.flags {
        set_value(&mut table, &[section, key], &value)?;
    }
    let config: Config = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let path = error.path().to_string();
        config_error(&path, error.into_inner().message().to_owned())
    })?;
    check_config(&config)?;
    Ok(config)
}

fn read_file(named: Option<PathBuf>) -> Result<Table, ConfigLoadError> {
    let (file, must_exist) = named.map_or_else(|| (PathBuf::from(DEFAULT_FILE), false), |file| (file, true));
    match std::fs::read_to_string(&file) {
        Ok(text) => text.parse().map_err(|error| ConfigLoadError::NotToml { file, error }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => Ok(Table::new()),
        Err(error) => Err(ConfigLoadError::Unreadable { file, error }),
    }
}

/// The settings of the environment with their paths in lower case. A whole table (`TOOLYARD_MODELS__X`) comes before its
/// members (`TOOLYARD_MODELS__X__URL`), so that it does not replace them.
fn from_environment(environment: Vec<(String, String)>) -> Vec<(Vec<String>, String)> {
    let mut settings: Vec<_> = environment
        .into_iter()
        .filter_map(|(name, value)| {
            let path: Vec<String> = name.strip_prefix(PREFIX)?.split("__").map(str::to_lowercase).collect();
            (path.len() > 1).then_some((path, value))
        })
        .collect();
    settings.sort_by_key(|(path, _)| path.len());
    settings
}

/// Sets a value from the environment or a flag: TOML if it parses as such (`5`, `true`, `["a"]`), otherwise a string.
fn set_value(table: &mut Table, path: &[&str], value: &str) -> Result<(), ConfigLoadError> {
    // A bare value is not a TOML document, so wrap it.
    let parsed =
        format!("value = {value}").parse::<Table>().ok().and_then(|mut parsed| parsed.remove("value"));
    let value = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
    let Some((key, sections)) = path.split_last() else { return Ok(()) };
    let mut table = table;
    for (depth, section) in sections.iter().enumerate() {
        let entry = table.entry(*section).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = entry else {
            return Err(config_error(
                &path[..=depth].join("."),
                "not a section, so it has no settings below it",
            ));
        };
        table = inner;
    }
    table.insert((*key).to_owned(), value);
    Ok(())
}

fn check_config(config: &Config) -> Result<(), ConfigLoadError> {
    let at_least = |path: &str, value: u64, least: u64| {
        if value < least {
            Err(config_error(path, format!("{value} is too small; must be at least {least}")))
        } else {
            Ok(())
        }
    };
    at_least("store.connections", u64::from(config.store.connections), 1)?;
    at_least("store.statement_timeout_ms", config.store.statement_timeout_ms, 100)?;
    at_least("store.lock_timeout_ms", config.store.lock_timeout_ms, 100)?;
    at_least("store.acquire_timeout_ms", config.store.acquire_timeout_ms, 10)?;
    if let Some(url) = &config.store.url
        && !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))
    {
        // Not shown: it may contain a password.
        return Err(config_error(
            "store.url",
            "must begin with postgres://; a database file is `store.path`",
        ));
    }
    at_least("server.body_bytes", config.server.body_bytes as u64, 1_024)?;
    at_least("server.tool_set_bytes", config.server.tool_set_bytes as u64, 1_024)?;
    at_least("server.socket_message_bytes", config.server.socket_message_bytes as u64, 1_024)?;
    at_least("server.body_timeout_ms", config.server.body_timeout_ms, 1)?;
    at_least("server.max_connections", config.server.max_connections as u64, 1)?;
    at_least("server.heartbeat_s", config.server.heartbeat_s, 1)?;
    at_least("server.head_timeout_ms", config.server.head_timeout_ms, 1)?;
    at_least("server.write_timeout_ms", config.server.write_timeout_ms, 1)?;
    at_least("server.unauthenticated_sockets", config.server.unauthenticated_sockets as u64, 1)?;
    at_least("server.introduction_ms", config.server.introduction_ms, 1)?;
    at_least("server.streams_per_user", config.server.streams_per_user as u64, 1)?;
    at_least("server.stuck_after_ms", config.server.stuck_after_ms, 100)?;
    at_least("calls.timeout_ms", config.calls.timeout_ms, 1)?;
    at_least("calls.wake_timeout_ms", config.calls.wake_timeout_ms, 1)?;
    at_least("calls.in_flight", config.calls.in_flight as u64, 1)?;
    at_least("calls.in_flight_per_app", config.calls.in_flight_per_app as u64, 1)?;
    at_least("calls.in_flight_per_user", config.calls.in_flight_per_user as u64, 1)?;
    at_least("calls.keys_per_user", config.calls.keys_per_user as u64, 1)?;
    at_least("calls.result_bytes", config.calls.result_bytes as u64, 1024)?;
    at_least("calls.check_timeout_ms", config.calls.check_timeout_ms, 1)?;
    at_least("sessions.stream_queue", config.sessions.stream_queue as u64, 1)?;
    at_least("sessions.control_queue", config.sessions.control_queue as u64, 8)?;
    at_least("sessions.requests_per_app", config.sessions.requests_per_app as u64, 1)?;
    at_least("sessions.app_messages_per_s", config.sessions.app_messages_per_s.into(), 1)?;
    at_least("sessions.app_message_burst", config.sessions.app_message_burst.into(), 10)?;
    at_least("sessions.sweep_ms", config.sessions.sweep_ms, 10)?;
    at_least("chat.turns_per_user", config.chat.turns_per_user as u64, 1)?;
    at_least("chat.turns_per_minute", config.chat.turns_per_minute.into(), 1)?;
    if config.chat.models.iter().any(|pattern| !pattern.contains(['/', '*'])) {
        let text = "expected names such as `openai/gpt-5-mini`, or patterns such as `ollama/*`";
        return Err(config_error("chat.models", text));
    }
    at_least("approvals.expires_s", config.approvals.expires_s, 1)?;
    at_least("approvals.max_open", config.approvals.max_open, 1)?;
    at_least("redaction.expires_s", config.redaction.expires_s, 1)?;
    if config.approvals.mcp_wait_s > MAX_MCP_WAIT_S {
        let text = format!("{} is too large; must be at most {MAX_MCP_WAIT_S}", config.approvals.mcp_wait_s);
        return Err(config_error("approvals.mcp_wait_s", text));
    }
    if let Some(problem) = config.approvals.label_settings().check().first() {
        return Err(config_error(&format!("approvals.{}", problem.path), problem.message.clone()));
    }
    if let Err(problems) = config.approvals.policy().check()
        && let Some(problem) = problems.first()
    {
        return Err(config_error(&format!("approvals.{}", problem.path), problem.message.clone()));
    }
    at_least("mcp.page_size", config.mcp.page_size as u64, 1)?;
    at_least("views.max_tools", config.views.max_tools as u64, 1)?;
    at_least("views.max_bytes", config.views.max_bytes as u64, 1)?;
    at_least("mcp.session_days", config.mcp.session_days.into(), 1)?;
    at_least("mcp.streams_per_user", config.mcp.streams_per_user as u64, 1)?;
    at_least("mcp.ticket_s", config.mcp.ticket_s, 1)?;
    at_least("upstream_settings.connect_timeout_ms", config.upstream_settings.connect_timeout_ms, 1)?;
    at_least("upstream_settings.list_timeout_ms", config.upstream_settings.list_timeout_ms, 1)?;
    at_least("upstream_settings.refresh_s", config.upstream_settings.refresh_s, 1)?;
    at_least("upstream_settings.max_held", config.upstream_settings.max_held as u64, 1)?;
    at_least("upstream_settings.max_connections", config.upstream_settings.max_connections as u64, 1)?;
    for (id, upstream) in &config.upstreams {
        let path = format!("upstreams.{id}");
        toolyard_protocol::upstream::upstream_package(id)
            .map_err(|error| config_error(&path, error.to_string()))?;
        if let Some(problem) = upstream.problems().first() {
            return Err(config_error(&format!("{path}.{}", problem.path), problem.message.clone()));
        }
    }
    let plugins = &config.plugins;
    for (path, value) in [
        ("plugins.per_user", plugins.per_user),
        ("plugins.catalogue", plugins.catalogue),
        ("plugins.runs", plugins.runs),
        ("plugins.runs_per_user", plugins.runs_per_user),
        ("plugins.runs_per_plugin", plugins.runs_per_plugin),
    ] {
        at_least(path, value as u64, 1)?;
    }
    at_least("plugins.manifest_bytes", plugins.manifest_bytes as u64, 1_024)?;
    at_least("plugins.memory_bytes", plugins.memory_bytes as u64, 1024 * 1024)?;
    at_least("plugins.time_ms", plugins.time_ms, 1)?;
    at_least("plugins.compute_ms", plugins.compute_ms, 1)?;
    let speech = &config.speech;
    for (path, value) in [
        ("speech.text_chars", speech.text_chars),
        ("speech.at_once", speech.at_once),
        ("speech.transcribe_at_once", speech.transcribe_at_once),
        ("speech.transcribe_waiting", speech.transcribe_waiting),
    ] {
        at_least(path, value as u64, 1)?;
    }
    at_least("speech.sound_bytes", speech.sound_bytes as u64, 1_024)?;
    at_least("speech.timeout_ms", speech.timeout_ms, 1)?;
    at_least("speech.transcribe_timeout_ms", speech.transcribe_timeout_ms, 1)?;
    at_least("speech.link_s", speech.link_s, 1)?;
    let sign_in = &config.sign_in;
    sign_in.check().map_err(|mistake| config_error(&mistake.path, mistake.message))?;
    for (path, value) in [
        ("sign_in.idle_hours", sign_in.idle_hours),
        ("sign_in.max_days", sign_in.max_days),
        ("sign_in.sessions_per_user", sign_in.sessions_per_user),
        ("sign_in.passkeys_per_user", sign_in.passkeys_per_user),
        ("sign_in.max_accounts", sign_in.max_accounts),
    ] {
        at_least(path, value.into(), 1)?;
    }
    at_least("oauth.max_clients", config.oauth.max_clients.into(), 1)?;
    at_least("oauth.clients_per_user", config.oauth.clients_per_user.into(), 1)?;
    at_least("oauth.access_token_s", config.oauth.access_token_s, 60)?;
    at_least("oauth.grant_days", config.oauth.grant_days.into(), 1)?;
    at_least("ledger.batch_size", config.ledger.batch_size as u64, 1)?;
    at_least("ledger.keep_days", config.ledger.keep_days.into(), 1)?;
    at_least("audit.keep_days", config.audit.keep_days.into(), 1)?;
    let rates = &config.rates;
    let rates = [
        ("rates.user_per_s", rates.user_per_s),
        ("rates.user_burst", rates.user_burst),
        ("rates.tool_per_s", rates.tool_per_s),
        ("rates.tool_burst", rates.tool_burst),
        ("rates.all_per_s", rates.all_per_s),
        ("rates.all_burst", rates.all_burst),
        ("rates.manage_per_s", rates.manage_per_s),
        ("rates.manage_burst", rates.manage_burst),
        ("rates.costly_per_s", rates.costly_per_s),
        ("rates.costly_burst", rates.costly_burst),
        ("speech.user_per_s", speech.user_per_s),
        ("speech.user_burst", speech.user_burst),
        ("speech.all_per_s", speech.all_per_s),
        ("speech.all_burst", speech.all_burst),
    ];
    rates.iter().try_for_each(|(path, value)| at_least(path, (*value).into(), 1))?;
    if config.calls.timeout_ms > config.calls.max_timeout_ms {
        return Err(config_error("calls.timeout_ms", "larger than calls.max_timeout_ms"));
    }
    if config.calls.wake_timeout_ms > config.calls.max_wake_timeout_ms {
        return Err(config_error("calls.wake_timeout_ms", "larger than calls.max_wake_timeout_ms"));
    }
    if config.auth.mode == Some(AuthMode::Dev) && !config.server.listen.ip().is_loopback() {
        let message = format!(
            "`dev` trusts every caller, so it requires a loopback address, and server.listen is {}; use `token`",
            config.server.listen
        );
        return Err(config_error("auth.mode", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(
        environment: &[(&str, &str)],
        flags: &[(&'static str, &'static str, &str)],
    ) -> Result<Config, ConfigLoadError> {
        load_config(ConfigSources {
            file: None,
            environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            flags: flags.iter().map(|(s, k, v)| (*s, *k, (*v).to_owned())).collect(),
        })
    }

    #[test]
    fn flags_override_the_environment_and_that_overrides_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.toml");
        std::fs::write(&file, "[calls]\ntimeout_ms = 1\nwake_timeout_ms = 1\nin_flight = 1\n").unwrap();
        let config = load_config(ConfigSources {
            file: Some(file),
            environment: vec![
                ("TOOLYARD_CALLS__WAKE_TIMEOUT_MS".into(), "2".into()),
                ("TOOLYARD_CALLS__IN_FLIGHT".into(), "2".into()),
                ("HOME".into(), "/root".into()),
            ],
            flags: vec![("calls", "in_flight", "3".into())],
        })
        .unwrap();
        assert_eq!(
            (config.calls.timeout_ms, config.calls.wake_timeout_ms, config.calls.in_flight),
            (1, 2, 3)
        );
    }

    #[test]
    fn errors_name_the_place() {
        let error = |environment| with(environment, &[]).unwrap_err().to_string();
        assert!(error(&[("TOOLYARD_CALLS__TIMEOUT_MS", "soon")]).contains("calls.timeout_ms"));
        assert!(error(&[("TOOLYARD_CALLS__TIMEOUTS", "1")]).contains("timeouts"));
        assert!(error(&[("TOOLYARD_RATES__USER_BURST", "0")]).contains("rates.user_burst"));
        assert!(error(&[("TOOLYARD_CALLS__TIMEOUT_MS", "999999")]).contains("max_timeout_ms"));
        assert!(error(&[("TOOLYARD_PLUGINS__RUNS", "0")]).contains("plugins.runs"));
        assert!(error(&[("TOOLYARD_SPEECH__AT_ONCE", "0")]).contains("speech.at_once"));
        assert!(error(&[("TOOLYARD_SPEECH__USER_BURST", "0")]).contains("speech.user_burst"));
        assert!(error(&[("TOOLYARD_SPEECH__SPEAK", "loudly")]).contains("speech.speak"));
    }

    #[test]
    fn strings_need_no_quotes_and_lists_work() {
        let config = with(
            &[("TOOLYARD_STORE__PATH", "/tmp/x.db"), ("TOOLYARD_SERVER__HOSTS", r#"["a.example"]"#)],
            &[],
        );
        let config = config.unwrap();
        assert_eq!(
            (config.store.path.to_str().unwrap(), config.server.hosts[0].as_str()),
            ("/tmp/x.db", "a.example")
        );
    }

    #[test]
    fn settings_below_a_name_can_be_given_one_by_one_or_as_a_table() {
        let config = with(
            &[
                // The member overrides the table, whatever comes first.
                ("TOOLYARD_MODELS__BIG__URL", "http://127.0.0.1:2/v1"),
                ("TOOLYARD_MODELS__BIG", r#"{ url = "http://127.0.0.1:1/v1", key_env = "KEY" }"#),
                ("TOOLYARD_MODELS__SMALL__URL", "http://127.0.0.1:3/v1"),
                ("TOOLYARD_MODELS__SMALL__CALLING", "small"),
            ],
            &[],
        )
        .unwrap();
        let (big, small) = (&config.models["big"], &config.models["small"]);
        assert_eq!(big.url.as_deref(), Some("http://127.0.0.1:2/v1"));
        assert_eq!(big.key_env.as_deref(), Some("KEY"));
        assert_eq!(small.url.as_deref(), Some("http://127.0.0.1:3/v1"));
        let error = |name: &str| with(&[(name, "x")], &[]).unwrap_err().to_string();
        assert!(
            error("TOOLYARD_MODELS__X__URLS").contains("models.x"),
            "{}",
            error("TOOLYARD_MODELS__X__URLS")
        );
        assert!(error("TOOLYARD_CALLS__TIMEOUT_MS__X").contains("calls.timeout_ms"));
    }

    #[test]
    fn unsigned_plugins_are_never_allowed_by_the_environment() {
        let error = with(&[("TOOLYARD_PLUGINS__ALLOW_UNSIGNED", "[]")], &[]).unwrap_err().to_string();
        assert!(error.contains("plugins.allow_unsigned") && error.contains("file only"), "{error}");
    }

    #[test]
    fn dev_mode_requires_a_loopback_address() {
        let flags = [("auth", "mode", "dev"), ("server", "listen", "0.0.0.0:8787")];
        assert!(with(&[], &flags).unwrap_err().to_string().contains("loopback"));
    }

    #[test]
    fn a_named_file_must_exist() {
        let sources = ConfigSources { file: Some("/nowhere/t.toml".into()), ..ConfigSources::default() };
        assert!(matches!(load_config(sources), Err(ConfigLoadError::Unreadable { .. })));
    }
}
