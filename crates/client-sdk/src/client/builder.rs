//! How a client is made.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use tokio_util::task::TaskTracker;
use toolyard_protocol::{chat::ClientToolLimits, secret::SecretText};

use super::{ChatQuestion, Client, ClientBuildError, ClientState, question::boxed_handler};
use crate::{
    plugin::{ManagerSettings, PluginManager},
    tool::{CallRun, OnToolCall, ToolError},
    wire::{ChatWire, HttpWire},
};

/// Most requests of one chat, unless said otherwise.
pub const MAX_TOOL_ROUNDS: u32 = 5;
/// How long a tool may run, unless said otherwise.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// Where answers come from.
enum WireChoice {
    Http { url: String, token: Option<SecretText>, user: Option<String> },
    Custom(Arc<dyn ChatWire>),
}

/// A client that is being made.
#[must_use = "nothing is there before `build`"]
pub struct ClientBuilder {
    wire: WireChoice,
    defaults: ChatQuestion,
    on_tool_call: Option<OnToolCall>,
    max_tool_rounds: u32,
    tool_timeout: Duration,
    settings: ManagerSettings,
}

impl ClientBuilder {
    pub(super) fn for_url(url: String) -> Self {
        Self::with_wire(WireChoice::Http { url, token: None, user: None })
    }

    pub(super) fn for_wire(wire: Arc<dyn ChatWire>) -> Self {
        Self::with_wire(WireChoice::Custom(wire))
    }

    fn with_wire(way: WireChoice) -> Self {
        Self {
            wire: way,
            defaults: ChatQuestion::default(),
            on_tool_call: None,
            max_tool_rounds: MAX_TOOL_ROUNDS,
            tool_timeout: TOOL_TIMEOUT,
            settings: ManagerSettings::default(),
        }
    }

    /// The token of the user. Without effect over a wire of the program's own, as [`ClientBuilder::user`].
    pub fn token(mut self, to: impl Into<String>) -> Self {
        if let WireChoice::Http { token, .. } = &mut self.wire {
            *token = Some(SecretText::new(to));
        }
        self
    }

    /// Names the user: alone where the server is in dev mode, else beside the token of an operator or the key of an app.
    pub fn user(mut self, to: impl Into<String>) -> Self {
        if let WireChoice::Http { user, .. } = &mut self.wire {
            *user = Some(to.into());
        }
        self
    }

    /// Asks this model; without it the server chooses.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.defaults = self.defaults.model(model);
        self
    }

    /// How the model shall behave.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.defaults = self.defaults.system(text);
        self
    }

    /// Only tools of the server in these categories.
    pub fn categories<T: Into<String>>(mut self, categories: impl IntoIterator<Item = T>) -> Self {
        self.defaults = self.defaults.categories(categories);
        self
    }

    /// Most questions to the model in one response, within the server's own bound.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.defaults = self.defaults.max_steps(steps);
        self
    }

    /// Most requests of one chat: [`MAX_TOOL_ROUNDS`] unless said otherwise. After the last one, tools that the model wants are
    /// not run, and the chat ends with a notice and [`Finish::ToolRounds`](crate::Finish::ToolRounds); so with 1 no tool runs.
    /// **0 means no limit**; the server still has one of its own (`chat.max_continuations`).
    pub fn max_tool_rounds(mut self, rounds: u32) -> Self {
        self.max_tool_rounds = rounds;
        self
    }

    /// How long a tool may run, [`TOOL_TIMEOUT`] unless said otherwise. Whatever [`ClientBuilder::on_tool_call`] waits for, such
    /// as a user, counts.
    pub fn tool_timeout(mut self, limit: Duration) -> Self {
        self.tool_timeout = limit;
        self
    }

    /// How long a hook may take, [`HOOK_TIMEOUT`](crate::plugin::HOOK_TIMEOUT) unless said otherwise.
    pub fn hook_timeout(mut self, limit: Duration) -> Self {
        self.settings.hook_timeout = limit;
        self
    }

    /// How long a plugin may take to register, [`REGISTER_TIMEOUT`](crate::plugin::REGISTER_TIMEOUT) unless said otherwise.
    pub fn register_timeout(mut self, limit: Duration) -> Self {
        self.settings.register_timeout = limit;
        self
    }

    /// The bounds for tools of clients, where the server has others than the usual ones.
    pub fn tool_limits(mut self, limits: ClientToolLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Traces each hook and each call, under the target `toolyard_client` and at the level `DEBUG`. Names of arguments are
    /// traced, their values never.
    pub fn debug(mut self, debug: bool) -> Self {
        self.settings.debug = debug;
        self
    }

    /// Asked about each call of this client, in place of hooks and executors: to confirm, forbid, watch or redirect it.
    /// [`CallRun::run`] runs it as usual. An error is told to the model as `{"error": …}`.
    pub fn on_tool_call<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(CallRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.on_tool_call = Some(boxed_handler(function));
        self
    }

    /// The client.
    pub fn build(self) -> Result<Client, ClientBuildError> {
        let wire: Arc<dyn ChatWire> = match self.wire {
            WireChoice::Http { url, token, user } => {
                Arc::new(HttpWire::new(&url, token.as_ref(), user.as_deref())?)
            }
            WireChoice::Custom(wire) => wire,
        };
        Ok(Client(Arc::new(ClientState {
            wire,
            plugins: Arc::new(PluginManager::new(self.settings)),
            defaults: self.defaults,
            on_tool_call: self.on_tool_call,
            max_tool_rounds: self.max_tool_rounds,
            tool_timeout: self.tool_timeout,
            tasks: TaskTracker::new(),
            debug: self.settings.debug,
        })))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").finish_non_exhaustive()
    }
}
