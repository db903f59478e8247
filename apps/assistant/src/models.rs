//! Selects the model that answers: the configured one, or the first that is found. Uses the same search as the server.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::OnceCell;
use toolyard_agent::{
    model::{
        CallingMode, KeyEnvironment, Model, ModelCatalog, ModelEndpoint, ModelError, ModelErrorKind,
        ModelName, ModelSettings,
    },
    prompted::PromptedModel,
    small::{SmallModel, llama_server::LlamaServer},
};
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::secret::SecretText;

use crate::config::AssistantConfig;

/// Timeout for a model server on this machine to list its models.
const LOOK: Duration = Duration::from_millis(500);

/// Why the models cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ModelSetupError {
    place: String,
    why: String,
}

/// All models, and the name of the configured one.
pub struct AssistantModels {
    models: ModelCatalog,
    name: Option<ModelName>,
    small: HashMap<String, SmallModel>,
    ids: Arc<dyn IdGenerator>,
    /// Set after the first search, which also finds out how models call tools.
    looked: OnceCell<()>,
}

impl AssistantModels {
    /// The models of a configuration. Sends no request.
    pub fn new(
        config: &AssistantConfig,
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, ModelSetupError> {
        let bad = |place: &str, why: &dyn std::fmt::Display| ModelSetupError {
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
                    Some(SecretText::new(key))
                }
            };
            settings.endpoints.push(ModelEndpoint { name: place.clone(), url, key, calling: model.calling });
        }
        if !config.local_servers {
            settings.servers.clear();
        }
        let small = build_small_models(&settings, &ids)?;
        let models = ModelCatalog::new(settings, KeyEnvironment::new(variables), ids.clone());
        let models = models.map_err(|error| bad("models", &error.text))?;
        Ok(Self { models, name, small, ids, looked: OnceCell::new() })
    }

    /// The model that answers.
    pub async fn select_model(&self) -> Result<Arc<dyn Model>, ModelError> {
        self.looked.get_or_init(|| async { drop(self.models.discover(LOOK).await) }).await;
        let model = match &self.name {
            Some(name) => self.models.get(name)?,
            None => match self.models.default() {
                Ok(model) => model,
                // A model server may have been started meanwhile.
                Err(error) if error.kind == ModelErrorKind::Unknown => {
                    self.models.discover(LOOK).await;
                    self.models.default()?
                }
                Err(error) => return Err(error),
            },
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

fn build_small_models(
    settings: &ModelSettings,
    ids: &Arc<dyn IdGenerator>,
) -> Result<HashMap<String, SmallModel>, ModelSetupError> {
    let places = settings.endpoints.iter().filter(|endpoint| endpoint.calling == Some(CallingMode::Small));
    let made = places.map(|ModelEndpoint { name, url, key, .. }| {
        let server = LlamaServer::new(name, url, key.clone(), settings.bounds.clone());
        let server =
            server.map_err(|error| ModelSetupError { place: format!("models.{name}"), why: error.text })?;
        Ok((name.clone(), SmallModel::new(Arc::new(server), name.clone(), ids.clone())))
    });
    made.collect()
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;
    use crate::config::ModelEndpointConfig;

    fn minds(change: impl FnOnce(&mut AssistantConfig)) -> Result<AssistantModels, ModelSetupError> {
        let mut config = AssistantConfig { local_servers: false, ..AssistantConfig::default() };
        change(&mut config);
        AssistantModels::new(&config, |_| None, Arc::new(SystemIds))
    }

    #[tokio::test]
    async fn model_errors_name_the_setting() {
        let place = |model: ModelEndpointConfig| {
            minds(|config| drop(config.models.insert("x".to_owned(), model))).err().unwrap().to_string()
        };
        let url = "http://127.0.0.1:1/v1".to_owned();
        assert!(
            place(ModelEndpointConfig { url: "nonsense".to_owned(), ..ModelEndpointConfig::default() })
                .starts_with("models.x.url: ")
        );
        let key = ModelEndpointConfig { url, key_env: Some("NO_SUCH".to_owned()), calling: None };
        assert_eq!(place(key), "models.x: the variable NO_SUCH is not set");
        let name = minds(|config| config.model = Some("gpt".to_owned())).err().unwrap().to_string();
        assert!(name.starts_with("model: a model is named provider/model"), "{name}");
    }

    #[tokio::test]
    async fn without_any_model_selecting_one_fails() {
        let minds = minds(|_| {}).unwrap();
        assert_eq!(minds.select_model().await.unwrap_err().kind, ModelErrorKind::Unknown);
    }
}
