//! Which model answers: the configured one, else the first that is found. Found as the server finds it, by the same crate.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::OnceCell;
use toolyard_agent::{
    model::{
        Calling, Endpoint, Environment, Model, ModelError, ModelName, ModelSettings, ModelTrouble, Models,
    },
    prompted::PromptedModel,
    small::{SmallModel, llama_server::LlamaServer},
};
use toolyard_core::ports::Ids;
use toolyard_protocol::secret::Secret;

use crate::config::Config;

/// How long a server on this machine may take to say what it has.
const LOOK: Duration = Duration::from_millis(500);

/// Why there are no models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct BadModels {
    place: String,
    why: String,
}

/// All models, and the one that answers.
pub struct Minds {
    models: Models,
    name: Option<ModelName>,
    small: HashMap<String, SmallModel>,
    ids: Arc<dyn Ids>,
    /// How models call tools is known after somebody looked.
    looked: OnceCell<()>,
}

impl Minds {
    /// The models of a configuration. Nothing is asked yet.
    pub fn new(
        config: &Config,
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, BadModels> {
        let bad = |place: &str, why: &dyn std::fmt::Display| BadModels {
            place: place.to_owned(),
            why: why.to_string(),
        };
        let name = config
            .model
            .as_deref()
            .map(str::parse::<ModelName>)
            .transpose()
            .map_err(|error| bad("model", &error))?;
        let mut settings = ModelSettings { default: name.clone(), ..ModelSettings::default() };
        for (place, model) in &config.models {
            let here = format!("models.{place}");
            let url = model.url.parse().map_err(|error| bad(&format!("{here}.url"), &error))?;
            let key = match &model.key_env {
                None => None,
                Some(name) => {
                    let key = variables(name)
                        .ok_or_else(|| bad(&here, &format!("the variable {name} is not set")))?;
                    Some(Secret::new(key))
                }
            };
            settings.endpoints.push(Endpoint { name: place.clone(), url, key, calling: model.calling });
        }
        if !config.local_servers {
            settings.servers.clear();
        }
        let small = small(&settings, &ids)?;
        let models = Models::new(settings, Environment::new(variables), ids.clone());
        let models = models.map_err(|error| bad("models", &error.text))?;
        Ok(Self { models, name, small, ids, looked: OnceCell::new() })
    }

    /// The model that answers.
    pub async fn get(&self) -> Result<Arc<dyn Model>, ModelError> {
        self.looked.get_or_init(|| async { drop(self.models.look(LOOK).await) }).await;
        let model = match &self.name {
            Some(name) => self.models.get(name)?,
            None => match self.models.default() {
                Ok(model) => model,
                // Somebody may have started one meanwhile.
                Err(error) if error.kind == ModelTrouble::Unknown => {
                    self.models.look(LOOK).await;
                    self.models.default()?
                }
                Err(error) => return Err(error),
            },
        };
        let id = &model.about().id;
        let place = id.split_once('/').map_or(id.as_str(), |(place, _)| place);
        Ok(match (model.about().calling, self.small.get(place)) {
            (Calling::Native, _) => model,
            (Calling::Small, Some(small)) => Arc::new(small.named(id)),
            (Calling::Prompted | Calling::Small, _) => Arc::new(PromptedModel::new(model, self.ids.clone())),
        })
    }
}

fn small(settings: &ModelSettings, ids: &Arc<dyn Ids>) -> Result<HashMap<String, SmallModel>, BadModels> {
    let places = settings.endpoints.iter().filter(|endpoint| endpoint.calling == Some(Calling::Small));
    let made = places.map(|Endpoint { name, url, key, .. }| {
        let server = LlamaServer::new(name, url, key.clone(), settings.bounds.clone());
        let server =
            server.map_err(|error| BadModels { place: format!("models.{name}"), why: error.text })?;
        Ok((name.clone(), SmallModel::new(Arc::new(server), name.clone(), ids.clone())))
    });
    made.collect()
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;
    use crate::config::ModelConfig;

    fn minds(change: impl FnOnce(&mut Config)) -> Result<Minds, BadModels> {
        let mut config = Config { local_servers: false, ..Config::default() };
        change(&mut config);
        Minds::new(&config, |_| None, Arc::new(SystemIds))
    }

    #[tokio::test]
    async fn what_is_wrong_is_named_with_its_place() {
        let place = |model: ModelConfig| {
            minds(|config| drop(config.models.insert("x".to_owned(), model))).err().unwrap().to_string()
        };
        let url = "http://127.0.0.1:1/v1".to_owned();
        assert!(
            place(ModelConfig { url: "nonsense".to_owned(), ..ModelConfig::default() })
                .starts_with("models.x.url: ")
        );
        let key = ModelConfig { url, key_env: Some("NO_SUCH".to_owned()), calling: None };
        assert_eq!(place(key), "models.x: the variable NO_SUCH is not set");
        let name = minds(|config| config.model = Some("gpt".to_owned())).err().unwrap().to_string();
        assert!(name.starts_with("model: a model is named place/model"), "{name}");
    }

    #[tokio::test]
    async fn without_any_model_it_says_so_when_it_is_asked() {
        let minds = minds(|_| {}).unwrap();
        assert_eq!(minds.get().await.unwrap_err().kind, ModelTrouble::Unknown);
    }
}
