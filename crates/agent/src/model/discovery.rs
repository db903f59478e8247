//! Looks for models at the servers of this machine, at the configured endpoints and in the models folder, in parallel
//! and each within the given time. Cloud vendors are not queried. A key is enough to list them.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    time::Duration,
};

use futures_util::future::{join, join_all};
use reqwest::Client;
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    CallingMode, LocalServer, ModelEndpoint, ModelName, ModelSettings, ServerKind, limits::VendorFamily,
    registry::provider_family, settings::base_url, web,
};

/// Most models of one provider, and most files.
pub const MAX_LISTED: usize = 256;

/// Models with fewer parameters choose tools by scoring their names, as with `calling = "small"`.
const TINY_PARAMETERS: u64 = 500_000_000;

/// Longest response that lists models, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// The available models, and what could be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ModelListing {
    /// The model that is used by default.
    pub default: Option<ModelName>,
    /// The models that can be used.
    pub models: Vec<ListedModel>,
    /// Files in the models folder.
    pub files: Vec<ModelFile>,
    /// What was not found, and how to add it.
    pub missing: Vec<SetupHint>,
}

impl ModelListing {
    /// Lists a model, unless it is listed already.
    pub(super) fn add(&mut self, name: ModelName, calling: CallingMode, origin: ModelOrigin) {
        if !self.models.iter().any(|model| model.name == name) {
            self.models.push(ListedModel { name, calling, origin });
        }
    }

    /// Records what is missing and how to add it.
    pub(super) fn add_missing(&mut self, what: impl Into<String>, how: impl Into<String>) {
        self.missing.push(SetupHint { what: what.into(), how: how.into() });
    }
}

/// A model that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedModel {
    /// The name by which it is chosen.
    pub name: ModelName,
    /// How it calls tools.
    pub calling: CallingMode,
    /// Why it is listed.
    pub origin: ModelOrigin,
}

/// Why a model is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelOrigin {
    /// The configuration names it.
    Configured,
    /// A configured endpoint serves it.
    Endpoint(String),
    /// It is a configured file.
    File(String),
    /// This variable holds a key for its vendor. The vendor has more models.
    Key(String),
    /// This local server serves it.
    Server(String),
}

/// A model file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFile {
    /// Its name, without the folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Something that was not found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetupHint {
    /// What is missing.
    pub what: String,
    /// How to add it.
    pub how: String,
}

/// The discovered models by provider.
#[derive(Debug, Clone, Default)]
pub(super) struct DiscoveredModels {
    pub(super) providers: HashMap<String, Vec<DiscoveredModel>>,
    pub(super) files: Vec<ModelFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiscoveredModel {
    pub(super) name: ModelName,
    pub(super) calling: CallingMode,
}

impl DiscoveredModels {
    /// How a model calls tools, as far as its server reports it. A server with one model accepts any name for it.
    pub(super) fn find_calling(&self, name: &ModelName) -> Option<CallingMode> {
        let models = self.providers.get(name.provider())?;
        let exact = models.iter().find(|model| model.name == *name);
        let only =
            || models.first().filter(|first| models.iter().all(|model| model.calling == first.calling));
        exact.or_else(only).map(|model| model.calling)
    }
}

/// Looks in all places.
pub(super) async fn discover_models(
    client: &Client,
    settings: &ModelSettings,
    wait: Duration,
) -> DiscoveredModels {
    let endpoints = join_all(settings.endpoints.iter().map(|endpoint| async move {
        (endpoint.name.clone(), discover_at_endpoint(client, endpoint, wait).await)
    }));
    let servers =
        join_all(settings.servers.iter().map(|server| async move {
            (server.name.clone(), discover_at_server(client, server, wait).await)
        }));
    let ((servers, endpoints), files) =
        join(join(servers, endpoints), list_model_files(settings.folder.as_deref())).await;
    // An endpoint replaces a server of the same name.
    let providers =
        servers.into_iter().chain(endpoints).filter_map(|(name, models)| Some((name, models?))).collect();
    DiscoveredModels { providers, files }
}

async fn discover_at_endpoint(
    client: &Client,
    endpoint: &ModelEndpoint,
    wait: Duration,
) -> Option<Vec<DiscoveredModel>> {
    let family = provider_family(&endpoint.name);
    if !matches!(family, VendorFamily::OpenAi | VendorFamily::Compatible) {
        return None;
    }
    let base = base_url(&endpoint.url, family);
    let mut request = client.get(base.join("models").ok()?);
    if let Some(key) = &endpoint.key {
        request = request.bearer_auth(key.expose());
    }
    let (ids, calling) = match endpoint.calling {
        Some(calling) => (model_ids(&web::fetch_json(request, MAX_ANSWER, wait).await?, |_| true), calling),
        None => {
            let (models, props) = join(
                web::fetch_json(request, MAX_ANSWER, wait),
                fetch_llama_props(client, &endpoint.url, wait),
            )
            .await;
            let ids = model_ids(&models?, |_| true);
            let ids = if props.is_some() { ids.into_iter().map(file_stem).collect() } else { ids };
            (ids, template_calling(props.as_ref()))
        }
    };
    Some(to_discovered(&endpoint.name, ids, |_| calling))
}

/// The name of a model that llama-server names by its file. It accepts any name for its one model, and the path stays
/// private.
fn file_stem(id: String) -> String {
    let name = id.rsplit(['/', '\\']).next().unwrap_or_default();
    match name.strip_suffix(".gguf") {
        Some(stem) => stem.to_owned(),
        None => id,
    }
}

async fn discover_at_server(
    client: &Client,
    server: &LocalServer,
    wait: Duration,
) -> Option<Vec<DiscoveredModel>> {
    let models =
        async { web::fetch_json(client.get(server.url.join("/v1/models").ok()?), MAX_ANSWER, wait).await };
    match server.kind {
        ServerKind::Ollama => discover_at_ollama(client, server, wait).await,
        ServerKind::LlamaServer => {
            let (models, props) = join(models, fetch_llama_props(client, &server.url, wait)).await;
            let (props, models) = (props?, models?);
            let calling = if is_tiny(&models) { CallingMode::Small } else { template_calling(Some(&props)) };
            let ids = model_ids(&models, |_| true).into_iter().map(file_stem).collect();
            Some(to_discovered(&server.name, ids, |_| calling))
        }
        ServerKind::Vllm => {
            let models = model_ids(&models.await?, |model| model["owned_by"] == "vllm");
            (!models.is_empty()).then(|| to_discovered(&server.name, models, |_| CallingMode::Native))
        }
        ServerKind::LmStudio => {
            let models = models.await?;
            let models = model_ids(&models, |model| {
                !model["id"].as_str().unwrap_or_default().starts_with("text-embedding")
            });
            Some(to_discovered(&server.name, models, |_| CallingMode::Native))
        }
    }
}

async fn discover_at_ollama(
    client: &Client,
    server: &LocalServer,
    wait: Duration,
) -> Option<Vec<DiscoveredModel>> {
    let tags = web::fetch_json(client.get(server.url.join("/api/tags").ok()?), MAX_ANSWER, wait).await?;
    let names: Vec<_> =
        tags["models"].as_array()?.iter().filter_map(|model| model["name"].as_str()).collect();
    let show = server.url.join("/api/show").ok()?;
    // Ollama rejects a request with tools for a model without tool support, so ask each model for its capabilities.
    let abilities = join_all(names.into_iter().take(MAX_LISTED).map(|name| {
        let request = client.post(show.clone()).json(&json!({ "model": name }));
        async move { (name, web::fetch_json(request, MAX_ANSWER, wait).await) }
    }));
    let can = |shown: &Option<Value>, ability: &str| {
        let abilities = shown.as_ref().and_then(|shown| shown["capabilities"].as_array());
        abilities.is_none_or(|abilities| abilities.iter().any(|one| one == ability))
    };
    let models = abilities.await.into_iter().filter(|(_, shown)| can(shown, "completion")).filter_map(
        |(name, shown)| {
            let calling = if can(&shown, "tools") { CallingMode::Native } else { CallingMode::Prompted };
            Some(DiscoveredModel { name: ModelName::new(&server.name, name).ok()?, calling })
        },
    );
    Some(models.collect())
}

/// What llama-server reports about itself. Only on this machine: other hosts are not probed.
async fn fetch_llama_props(client: &Client, url: &Url, wait: Duration) -> Option<Value> {
    let props = url.join("/props").ok().filter(is_loopback_url)?;
    let props = web::fetch_json(client.get(props), MAX_ANSWER, wait).await?;
    let ours = ["chat_template", "chat_template_caps", "default_generation_settings"];
    ours.iter().any(|key| props.get(key).is_some()).then_some(props)
}

fn is_loopback_url(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A chat template without tool support drops tools silently. Then tools are called by text.
fn template_calling(props: Option<&Value>) -> CallingMode {
    let says_no = |props: &Value| {
        props["chat_template_caps"]["supports_tools"] == false || props["supports_tools"] == false
    };
    if props.is_some_and(says_no) { CallingMode::Prompted } else { CallingMode::Native }
}

/// Whether llama-server has a model that is too small to call tools by itself. It reports the size of its one model.
fn is_tiny(models: &Value) -> bool {
    models["data"][0]["meta"]["n_params"].as_u64().is_some_and(|parameters| parameters < TINY_PARAMETERS)
}

fn model_ids(models: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let models = models["data"].as_array().into_iter().flatten();
    models.filter(|model| wanted(model)).filter_map(|model| Some(model["id"].as_str()?.to_owned())).collect()
}

/// Models by name. Invalid names are skipped.
fn to_discovered(
    provider: &str,
    ids: Vec<String>,
    calling: impl Fn(&str) -> CallingMode,
) -> Vec<DiscoveredModel> {
    let models = ids.iter().filter_map(|id| {
        Some(DiscoveredModel { name: ModelName::new(provider, id).ok()?, calling: calling(id) })
    });
    models.take(MAX_LISTED).collect()
}

/// The model files of a folder, the first by name.
async fn list_model_files(folder: Option<&Path>) -> Vec<ModelFile> {
    let mut files = BTreeMap::new();
    let Some(folder) = folder else { return Vec::new() };
    let Ok(mut entries) = tokio::fs::read_dir(folder).await else { return Vec::new() };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let name = entry.file_name().to_string_lossy().into_owned();
        let gguf = Path::new(&name).extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"));
        if gguf
            && let Ok(about) = tokio::fs::metadata(entry.path()).await
            && about.is_file()
        {
            files.insert(name, about.len());
        }
        // A folder lists its entries in any order, so only the last names are cut.
        if files.len() > MAX_LISTED {
            files.pop_last();
        }
    }
    files.into_iter().map(|(name, bytes)| ModelFile { name, bytes }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_of_this_machine_are_asked_about_themselves() {
        for (url, here) in [
            ("http://127.0.0.1:8080", true),
            ("http://localhost:8080/v1", true),
            ("http://[::1]/", true),
            ("https://api.openai.com/v1/", false),
            ("http://10.0.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_loopback_url(&url.parse().unwrap()), here, "{url}");
        }
    }

    #[test]
    fn a_model_that_is_named_by_its_file_loses_the_path() {
        for (id, want) in [
            ("/home/me/models/Smol-Q4.gguf", "Smol-Q4"),
            ("C:\\models\\Smol.gguf", "Smol"),
            ("Smol.gguf", "Smol"),
            ("org/model:Q4", "org/model:Q4"),
        ] {
            assert_eq!(file_stem(id.to_owned()), want);
        }
    }

    #[test]
    fn a_tiny_model_is_known_by_its_parameters() {
        let models = |parameters| json!({ "data": [{ "id": "m", "meta": { "n_params": parameters } }] });
        assert!(is_tiny(&models(134_515_008u64)));
        assert!(!is_tiny(&models(TINY_PARAMETERS)));
        assert!(!is_tiny(&json!({ "data": [{ "id": "m" }] })) && !is_tiny(&json!({})));
    }

    #[tokio::test]
    async fn of_many_model_files_the_first_by_name_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("0000.gguf")).unwrap();
        std::fs::write(folder.path().join("0000.txt"), "").unwrap();
        for number in (0..MAX_LISTED + 20).rev() {
            std::fs::write(folder.path().join(format!("m{number:04}.GGUF")), "x").unwrap();
        }
        let files = list_model_files(Some(folder.path())).await;
        let wanted: Vec<_> = (0..MAX_LISTED).map(|number| format!("m{number:04}.GGUF")).collect();
        assert_eq!(files.into_iter().map(|file| file.name).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn lists_are_bounded() {
        let ids = (0..=MAX_LISTED).map(|at| at.to_string()).collect();
        assert_eq!(to_discovered("local", ids, |_| CallingMode::Native).len(), MAX_LISTED);
    }
}
