//! Which models callers may select. A model that they may not select does not exist for them.
//!
//! If `chat.models` is set, that list decides. Otherwise dev mode allows every model, and token mode allows the listed
//! models and every model at an endpoint without a key, because those cost no money.

use std::sync::Arc;

use toolyard_agent::model::{Model, ModelError, ModelErrorKind, ModelName, discovery::ModelListing};
use toolyard_protocol::wildcard;

use crate::{config::AuthMode, state::ServerState};

/// The model for a chat: by name, if the caller may select it, or the default.
pub(crate) async fn select_model(
    state: &ServerState,
    name: Option<&str>,
) -> Result<Arc<dyn Model>, ModelError> {
    let tasks = &state.lifecycle.tasks;
    match name {
        Some(name) => {
            if !can_select(state, name).await {
                return Err(not_selectable_error(name));
            }
            state.chat.models.get(Some(name), tasks).await
        }
        None if state.config.load().chat.model.is_some() || state.config.load().chat.models.is_empty() => {
            state.chat.models.get(None, tasks).await
        }
        // The first model that was discovered need not be on the list.
        None => match list_selectable_models(state).await.default {
            Some(name) => state.chat.models.get(Some(&name.to_string()), tasks).await,
            None => Err(no_listed_model_error()),
        },
    }
}

/// The models that callers may select.
pub(crate) async fn list_selectable_models(state: &ServerState) -> ModelListing {
    let mut listing = state.chat.models.list_models().await;
    let config = state.config.load();
    let config = &config.chat;
    if !config.callers_choose_model {
        let default = listing.default.clone();
        listing.models.retain(|model| Some(&model.name) == default.as_ref());
    } else if !config.models.is_empty() {
        listing.models.retain(|model| is_listed(state, &model.name.to_string()));
        listing.default = listing.models.first().map(|model| model.name.clone());
    }
    listing
}

/// The names of all models that callers may select, the default first.
pub(crate) async fn selectable_model_names(state: &ServerState) -> Vec<String> {
    let listing = list_selectable_models(state).await;
    let first = listing.default.iter().map(ToString::to_string);
    let mut names: Vec<String> = Vec::new();
    for name in first.chain(listing.models.iter().map(|model| model.name.to_string())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

async fn can_select(state: &ServerState, name: &str) -> bool {
    if !state.config.load().chat.models.is_empty() {
        return is_listed(state, name);
    }
    if state.auth_mode == AuthMode::Dev || state.config.load().chat.model.as_deref() == Some(name) {
        return true;
    }
    // A malformed name is refused where names are parsed, with a better error.
    let Ok(parsed) = name.parse::<ModelName>() else { return true };
    !state.chat.models.needs_key(&parsed)
        || state.chat.models.list_models().await.models.iter().any(|model| model.name == parsed)
}

/// Whether the operator's list allows a model. The default model is always allowed.
fn is_listed(state: &ServerState, name: &str) -> bool {
    let config = state.config.load();
    let config = &config.chat;
    config.model.as_deref() == Some(name)
        || config.models.iter().any(|pattern| wildcard::matches_pattern(pattern, name))
}

fn not_selectable_error(name: &str) -> ModelError {
    let name: String = name.chars().take(128).collect();
    let text = format!("The model {name} is not available. GET /v1/models lists the available models.");
    ModelError { kind: ModelErrorKind::Unknown, text, cause: None, retry_after: None }
}

fn no_listed_model_error() -> ModelError {
    let text = "None of the models in `chat.models` is available. Set `chat.model`, or start one of them."
        .to_owned();
    ModelError { kind: ModelErrorKind::Unavailable, text, cause: None, retry_after: None }
}
