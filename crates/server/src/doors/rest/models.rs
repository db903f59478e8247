//! `/api/models`: the models for chats, and for operators what the server looked for and did not find.

use axum::extract::State;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_agent::model::{
    CallingMode,
    discovery::{ModelListing, ModelOrigin},
};

use super::{HandlerResult, ok_json};
use crate::{
    auth::KnownActor,
    config::CallingSchema,
    model_access,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// The available models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelOverview {
    /// The default model.
    pub default: Option<String>,
    /// The models. Vendors have more models than are listed.
    pub models: Vec<OverviewModel>,
    /// GGUF files in the models folder; a server such as llama-server runs them. For operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<OverviewFile>>,
    /// What the server looked for and did not find. For operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<OverviewMissing>>,
}

/// An available model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewModel {
    /// The name that selects it: `ollama/llama3.2`.
    pub name: String,
    /// How it calls tools.
    #[schemars(with = "CallingSchema")]
    pub calling: CallingMode,
    /// Why it is listed. For operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OverviewOrigin>,
}

/// Why a model is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "name", rename_all = "lowercase")]
pub enum OverviewOrigin {
    /// `chat.model` names it.
    Configured,
    /// This endpoint of the configuration has it.
    Endpoint(String),
    /// The file of this model of the configuration has it.
    File(String),
    /// This environment variable holds a key for its vendor.
    Key(String),
    /// This server on the machine has it.
    Server(String),
}

/// A file with a model in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewFile {
    /// Its name, without the folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Something that the server looked for and did not find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewMissing {
    /// What is missing.
    pub what: String,
    /// How to add it.
    pub how: String,
}

impl ModelOverview {
    /// The full overview, for operators.
    pub fn for_operator(listing: ModelListing) -> Self {
        let models = listing.models.into_iter().map(|model| OverviewModel {
            name: model.name.to_string(),
            calling: model.calling,
            origin: Some(match model.origin {
                ModelOrigin::Configured => OverviewOrigin::Configured,
                ModelOrigin::Endpoint(name) => OverviewOrigin::Endpoint(name),
                ModelOrigin::File(name) => OverviewOrigin::File(name),
                ModelOrigin::Key(variable) => OverviewOrigin::Key(variable),
                ModelOrigin::Server(at) => OverviewOrigin::Server(at),
            }),
        });
        let files = listing.files.into_iter().map(|file| OverviewFile { name: file.name, bytes: file.bytes });
        let missing = listing
            .missing
            .into_iter()
            .map(|missing| OverviewMissing { what: missing.what, how: missing.how });
        Self {
            default: listing.default.map(|name| name.to_string()),
            models: models.collect(),
            files: Some(files.collect()),
            missing: Some(missing.collect()),
        }
    }

    /// The models that users can choose, without details of the setup.
    pub fn for_user(listing: ModelListing) -> Self {
        let mut all = Self::for_operator(listing);
        all.models.iter_mut().for_each(|model| model.origin = None);
        Self { files: None, missing: None, ..all }
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/models",
            RouteAccess::Authenticated,
            "The available models, and for operators what the server looked for and did not find",
            list_models,
        )
        .response_body::<ModelOverview>(),
    ]
}

async fn list_models(State(state): State<ServerState>, KnownActor(who): KnownActor) -> HandlerResult {
    let listing = model_access::list_selectable_models(&state).await;
    ok_json(&match who.is_operator() {
        true => ModelOverview::for_operator(listing),
        false => ModelOverview::for_user(listing),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_agent::model::discovery::{ListedModel, ModelFile, SetupHint};

    use super::*;

    fn listing() -> ModelListing {
        let name: toolyard_agent::model::ModelName = "openai/gpt-5-mini".parse().unwrap();
        let origin = ModelOrigin::Key("OPENAI_API_KEY".to_owned());
        ModelListing {
            default: Some(name.clone()),
            models: vec![ListedModel { name, calling: CallingMode::Native, origin }],
            files: vec![ModelFile { name: "m.gguf".to_owned(), bytes: 5 }],
            missing: vec![SetupHint { what: "Ollama".to_owned(), how: "Start it.".to_owned() }],
        }
    }

    #[test]
    fn operators_see_the_setup_of_the_server() {
        assert_eq!(
            serde_json::to_value(ModelOverview::for_operator(listing())).unwrap(),
            json!({
                "default": "openai/gpt-5-mini",
                "models": [{ "name": "openai/gpt-5-mini", "calling": "native",
                    "origin": { "kind": "key", "name": "OPENAI_API_KEY" } }],
                "files": [{ "name": "m.gguf", "bytes": 5 }],
                "missing": [{ "what": "Ollama", "how": "Start it." }],
            })
        );
    }

    #[test]
    fn users_see_what_they_can_choose_and_no_more() {
        assert_eq!(
            serde_json::to_value(ModelOverview::for_user(listing())).unwrap(),
            json!({ "default": "openai/gpt-5-mini", "models": [{ "name": "openai/gpt-5-mini", "calling": "native" }] })
        );
    }
}
