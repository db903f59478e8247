//! The models of this server: found by name, or the default.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use toolyard_agent::{
    model::{
        FileModel, KeyEnvironment, Model, ModelCatalog, ModelEndpoint, ModelError, ModelErrorKind, ModelName,
        ModelSettings, ServerKind, discovery::ModelListing, limits::VendorFamily,
    },
    prompted::PromptedModel,
    small::{SmallModel, llama_server::LlamaServer},
};
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::secret::SecretText;

pub use crate::config::CallingMode;

pub use crate::doors::rest::models::{
    ModelOverview, OverviewFile, OverviewMissing, OverviewModel, OverviewOrigin,
};
use crate::{
    config::{Config, ModelConfig},
    serve::{ServerDependencies, ServerStartError},
};

/// How long a model server on this machine may take to list its models.
const DISCOVERY_TIMEOUT: Duration = Duration::from_millis(500);

/// Files smaller than this are treated as small models, in bytes.
const SMALL_FILE: u64 = 400 * 1024 * 1024;
/// Default context size of model files, in tokens.
const CONTEXT: u32 = 8_192;
/// Largest context size, in tokens.
const MAX_CONTEXT: u32 = 1 << 20;
/// Most threads for a model file.
const MAX_THREADS: u32 = 256;

/// The models of this server. Local servers and files are discovered again from time to time.
pub struct ModelRegistry {
    models: ModelCatalog,
    refresh_after: Duration,
    /// When models were last discovered. None if they never were.
    last_lookup: Mutex<Option<Instant>>,
    /// Held during discovery, so that concurrent requests share one.
    lookup_lock: tokio::sync::Mutex<()>,
    ids: Arc<dyn IdGenerator>,
    /// Small models by endpoint. Each keeps what it has learned about its model.
    small: HashMap<String, SmallModel>,
}

impl ModelRegistry {
    /// The models of a configuration. Sends no request yet.
    pub fn new(config: &Config, deps: &ServerDependencies) -> Result<Self, ServerStartError> {
        let settings = model_settings(config, &deps.environment)?;
        let mut small = build_small_models(&settings, &deps.ids)?;
        let variables = deps.environment.clone();
        let environment = KeyEnvironment::new(move |name| variables(name));
        let files: Vec<_> = settings.files.iter().map(|file| file.name.clone()).collect();
        let models = ModelCatalog::new(settings, environment, deps.ids.clone());
        let models = models.map_err(|error| ServerStartError::Config(error.text))?;
        small.extend(files.into_iter().filter_map(|place| {
            let scorer = models.file_scorer(&place)?;
            Some((place.clone(), SmallModel::new(scorer, place, deps.ids.clone())))
        }));
        Ok(Self {
            models,
            refresh_after: Duration::from_secs(config.model_search.again_s),
            last_lookup: Mutex::new(None),
            lookup_lock: tokio::sync::Mutex::new(()),
            ids: deps.ids.clone(),
            small,
        })
    }

    /// Lists all models, after a new discovery if the last one is too old. Concurrent requests share one discovery.
    pub async fn list_models(&self) -> ModelListing {
        let _guard = self.lookup_lock.lock().await;
        if self.last_lookup().is_some_and(|at| at.elapsed() < self.refresh_after) {
            return self.models.list();
        }
        let listing = self.models.discover(DISCOVERY_TIMEOUT).await;
        *self.last_lookup.lock() = Some(Instant::now());
        listing
    }

    fn last_lookup(&self) -> Option<Instant> {
        *self.last_lookup.lock()
    }

    /// Starts a new discovery in the background if the last one is too old, so that chats do not wait for it. Only the first
    /// discovery is awaited, because without it the server does not know how a model calls tools.
    async fn refresh_if_stale(self: &Arc<Self>, tasks: &TaskTracker) {
        match self.last_lookup() {
            None => drop(self.list_models().await),
            // If the lock is taken, a discovery is already running.
            Some(at) if at.elapsed() >= self.refresh_after && self.lookup_lock.try_lock().is_ok() => {
                let registry = self.clone();
                tasks.spawn(async move { drop(registry.list_models().await) });
            }
            Some(_) => {}
        }
    }

    /// Whether requests to the model need a key, so that they cost money.
    pub(crate) fn needs_key(&self, name: &ModelName) -> bool {
        self.models.needs_key(name)
    }

    /// The vendor family whose limits apply to tools if the caller names no model, as far as models are discovered.
    pub(crate) fn default_family(&self) -> VendorFamily {
        let default = self.models.list().default;
        default.and_then(|name| self.models.vendor_family(&name)).unwrap_or(VendorFamily::Compatible)
    }

    /// The model with this name, or the default.
    pub async fn get(
        self: &Arc<Self>,
        name: Option<&str>,
        tasks: &TaskTracker,
    ) -> Result<Arc<dyn Model>, ModelError> {
        self.refresh_if_stale(tasks).await;
        let model = match name {
            // The caller named no model, so a missing one is not the caller's error.
            None => self.models.default().map_err(|error| match error.kind {
                ModelErrorKind::Unknown => ModelError { kind: ModelErrorKind::Unavailable, ..error },
                _ => error,
            })?,
            Some(name) => {
                let name: ModelName = name.parse().map_err(|error| ModelError {
                    kind: ModelErrorKind::Unknown,
                    text: format!("model: {error}"),
                    cause: None,
                    retry_after: None,
                })?;
                self.models.get(&name)?
            }
        };
        let id = &model.info().id;
        let place = id.split_once('/').map_or(id.as_str(), |(place, _)| place);
        Ok(match (model.info().calling, self.small.get(place)) {
            (CallingMode::Native, _) => model,
            (CallingMode::Small, Some(small)) => Arc::new(small.with_id(id)),
            (CallingMode::Prompted | CallingMode::Small, _) => {
                Arc::new(PromptedModel::new(model, self.ids.clone()))
            }
        })
    }
}

/// The small models: those of endpoints configured as `small`, and those of llama-servers on this machine, which report the
/// size of their model.
fn build_small_models(
    settings: &ModelSettings,
    ids: &Arc<dyn IdGenerator>,
) -> Result<HashMap<String, SmallModel>, ServerStartError> {
    let endpoints = settings.endpoints.iter().filter(|endpoint| endpoint.calling == Some(CallingMode::Small));
    let endpoints = endpoints.map(|ModelEndpoint { name, url, key, .. }| (name, url, key.clone()));
    let servers = settings.servers.iter().filter(|server| server.kind == ServerKind::LlamaServer);
    let places = servers.map(|server| (&server.name, &server.url, None)).chain(endpoints);
    let made = places.map(|(name, url, key)| {
        let server = LlamaServer::new(name, url, key, settings.bounds.clone());
        let server = server.map_err(|error| ServerStartError::Config(error.text))?;
        Ok((name.clone(), SmallModel::new(Arc::new(server), name.clone(), ids.clone())))
    });
    made.collect()
}

fn model_settings(
    config: &Config,
    environment: &toolyard_sources::upstream::UpstreamEnvironment,
) -> Result<ModelSettings, ServerStartError> {
    let wrong =
        |place: &str, why: &dyn std::fmt::Display| ServerStartError::Config(format!("{place}: {why}"));
    let (mut endpoints, mut files) = (Vec::new(), Vec::new());
    for (name, model) in &config.models {
        let place = format!("models.{name}");
        let url = match (&model.url, &model.file) {
            (Some(url), None) => url,
            (None, Some(path)) => {
                files.push(file_model(name, path, model).map_err(|why| wrong(&place, &why))?);
                continue;
            }
            _ => return Err(wrong(&place, &"set either url or file")),
        };
        let key = match &model.key_env {
            None => None,
            Some(variable) => {
                let key = environment(variable);
                Some(SecretText::new(
                    key.ok_or_else(|| wrong(&place, &format!("the variable {variable} is not set")))?,
                ))
            }
        };
        endpoints.push(ModelEndpoint {
            name: name.clone(),
            url: url.parse().map_err(|error| wrong(&format!("{place}.url"), &error))?,
            key,
            calling: model.calling,
        });
    }
    let default = config.chat.model.as_deref().map(str::parse).transpose();
    let mut settings = ModelSettings {
        default: default.map_err(|error| wrong("chat.model", &error))?,
        endpoints,
        files,
        folder: config.model_search.folder.clone(),
        ..ModelSettings::default()
    };
    if !config.model_search.local_servers {
        settings.servers.clear();
    }
    Ok(settings)
}

/// A model that runs in this process.
fn file_model(name: &str, path: &Path, model: &ModelConfig) -> Result<FileModel, String> {
    if model.key_env.is_some() {
        return Err("key_env is not supported with file".to_owned());
    }
    let calling = match model.calling {
        Some(CallingMode::Native) => {
            return Err("calling: a model file supports `prompted` or `small` only".to_owned());
        }
        Some(calling) => calling,
        None => {
            let size = path
                .metadata()
                .map_err(|error| format!("file: {} cannot be read: {error}", path.display()))?;
            if size.len() < SMALL_FILE { CallingMode::Small } else { CallingMode::Prompted }
        }
    };
    let (threads, context) = (model.threads.unwrap_or(1), model.context.unwrap_or(CONTEXT));
    for (what, value, most) in [("threads", threads, MAX_THREADS), ("context", context, MAX_CONTEXT)] {
        if !(1..=most).contains(&value) {
            return Err(format!("{what}: expected 1 to {most}"));
        }
    }
    Ok(FileModel { name: name.to_owned(), path: path.to_owned(), calling, threads, context })
}
