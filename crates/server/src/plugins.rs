//! Sets up plugins from the configuration: their trust and the source that runs them.

use std::{path::Path, sync::Arc, time::Duration};

use toolyard_core::ports::{PluginDataQuota, PluginRuns, Stores};
use toolyard_platform::plugins::{PluginBounds, PluginContext, PluginTrust, TrustSetup};
use toolyard_sources::{
    PluginSource,
    plugin::{PluginParts, PluginSettings, WorkerCommand},
    upstream::UpstreamEnvironment,
};
use toolyard_trust::{PublicKey, SecretKey};

use crate::{
    config::{Config, PluginsConfig},
    lifecycle::Lifecycle,
    parts::WebAccess,
    serve::{ServerDependencies, ServerStartError},
};

/// What handlers need for plugins.
pub struct PluginRuntime {
    /// Keys, revocations and verdicts.
    pub trust: Arc<PluginTrust>,
    /// Runs plugins. None if the operator has not enabled them.
    pub source: Option<Arc<PluginSource>>,
}

impl PluginRuntime {
    /// What the plugin verbs work with.
    pub(crate) fn plugin_service(&self, config: &PluginsConfig) -> PluginContext {
        let runs = self.source.clone().map(|source| source as Arc<dyn PluginRuns>);
        let bounds = PluginBounds {
            per_user: config.per_user,
            manifest_bytes: config.manifest_bytes,
            catalogue: config.catalogue,
        };
        PluginContext::new(self.trust.clone(), runs, bounds)
    }
}

/// What plugins share with the rest of the server.
pub(crate) struct PluginDependencies<'a> {
    pub(crate) stores: &'a Stores,
    pub(crate) web: &'a WebAccess,
    pub(crate) lifecycle: &'a Lifecycle,
}

pub(crate) async fn build_plugin_runtime(
    config: &Config,
    deps: &ServerDependencies,
    plugin_deps: PluginDependencies<'_>,
) -> Result<PluginRuntime, ServerStartError> {
    let plugins = &config.plugins;
    let setup = trust_setup(plugins, &deps.environment)?;
    let trust = PluginTrust::open(setup, plugin_deps.stores.plugin_lists.clone(), deps.clock.now()).await;
    let trust = Arc::new(trust.map_err(|error| ServerStartError::Config(error.to_string()))?);
    let ids = deps.ids.clone();
    let source = if plugins.enabled {
        let parts = PluginParts {
            stores: plugin_deps.stores.clone(),
            judge: trust.clone(),
            clock: deps.clock.clone(),
            http: plugin_deps.web.http.clone(),
            guard: plugin_deps.web.guard.clone(),
            random: Arc::new(move |bytes| ids.fill_random(bytes)),
            tasks: plugin_deps.lifecycle.tasks.clone(),
            stopping: plugin_deps.lifecycle.stopping.clone(),
            worker: plugin_worker_command(plugins, deps)?,
            settings: plugin_settings(plugins),
        };
        Some(PluginSource::new(parts).await.map_err(|error| plugins_config_error("worker", error))?)
    } else {
        None
    };
    Ok(PluginRuntime { trust, source })
}

/// The command that runs plugins: the configured one, or this program.
fn plugin_worker_command(
    config: &PluginsConfig,
    deps: &ServerDependencies,
) -> Result<WorkerCommand, ServerStartError> {
    if let Some(program) = &config.worker {
        return Ok(WorkerCommand { program: program.clone(), arguments: Vec::new() });
    }
    deps.worker_command().or_else(WorkerCommand::beside_this_program).ok_or_else(|| {
        plugins_config_error(
            "worker",
            "this program is not `toolyard`; set this to the path of `toolyard-sandbox-worker`, or install it next to this program",
        )
    })
}

fn plugin_settings(config: &PluginsConfig) -> PluginSettings {
    PluginSettings {
        runs: config.runs,
        runs_per_user: config.runs_per_user,
        runs_per_plugin: config.runs_per_plugin,
        memory: config.memory_bytes,
        time: Duration::from_millis(config.time_ms),
        compute: Duration::from_millis(config.compute_ms),
        room: PluginDataQuota { keys: config.storage_keys, bytes: config.storage_bytes },
    }
}

fn trust_setup(
    config: &PluginsConfig,
    environment: &UpstreamEnvironment,
) -> Result<TrustSetup, ServerStartError> {
    let root = config.root_key.as_deref().map(|text| parse_public_key(text.trim())).transpose()?;
    Ok(TrustSetup {
        root,
        keys_file: config.keys_file.clone(),
        revocations_file: config.revocations_file.clone(),
        curator: load_secret_key(
            "curator_key",
            config.curator_key_file.as_deref(),
            config.curator_key_env.as_deref(),
            environment,
        )?,
        owner: config.curator_name.clone(),
        root_secret: load_secret_key(
            "root_secret",
            config.root_secret_file.as_deref(),
            config.root_secret_env.as_deref(),
            environment,
        )?,
        allowed: config.allow_unsigned.iter().map(|one| (one.id.clone(), one.hash.clone())).collect(),
    })
}

fn plugins_config_error(key: &str, why: impl std::fmt::Display) -> ServerStartError {
    ServerStartError::Config(format!("plugins.{key}: {why}"))
}

fn parse_public_key(text: &str) -> Result<PublicKey, ServerStartError> {
    let read = if text.starts_with("-----") {
        PublicKey::from_pem(text)
    } else {
        PublicKey::try_from(text.to_owned())
    };
    read.map_err(|error| plugins_config_error("root_key", error))
}

fn load_secret_key(
    name: &str,
    file: Option<&Path>,
    variable: Option<&str>,
    environment: &UpstreamEnvironment,
) -> Result<Option<SecretKey>, ServerStartError> {
    let (key, text) = match (file, variable) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(plugins_config_error(
                &format!("{name}_file"),
                format!("set either this or {name}_env"),
            ));
        }
        (Some(path), None) => {
            let key = format!("{name}_file");
            let text = std::fs::read_to_string(path);
            (
                key.clone(),
                text.map_err(|error| plugins_config_error(&key, format!("{}: {error}", path.display())))?,
            )
        }
        (None, Some(variable)) => {
            let key = format!("{name}_env");
            let text = environment(variable);
            (key.clone(), text.ok_or_else(|| plugins_config_error(&key, format!("{variable} is not set")))?)
        }
    };
    SecretKey::from_pem(&text).map(Some).map_err(|error| plugins_config_error(&key, error))
}
