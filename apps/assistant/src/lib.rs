//! The voice assistant for smart glasses: it hears its name, asks a model, runs the user's tools, shows and speaks the answer.
//!
//! It is an app like any other: built on the public app SDK and the public REST API, with the `assistant` grant of the user.
//!
//! | look for | in |
//! | --- | --- |
//! | one question, top to bottom | `turn` |
//! | one open assistant | `session` |
//! | whether something was said to it | [`addressed`] |
//! | an answer as it comes: pages, voice, the last words | [`tell`], [`page`], [`voice`], [`acknowledge`] |
//! | the user's tools | [`remote`] |
//! | a yes before something is deleted | [`ask`] |
//! | what was said before | [`history`] |
//! | every sentence of its own, in every language | [`words`] |
//! | every setting | [`config`], [`choices`] |

#![warn(missing_docs)]

pub mod acknowledge;
pub mod addressed;
pub mod ask;
pub mod choices;
pub mod config;
pub mod glasses;
pub mod history;
pub mod models;
pub mod page;
pub mod prompt;
pub mod remote;
mod session;
pub mod tell;
mod turn;
pub mod voice;
pub mod words;

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolyard_app_sdk::{
    AppServerBuilder, Category, InvalidName, InvalidTool, NoArguments, PackageName, Tool, ToolContext,
    ToolReply, create_tool,
};
use toolyard_core::ports::{Clock, Ids, SystemClock, SystemIds};
use toolyard_protocol::secret::Secret;

use crate::{
    addressed::wake::{BadWakeWords, WakeWords},
    config::Config,
    history::{History, store::StoreError},
    models::{BadModels, Minds},
    remote::cloud::{BadCloud, Cloud},
    words::{Language, Say},
};

/// Longest wait for summaries when the assistant stops.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// Why an assistant cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The package name.
    #[error("package: {0}")]
    Package(#[from] InvalidName),
    /// The wake words.
    #[error(transparent)]
    Wake(#[from] BadWakeWords),
    /// The models.
    #[error(transparent)]
    Models(#[from] BadModels),
    /// The server.
    #[error(transparent)]
    Cloud(#[from] BadCloud),
    /// The conversations.
    #[error(transparent)]
    History(#[from] StoreError),
    /// Its own tool.
    #[error(transparent)]
    Tool(#[from] InvalidTool),
}

/// An environment that is asked by name.
pub type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Time, chance and the environment, passed in so that a test can move them.
pub struct World {
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Unguessable numbers.
    pub ids: Arc<dyn Ids>,
    /// The environment, for keys of models.
    pub variables: Box<Variables>,
}

impl World {
    /// This machine, with these variables.
    pub fn new(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds), variables: Box::new(variables) }
    }
}

/// What all sessions share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) wake: Arc<WakeWords>,
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) minds: Minds,
    pub(crate) history: History,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: TaskTracker,
}

/// The assistant. Cheap to clone; every clone is the same.
#[derive(Clone)]
pub struct Assistant(Arc<Shared>);

impl fmt::Debug for Assistant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assistant").field("package", &self.0.config.package).finish_non_exhaustive()
    }
}

impl Assistant {
    /// An assistant with that configuration and the key from its registration.
    pub fn new(config: Config, key: &Secret, world: World) -> Result<Self, SetupError> {
        let package: PackageName = config.package.parse()?;
        let World { clock, ids, variables } = world;
        let shared = Shared {
            wake: Arc::new(WakeWords::new(&config.wake)?),
            cloud: Arc::new(Cloud::new(&config.server, package, key)?),
            minds: Minds::new(&config, variables, ids)?,
            history: History::open(&config.data, config.history.clone())?,
            clock,
            tasks: TaskTracker::new(),
            config,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Adds the assistant to an app in the making.
    pub fn add_to(&self, builder: AppServerBuilder) -> Result<AppServerBuilder, SetupError> {
        let (opened, closed) = (self.0.clone(), self.0.clone());
        let builder = builder.register_tool(self.forget_tool()?);
        let builder = builder.on_session(move |session| session::attend(opened.clone(), session));
        Ok(builder.on_stop(move |session, _| {
            let shared = closed.clone();
            async move {
                if let Err(error) = shared.history.session_over(session.user()).await {
                    tracing::error!(user = %session.user(), %error, "a conversation could not be dropped");
                }
            }
        }))
    }

    /// The command as a tool as well: a model finds it whatever words the user takes.
    fn forget_tool(&self) -> Result<Tool, InvalidTool> {
        let shared = self.0.clone();
        let forget = move |_: NoArguments, cx: ToolContext| {
            let shared = shared.clone();
            async move {
                shared.history.forget(cx.user()).await?;
                Ok::<_, StoreError>(ToolReply::text(Say::Forgotten.text(Language::English)))
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

    /// Waits for what is still being written down.
    pub async fn stop(&self) {
        self.0.tasks.close();
        if timeout(STOP_WAIT, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("a summary was not written in time");
        }
    }
}

/// The picture of the app, as an address that holds all of it.
fn icon() -> String {
    let svg = include_str!("../icon.svg").trim_end();
    let escaped = svg.replace('"', "'").replace('#', "%23").replace('<', "%3C").replace('>', "%3E");
    format!("data:image/svg+xml,{escaped}")
}

/// The body of `POST /api/apps` that registers the assistant.
pub fn registration(config: &Config, public_url: &str) -> Value {
    json!({
        "wants": ["assistant"],
        "packageName": config.package,
        "name": "Assistant",
        "description": "Answers when it is spoken to, and uses the tools of your other apps",
        "publicUrl": public_url,
        "iconUrl": icon(),
        "kind": "session",
        "appType": "background",
        "permissions": [{ "type": "MICROPHONE", "description": "To hear what you ask" }],
        "settings": choices::definitions(config.history.keep),
    })
}
