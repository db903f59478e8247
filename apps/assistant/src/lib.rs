//! The voice assistant for smart glasses: it listens for its wake word, asks a model, runs the user's tools, and shows and
//! speaks the answer.
//!
//! It is an app like any other: built on the public app SDK and the public REST API, with the `assistant` grant of the user.
//!
//! | look for | in |
//! | --- | --- |
//! | one question, from start to end | `turn` |
//! | the session of one user | `session` |
//! | wake words, and what counts as a question | [`listener`] |
//! | showing and speaking an answer as it streams | [`presenter`], [`page`], [`voice`], [`acknowledge`] |
//! | the user's tools | [`remote`] |
//! | approval before destructive calls | [`approval`] |
//! | earlier conversations | [`history`] |
//! | the assistant's own sentences, in every language | [`localization`] |
//! | every setting | [`config`], [`choices`] |

#![warn(missing_docs)]

pub mod acknowledge;
pub mod approval;
pub mod choices;
pub mod config;
pub mod glasses;
pub mod history;
pub mod listener;
pub mod localization;
pub mod models;
pub mod page;
pub mod presenter;
pub mod prompt;
pub mod remote;
mod session;
mod turn;
pub mod voice;

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolyard_app_sdk::{
    AppServerBuilder, Category, InvalidName, InvalidTool, NoArguments, PackageName, Tool, ToolContext,
    ToolReply, create_tool,
};
use toolyard_core::ports::{Clock, IdGenerator, SystemClock, SystemIds};
use toolyard_protocol::secret::SecretText;

use crate::{
    config::AssistantConfig,
    history::{ConversationHistory, store::HistoryStoreError},
    listener::wake::{WakeWordError, WakeWords},
    localization::{LocalizedMessage, SpokenLanguage},
    models::{AssistantModels, ModelSetupError},
    remote::platform::{PlatformClient, PlatformSetupError},
};

/// How long to wait for summaries when the assistant stops.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// Why an assistant cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The package name.
    #[error("package: {0}")]
    Package(#[from] InvalidName),
    /// The wake words.
    #[error(transparent)]
    Wake(#[from] WakeWordError),
    /// The models.
    #[error(transparent)]
    Models(#[from] ModelSetupError),
    /// The server.
    #[error(transparent)]
    Platform(#[from] PlatformSetupError),
    /// The conversations.
    #[error(transparent)]
    History(#[from] HistoryStoreError),
    /// Its own tool.
    #[error(transparent)]
    Tool(#[from] InvalidTool),
}

/// Looks up environment variables by name.
pub type EnvironmentLookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Time, randomness and the environment, passed in so that tests can control them.
pub struct SystemPorts {
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Random ids.
    pub ids: Arc<dyn IdGenerator>,
    /// The environment, for API keys of models.
    pub variables: Box<EnvironmentLookup>,
}

impl SystemPorts {
    /// This machine, with these variables.
    pub fn new(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds), variables: Box::new(variables) }
    }
}

/// The state that all sessions share.
pub(crate) struct AssistantState {
    pub(crate) config: AssistantConfig,
    pub(crate) wake: Arc<WakeWords>,
    pub(crate) platform: Arc<PlatformClient>,
    pub(crate) models: AssistantModels,
    pub(crate) history: ConversationHistory,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: TaskTracker,
}

/// The assistant. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Assistant(Arc<AssistantState>);

impl fmt::Debug for Assistant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assistant").field("package", &self.0.config.package).finish_non_exhaustive()
    }
}

impl Assistant {
    /// An assistant with this configuration and the API key from its registration.
    pub fn new(config: AssistantConfig, key: &SecretText, world: SystemPorts) -> Result<Self, SetupError> {
        let package: PackageName = config.package.parse()?;
        let SystemPorts { clock, ids, variables } = world;
        let shared = AssistantState {
            wake: Arc::new(WakeWords::new(&config.wake)?),
            platform: Arc::new(PlatformClient::new(&config.server, package, key)?),
            models: AssistantModels::new(&config, variables, ids)?,
            history: ConversationHistory::open(&config.data, config.history.clone())?,
            clock,
            tasks: TaskTracker::new(),
            config,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Adds the assistant to an app server.
    pub fn add_to(&self, builder: AppServerBuilder) -> Result<AppServerBuilder, SetupError> {
        let (opened, closed) = (self.0.clone(), self.0.clone());
        let builder = builder.register_tool(self.forget_tool()?);
        let builder = builder.on_session(move |session| session::run_session(opened.clone(), session));
        Ok(builder.on_stop(move |session, _| {
            let shared = closed.clone();
            async move {
                if let Err(error) = shared.history.end_session(session.user()).await {
                    tracing::error!(user = %session.user(), %error, "cannot delete session conversation");
                }
            }
        }))
    }

    /// The "forget" command as a tool, so that a model can call it whatever words the user chooses.
    fn forget_tool(&self) -> Result<Tool, InvalidTool> {
        let shared = self.0.clone();
        let forget = move |_: NoArguments, cx: ToolContext| {
            let shared = shared.clone();
            async move {
                shared.history.forget(cx.user()).await?;
                Ok::<_, HistoryStoreError>(ToolReply::text(
                    LocalizedMessage::Forgotten.to_text(SpokenLanguage::English),
                ))
            }
        };
        create_tool(
            "forget_conversation",
            "Makes the assistant forget everything that was said in this conversation and before",
            forget,
        )
        .title("Forget our conversation")
        .category(Category::Utility)
        .destructive()
        .idempotent()
        .build()
    }

    /// Waits for pending summaries.
    pub async fn stop(&self) {
        self.0.tasks.close();
        if timeout(STOP_WAIT, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("summaries not finished in time");
        }
    }
}

/// The app's icon as a data URL.
fn icon_data_url() -> String {
    let svg = include_str!("../icon.svg").trim_end();
    let escaped = svg.replace('"', "'").replace('#', "%23").replace('<', "%3C").replace('>', "%3E");
    format!("data:image/svg+xml,{escaped}")
}

/// The body of `POST /api/apps` that registers the assistant.
pub fn registration_body(config: &AssistantConfig, public_url: &str) -> Value {
    json!({
        "wants": ["assistant"],
        "packageName": config.package,
        "name": "Assistant",
        "description": "Answers when it is spoken to, and uses the tools of your other apps",
        "publicUrl": public_url,
        "iconUrl": icon_data_url(),
        "kind": "session",
        "appType": "background",
        "permissions": [{ "type": "MICROPHONE", "description": "To hear what you ask" }],
        "settings": choices::setting_definitions(config.history.keep),
    })
}
