//! All models by name.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use reqwest::Client;
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::secret::SecretText;
use url::Url;

use super::{
    CallingMode, FileModel, KeyEnvironment, Model, ModelError, ModelErrorKind, ModelInfo, ModelName,
    ModelSettings,
    compat::CompatModel,
    discovery::{self, DiscoveredModels, ModelListing, ModelOrigin},
    errors::ModelTarget,
    files::FileModels,
    limits::{FitCache, VendorFamily},
    name::is_provider_name,
    settings::{KnownVendor, VENDORS, base_url},
    vendor::{VendorKind, VendorModel},
    web,
};
use crate::small::Scorer;

/// All models. Discovered models are cached until the next discovery.
pub struct ModelCatalog {
    settings: ModelSettings,
    environment: KeyEnvironment,
    ids: Arc<dyn IdGenerator>,
    client: Client,
    genai: genai::Client,
    files: FileModels,
    found: Mutex<Arc<DiscoveredModels>>,
    fits: Arc<FitCache>,
}

impl fmt::Debug for ModelCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCatalog").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Where a model is, and which protocol it has.
struct ResolvedProvider {
    url: Url,
    key: Option<SecretText>,
    key_from: String,
    family: VendorFamily,
    calling: Option<CallingMode>,
}

impl ModelCatalog {
    /// The models of a configuration. Sends no requests.
    pub fn new(
        settings: ModelSettings,
        environment: KeyEnvironment,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, ModelError> {
        let names = settings.endpoints.iter().map(|endpoint| &endpoint.name);
        let names: Vec<_> = names.chain(settings.files.iter().map(|file| &file.name)).collect();
        for (at, name) in names.iter().enumerate() {
            if !is_provider_name(name) {
                return Err(unknown_model_error(format!(
                    "An endpoint cannot be named {name:?}: 1 to 32 of a-z, 0-9, _ and -."
                )));
            }
            if names[..at].contains(name) {
                return Err(unknown_model_error(format!(
                    "There are two endpoints named {name}; rename one."
                )));
            }
        }
        let client = web::http_client(&settings.bounds)?;
        let genai = genai::Client::builder().with_reqwest(client.clone()).build();
        let genai = genai.map_err(|error| {
            unknown_model_error(format!("The client for models cannot be created: {error}"))
        })?;
        let files = FileModels::new(&settings.files, &ids)?;
        let (found, fits) = (Mutex::default(), Arc::default());
        Ok(Self { settings, environment, ids, client, genai, files, found, fits })
    }

    /// The model of that name. Whether it exists shows when it is asked.
    pub fn get(&self, name: &ModelName) -> Result<Arc<dyn Model>, ModelError> {
        if let Some(file) = self.files.get(name) {
            return Ok(file.model);
        }
        let provider = self.resolve_provider(name)?;
        let calling = self.resolve_calling(name, provider.calling);
        let info = ModelInfo { id: name.to_string(), calling };
        let target = ModelTarget {
            id: name.as_str().into(),
            url: provider.url,
            key: provider.key,
            key_from: provider.key_from,
        };
        let (model, bounds, ids) = (name.model().to_owned(), self.settings.bounds.clone(), self.ids.clone());
        let fits = self.fits.clone();
        Ok(match provider.family {
            family @ (VendorFamily::OpenAi | VendorFamily::Compatible) => Arc::new(CompatModel {
                info,
                model,
                family,
                fits,
                target,
                client: self.client.clone(),
                bounds,
                ids,
            }),
            family @ (VendorFamily::Anthropic | VendorFamily::Gemini) => {
                let kind = if family == VendorFamily::Anthropic {
                    VendorKind::Anthropic
                } else {
                    VendorKind::Gemini
                };
                Arc::new(VendorModel {
                    info,
                    model,
                    kind,
                    fits,
                    target,
                    client: self.genai.clone(),
                    bounds,
                    ids,
                })
            }
        })
    }

    /// The scorer of a configured file, if the file is configured as a small model.
    pub fn file_scorer(&self, provider: &str) -> Option<Arc<dyn Scorer>> {
        let file = self.settings.files.iter().find(|file| file.name == provider)?;
        let name = file.model_name().filter(|_| file.calling == CallingMode::Small)?;
        self.files.get(&name).map(|file| file.scorer)
    }

    fn find_file(&self, name: &ModelName) -> Option<&FileModel> {
        self.settings.files.iter().find(|file| file.name == name.provider())
    }

    /// The vendor family whose limits apply to the model's tools. None if the provider is unknown.
    pub fn vendor_family(&self, name: &ModelName) -> Option<VendorFamily> {
        self.resolve_provider(name).ok().map(|provider| provider.family)
    }

    /// Whether the model is used with a key, which means that it costs money.
    pub fn needs_key(&self, name: &ModelName) -> bool {
        match self.resolve_provider(name) {
            Ok(provider) => provider.key.is_some(),
            Err(error) => error.kind == ModelErrorKind::Unauthorized,
        }
    }

    /// The default model: the configured one, else the first that was discovered.
    pub fn default(&self) -> Result<Arc<dyn Model>, ModelError> {
        match self.list().default {
            Some(name) => self.get(&name),
            None => Err(unknown_model_error(
                "There is no model. Set a key such as OPENAI_API_KEY, start Ollama or llama-server, or add an endpoint."
                    .to_owned(),
            )),
        }
    }

    /// Looks for models on this machine and at the configured endpoints, in parallel, each within that time.
    pub async fn discover(&self, wait: Duration) -> ModelListing {
        let found = discovery::discover_models(&self.client, &self.settings, wait).await;
        *self.found.lock() = Arc::new(found);
        self.list()
    }

    /// The configured models, the discovered ones, and what is missing.
    pub fn list(&self) -> ModelListing {
        let found = self.last_discovery();
        let mut listing = ModelListing { files: found.files.clone(), ..ModelListing::default() };
        if let Some(name) = &self.settings.default {
            let configured = self.find_file(name).map(|file| file.calling);
            let configured =
                configured.or_else(|| self.resolve_provider(name).ok().and_then(|provider| provider.calling));
            let calling = self.resolve_calling(name, configured);
            listing.add(name.clone(), calling, ModelOrigin::Configured);
        }
        for file in &self.settings.files {
            if let Some(name) = file.model_name() {
                listing.add(name, file.calling, ModelOrigin::File(file.name.clone()));
            }
        }
        self.list_endpoints(&found, &mut listing);
        self.list_vendors(&mut listing);
        self.list_servers(&found, &mut listing);
        if self.settings.folder.is_some() && found.files.is_empty() {
            listing.add_missing("files in the models folder", "Put .gguf files into it.");
        }
        listing.default = listing.models.first().map(|model| model.name.clone());
        listing
    }

    fn list_endpoints(&self, found: &DiscoveredModels, listing: &mut ModelListing) {
        for endpoint in &self.settings.endpoints {
            if let Some(there) = found.providers.get(&endpoint.name) {
                for model in there {
                    listing.add(
                        model.name.clone(),
                        model.calling,
                        ModelOrigin::Endpoint(endpoint.name.clone()),
                    );
                }
            } else if matches!(
                provider_family(&endpoint.name),
                VendorFamily::OpenAi | VendorFamily::Compatible
            ) {
                let origin = endpoint.url.origin().ascii_serialization();
                let what = format!("models at the endpoint {}", endpoint.name);
                listing.add_missing(what, format!("Check that {origin} answers GET models."));
            }
        }
    }

    fn list_vendors(&self, listing: &mut ModelListing) {
        for vendor in VENDORS.iter().filter(|vendor| !self.is_endpoint(vendor.name)) {
            match (self.find_key(vendor), ModelName::new(vendor.name, vendor.suggests)) {
                (Some((variable, _)), Ok(name)) => {
                    listing.add(name, CallingMode::Native, ModelOrigin::Key(variable.to_owned()));
                }
                _ => listing.add_missing(
                    format!("{} ({}/…)", vendor.title, vendor.name),
                    format!("Set {}.", vendor.keys.join(" or ")),
                ),
            }
        }
    }

    fn list_servers(&self, found: &DiscoveredModels, listing: &mut ModelListing) {
        for server in self.settings.servers.iter().filter(|server| !self.is_endpoint(&server.name)) {
            let at = format!("{} at {}", server.title, server.url.origin().ascii_serialization());
            match found.providers.get(&server.name) {
                Some(there) if !there.is_empty() => {
                    for model in there {
                        listing.add(model.name.clone(), model.calling, ModelOrigin::Server(at.clone()));
                    }
                }
                _ => {
                    let how =
                        format!("Start {} with a model, or add an endpoint with its URL.", server.title);
                    listing.add_missing(at, how);
                }
            }
        }
    }

    fn last_discovery(&self) -> Arc<DiscoveredModels> {
        self.found.lock().clone()
    }

    fn resolve_calling(&self, name: &ModelName, configured: Option<CallingMode>) -> CallingMode {
        configured.or_else(|| self.last_discovery().find_calling(name)).unwrap_or(CallingMode::Native)
    }

    fn is_endpoint(&self, name: &str) -> bool {
        self.settings.endpoints.iter().any(|endpoint| endpoint.name == name)
    }

    fn find_key(&self, vendor: &KnownVendor) -> Option<(&'static str, SecretText)> {
        vendor.keys.iter().find_map(|name| Some((*name, self.environment.api_key(name)?)))
    }

    fn resolve_provider(&self, name: &ModelName) -> Result<ResolvedProvider, ModelError> {
        let vendor = VENDORS.iter().find(|vendor| vendor.name == name.provider());
        if let Some(endpoint) =
            self.settings.endpoints.iter().find(|endpoint| endpoint.name == name.provider())
        {
            let family = provider_family(&endpoint.name);
            let url = base_url(&endpoint.url, family);
            let key_from = format!("the configuration of the endpoint {}", endpoint.name);
            return Ok(ResolvedProvider {
                url,
                key: endpoint.key.clone(),
                key_from,
                family,
                calling: endpoint.calling,
            });
        }
        if let Some(vendor) = vendor {
            let Some((variable, key)) = self.find_key(vendor) else {
                let text = format!("{name} needs a key; set {}.", vendor.keys.join(" or "));
                return Err(ModelError {
                    kind: ModelErrorKind::Unauthorized,
                    text,
                    cause: None,
                    retry_after: None,
                });
            };
            let url = vendor.url.parse().map_err(|_| unknown_model_error(format!("{name} has no URL.")))?;
            let key_from = variable.to_owned();
            return Ok(ResolvedProvider {
                url,
                key: Some(key),
                key_from,
                family: vendor.family,
                calling: None,
            });
        }
        if let Some(server) = self.settings.servers.iter().find(|server| server.name == name.provider()) {
            let family = VendorFamily::Compatible;
            let url = base_url(&server.url, family);
            let key_from = format!("an endpoint named {}", server.name);
            return Ok(ResolvedProvider { url, key: None, key_from, family, calling: None });
        }
        Err(unknown_model_error(format!(
            "There is no model {name}: add an endpoint named {} with its URL.",
            name.provider()
        )))
    }
}

/// The protocol of a provider: that of the vendor of this name, else OpenAI's.
pub(super) fn provider_family(provider: &str) -> VendorFamily {
    VENDORS
        .iter()
        .find(|vendor| vendor.name == provider)
        .map_or(VendorFamily::Compatible, |vendor| vendor.family)
}

fn unknown_model_error(text: String) -> ModelError {
    ModelError { kind: ModelErrorKind::Unknown, text, cause: None, retry_after: None }
}
