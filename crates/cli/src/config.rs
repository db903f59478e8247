//! The configuration of a server on this machine: file, then environment, then flags. Later sources win.

use std::path::PathBuf;

use clap::Args;
use toolyard_server::config::{Config, ConfigSources, load_config};

use crate::error::CliError;

/// File name of the database in the data folder.
pub(crate) const DATABASE: &str = "toolyard.db";

/// Where the configuration comes from.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration file [default: `toolyard.toml` in the current folder, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder for the database and the root key
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Any other setting, such as `models.local.url=…`; can be repeated. `toolyard schema config` prints all settings
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = parse_override)]
    pub(crate) settings: Vec<ConfigOverride>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigOverride {
    section: String,
    key: String,
    value: String,
}

fn parse_override(text: &str) -> Result<ConfigOverride, String> {
    let expected = || "expected SECTION.KEY=VALUE, such as calls.timeout_ms=5000".to_owned();
    let (path, value) = text.split_once('=').ok_or_else(expected)?;
    let (section, key) = path.trim().split_once('.').ok_or_else(expected)?;
    if section.is_empty() || key.is_empty() {
        return Err(expected());
    }
    Ok(ConfigOverride { section: section.to_owned(), key: key.to_owned(), value: value.trim().to_owned() })
}

/// A text as a TOML string, so that the configuration cannot read it as a number or a list.
pub(crate) fn quote_toml(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl ConfigArgs {
    /// Reads and checks the configuration. `flags` (section, key, value) override everything else.
    pub(crate) fn load_config(
        &self,
        flags: Vec<(&'static str, &'static str, String)>,
    ) -> Result<Config, CliError> {
        load_config(self.sources(flags)).map_err(CliError::Config)
    }

    /// Where the configuration comes from, with these flags.
    pub(crate) fn sources(&self, mut flags: Vec<(&'static str, &'static str, String)>) -> ConfigSources {
        if let Some(folder) = &self.data {
            flags.push(("store", "path", quote_toml(&folder.join(DATABASE).to_string_lossy())));
        }
        // Later entries win, so `--set` beats the real environment.
        let set = self.settings.iter().map(|ConfigOverride { section, key, value }| {
            let key = key.to_uppercase().replace('.', "__");
            (format!("TOOLYARD_{}__{key}", section.to_uppercase()), value.clone())
        });
        let environment = env_variables().chain(set).collect();
        ConfigSources { file: self.config.clone(), environment, flags }
    }
}

/// The one place that reads the whole environment; clap reads the variables of single flags. Variables that are not UTF-8
/// are skipped: none of ours is.
pub(crate) fn env_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(settings: &[&str]) -> ConfigArgs {
        let settings = settings.iter().map(|text| parse_override(text).unwrap()).collect();
        ConfigArgs { config: None, data: Some("a \"b".into()), settings }
    }

    #[test]
    fn settings_and_flags_reach_the_configuration() {
        let flags = vec![("calls", "in_flight", "7".to_owned())];
        let config = args(&["calls.timeout_ms=5", "calls.in_flight=9", "server.hosts=[\"a\"]"])
            .load_config(flags)
            .unwrap();
        assert_eq!((config.calls.timeout_ms, config.calls.in_flight), (5, 7));
        assert_eq!(config.server.hosts, ["a"]);
        let config = args(&["models.x.url=http://127.0.0.1:1/v1"]).load_config(Vec::new()).unwrap();
        assert_eq!(config.models["x"].url.as_deref(), Some("http://127.0.0.1:1/v1"));
        assert_eq!(config.store.path.to_str().unwrap(), "a \"b/toolyard.db");
    }

    #[test]
    fn an_invalid_setting_is_refused() {
        for text in ["", "a", "a.b", "a=b", ".b=c", "a.=c"] {
            assert!(parse_override(text).is_err(), "{text}");
        }
        assert!(matches!(args(&["no.such=1"]).load_config(Vec::new()), Err(CliError::Config(_))));
    }
}
