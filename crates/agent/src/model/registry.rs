//! The models that there are, by name.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::Client;
use toolyard_core::ports::Ids;
use toolyard_protocol::secret::Secret;
use url::Url;

use super::{
    Calling, Environment, FileModel, Model, ModelError, ModelInfo, ModelName, ModelSettings, ModelTrouble,
    compat::CompatModel,
    files::FileModels,
    limits::{Family, Fits},
    look::{self, Found, Listing, Origin},
    name::is_place,
    settings::{VENDORS, Vendor, base},
    trouble::Whom,
    vendor::{Kind, VendorModel},
    web,
};
use crate::small::Scorer;

/// All models. Cheap to ask; what was found is kept until somebody looks again.
pub struct Models {
    settings: ModelSettings,
    environment: Environment,
    ids: Arc<dyn Ids>,
    client: Client,
    genai: genai::Client,
    files: FileModels,
    found: Mutex<Arc<Found>>,
    fits: Arc<Fits>,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Where a model is and how to speak there.
struct Place {
    url: Url,
    key: Option<Secret>,
    key_from: String,
    family: Family,
    calling: Option<Calling>,
}

impl Models {
    /// The models of a configuration. Nothing is asked yet.
    pub fn new(
        settings: ModelSettings,
        environment: Environment,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, ModelError> {
        let names = settings.endpoints.iter().map(|endpoint| &endpoint.name);
        let names: Vec<_> = names.chain(settings.files.iter().map(|file| &file.name)).collect();
        for (at, name) in names.iter().enumerate() {
            if !is_place(name) {
                return Err(unknown(format!(
                    "An endpoint cannot be named {name:?}: 1 to 32 of a-z, 0-9, _ and -."
                )));
            }
            if names[..at].contains(name) {
                return Err(unknown(format!("There are two endpoints named {name}; rename one.")));
            }
        }
        let client = web::client(&settings.bounds)?;
        let genai = genai::Client::builder().with_reqwest(client.clone()).build();
        let genai = genai.map_err(|error| unknown(format!("No models can be asked: {error}")))?;
        let files = FileModels::new(&settings.files, &ids)?;
        let (found, fits) = (Mutex::default(), Arc::default());
        Ok(Self { settings, environment, ids, client, genai, files, found, fits })
    }

    /// The model of that name. Whether it really is there shows when it is asked.
    pub fn get(&self, name: &ModelName) -> Result<Arc<dyn Model>, ModelError> {
        if let Some(file) = self.files.get(name) {
            return Ok(file.model);
        }
        let place = self.place(name)?;
        let calling = self.calling(name, place.calling);
        let info = ModelInfo { id: name.to_string(), calling };
        let whom =
            Whom { id: name.as_str().into(), url: place.url, key: place.key, key_from: place.key_from };
        let (model, bounds, ids) = (name.model().to_owned(), self.settings.bounds.clone(), self.ids.clone());
        let fits = self.fits.clone();
        Ok(match place.family {
            family @ (Family::OpenAi | Family::Compatible) => Arc::new(CompatModel {
                info,
                model,
                family,
                fits,
                whom,
                client: self.client.clone(),
                bounds,
                ids,
            }),
            family @ (Family::Anthropic | Family::Gemini) => {
                let kind = if family == Family::Anthropic { Kind::Anthropic } else { Kind::Gemini };
                Arc::new(VendorModel {
                    info,
                    model,
                    kind,
                    fits,
                    whom,
                    client: self.genai.clone(),
                    bounds,
                    ids,
                })
            }
        })
    }

    /// What a small model needs, for the file at that place, where it is said to be small.
    pub fn small(&self, place: &str) -> Option<Arc<dyn Scorer>> {
        let file = self.settings.files.iter().find(|file| file.name == place)?;
        let name = file.whole_name().filter(|_| file.calling == Calling::Small)?;
        self.files.get(&name).map(|file| file.scorer)
    }

    fn file(&self, name: &ModelName) -> Option<&FileModel> {
        self.settings.files.iter().find(|file| file.name == name.place())
    }

    /// Whose limits hold for a model's tools; None for a place that is not known.
    pub fn family(&self, name: &ModelName) -> Option<Family> {
        self.place(name).ok().map(|place| place.family)
    }

    /// Whether somebody has to pay for what this model says: it is asked with a key.
    pub fn needs_key(&self, name: &ModelName) -> bool {
        match self.place(name) {
            Ok(place) => place.key.is_some(),
            Err(error) => error.kind == ModelTrouble::Unauthorized,
        }
    }

    /// The model to use where nobody names one: the configured one, else the first that was found.
    pub fn default(&self) -> Result<Arc<dyn Model>, ModelError> {
        match self.list().default {
            Some(name) => self.get(&name),
            None => Err(unknown(
                "There is no model. Set a key such as OPENAI_API_KEY, start Ollama or llama-server, or add an endpoint."
                    .to_owned(),
            )),
        }
    }

    /// Looks for models on this machine and at the configured endpoints, all at once, each within that time.
    pub async fn look(&self, wait: Duration) -> Listing {
        let found = look::look(&self.client, &self.settings, wait).await;
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
        self.list()
    }

    /// What is configured, what was found when somebody last looked, and what was not.
    pub fn list(&self) -> Listing {
        let found = self.found();
        let mut listing = Listing { files: found.files.clone(), ..Listing::default() };
        if let Some(name) = &self.settings.default {
            let said = self.file(name).map(|file| file.calling);
            let said = said.or_else(|| self.place(name).ok().and_then(|place| place.calling));
            let calling = self.calling(name, said);
            listing.add(name.clone(), calling, Origin::Configured);
        }
        for file in &self.settings.files {
            if let Some(name) = file.whole_name() {
                listing.add(name, file.calling, Origin::File(file.name.clone()));
            }
        }
        self.list_endpoints(&found, &mut listing);
        self.list_vendors(&mut listing);
        self.list_servers(&found, &mut listing);
        if self.settings.folder.is_some() && found.files.is_empty() {
            listing.misses("files in the models folder", "Put .gguf files into it.");
        }
        listing.default = listing.models.first().map(|model| model.name.clone());
        listing
    }

    fn list_endpoints(&self, found: &Found, listing: &mut Listing) {
        for endpoint in &self.settings.endpoints {
            if let Some(there) = found.places.get(&endpoint.name) {
                for model in there {
                    listing.add(model.name.clone(), model.calling, Origin::Endpoint(endpoint.name.clone()));
                }
            } else if matches!(family_of(&endpoint.name), Family::OpenAi | Family::Compatible) {
                let origin = endpoint.url.origin().ascii_serialization();
                let what = format!("models at the endpoint {}", endpoint.name);
                listing.misses(what, format!("Check that {origin} answers GET models."));
            }
        }
    }

    fn list_vendors(&self, listing: &mut Listing) {
        for vendor in VENDORS.iter().filter(|vendor| !self.is_endpoint(vendor.name)) {
            match (self.key_of(vendor), ModelName::new(vendor.name, vendor.suggests)) {
                (Some((variable, _)), Ok(name)) => {
                    listing.add(name, Calling::Native, Origin::Key(variable.to_owned()));
                }
                _ => listing.misses(
                    format!("{} ({}/…)", vendor.title, vendor.name),
                    format!("Set {}.", vendor.keys.join(" or ")),
                ),
            }
        }
    }

    fn list_servers(&self, found: &Found, listing: &mut Listing) {
        for server in self.settings.servers.iter().filter(|server| !self.is_endpoint(&server.name)) {
            let at = format!("{} at {}", server.title, server.url.origin().ascii_serialization());
            match found.places.get(&server.name) {
                Some(there) if !there.is_empty() => {
                    for model in there {
                        listing.add(model.name.clone(), model.calling, Origin::Server(at.clone()));
                    }
                }
                _ => {
                    let how =
                        format!("Start {} with a model, or add an endpoint with its URL.", server.title);
                    listing.misses(at, how);
                }
            }
        }
    }

    fn found(&self) -> Arc<Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn calling(&self, name: &ModelName, configured: Option<Calling>) -> Calling {
        configured.or_else(|| self.found().calling(name)).unwrap_or(Calling::Native)
    }

    fn is_endpoint(&self, name: &str) -> bool {
        self.settings.endpoints.iter().any(|endpoint| endpoint.name == name)
    }

    fn key_of(&self, vendor: &Vendor) -> Option<(&'static str, Secret)> {
        vendor.keys.iter().find_map(|name| Some((*name, self.environment.key(name)?)))
    }

    fn place(&self, name: &ModelName) -> Result<Place, ModelError> {
        let vendor = VENDORS.iter().find(|vendor| vendor.name == name.place());
        if let Some(endpoint) = self.settings.endpoints.iter().find(|endpoint| endpoint.name == name.place())
        {
            let family = family_of(&endpoint.name);
            let url = base(&endpoint.url, family);
            let key_from = format!("the configuration of the endpoint {}", endpoint.name);
            return Ok(Place { url, key: endpoint.key.clone(), key_from, family, calling: endpoint.calling });
        }
        if let Some(vendor) = vendor {
            let Some((variable, key)) = self.key_of(vendor) else {
                let text = format!("{name} needs a key; set {}.", vendor.keys.join(" or "));
                return Err(ModelError {
                    kind: ModelTrouble::Unauthorized,
                    text,
                    cause: None,
                    retry_after: None,
                });
            };
            let url = vendor.url.parse().map_err(|_| unknown(format!("{name} has no URL.")))?;
            let key_from = variable.to_owned();
            return Ok(Place { url, key: Some(key), key_from, family: vendor.family, calling: None });
        }
        if let Some(server) = self.settings.servers.iter().find(|server| server.name == name.place()) {
            let family = Family::Compatible;
            let url = base(&server.url, family);
            let key_from = format!("an endpoint named {}", server.name);
            return Ok(Place { url, key: None, key_from, family, calling: None });
        }
        Err(unknown(format!("There is no {name} here: add an endpoint named {} with its URL.", name.place())))
    }
}

/// Who is spoken to at a place: the vendor of that name, else somebody who speaks as OpenAI does.
pub(super) fn family_of(place: &str) -> Family {
    VENDORS.iter().find(|vendor| vendor.name == place).map_or(Family::Compatible, |vendor| vendor.family)
}

fn unknown(text: String) -> ModelError {
    ModelError { kind: ModelTrouble::Unknown, text, cause: None, retry_after: None }
}
