//! Builds a client.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use tokio_util::task::TaskTracker;
use toolyard_protocol::{chat::ClientToolLimits, secret::SecretText};

use super::{ChatQuestion, Client, ClientBuildError, ClientState, question::boxed_handler};
use crate::{
    chat::{ApprovalDecision, ApprovalRequest, OnApproval, boxed_approver},
    plugin::{ManagerSettings, PluginManager},
    tool::{CallRun, OnToolCall, ToolError},
    wire::{ChatWire, HttpWire},
};

/// Default limit of requests in one chat.
pub const MAX_TOOL_ROUNDS: u32 = 5;
/// Default timeout of a tool.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// The transport of the client.
enum WireChoice {
    Http { url: String, token: Option<SecretText>, user: Option<String> },
    Custom(Arc<dyn ChatWire>),
}

/// Builds a [`Client`].
#[must_use = "call `build` to get a client"]
pub struct ClientBuilder {
    wire: WireChoice,
    defaults: ChatQuestion,
    on_tool_call: Option<OnToolCall>,
    on_approval: Option<OnApproval>,
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
            on_approval: None,
            max_tool_rounds: MAX_TOOL_ROUNDS,
            tool_timeout: TOOL_TIMEOUT,
            settings: ManagerSettings::default(),
        }
    }

    /// Sets the token of the user. Like [`ClientBuilder::user`], it has no effect with a custom wire.
    pub fn token(mut self, to: impl Into<String>) -> Self {
        if let WireChoice::Http { token, .. } = &mut self.wire {
            *token = Some(SecretText::new(to));
        }
        self
    }

    /// Names the user. Enough on its own if the server is in dev mode; otherwise use it with the token of an operator or the key
    /// of an app.
    pub fn user(mut self, to: impl Into<String>) -> Self {
        if let WireChoice::Http { user, .. } = &mut self.wire {
            *user = Some(to.into());
        }
        self
    }

    /// Selects the model. By default the server chooses.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.defaults = self.defaults.model(model);
        self
    }

    /// Sets the instructions for the model.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.defaults = self.defaults.system(text);
        self
    }

    /// Offers only server tools in these categories.
    pub fn categories<T: Into<String>>(mut self, categories: impl IntoIterator<Item = T>) -> Self {
        self.defaults = self.defaults.categories(categories);
        self
    }

    /// Limits the model calls in one response. The server has its own limit.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.defaults = self.defaults.max_steps(steps);
        self
    }

    /// Limits the requests of one chat. The default is [`MAX_TOOL_ROUNDS`]. After the last one, tools that the model calls do not
    /// run, and the chat ends with a notice and [`ChatFinish::ToolRounds`](crate::ChatFinish::ToolRounds). With 1, no tool runs.
    /// **0 means no limit**; the server still has its own (`chat.max_continuations`).
    pub fn max_tool_rounds(mut self, rounds: u32) -> Self {
        self.max_tool_rounds = rounds;
        self
    }

    /// Sets the timeout of a tool. The default is [`TOOL_TIMEOUT`]. It includes the time that [`ClientBuilder::on_tool_call`]
    /// waits, for example for the user.
    pub fn tool_timeout(mut self, limit: Duration) -> Self {
        self.tool_timeout = limit;
        self
    }

    /// Sets the timeout of a hook. The default is [`HOOK_TIMEOUT`](crate::plugin::HOOK_TIMEOUT).
    pub fn hook_timeout(mut self, limit: Duration) -> Self {
        self.settings.hook_timeout = limit;
        self
    }

    /// Sets the timeout for registering a plugin. The default is [`REGISTER_TIMEOUT`](crate::plugin::REGISTER_TIMEOUT).
    pub fn register_timeout(mut self, limit: Duration) -> Self {
        self.settings.register_timeout = limit;
        self
    }

    /// Sets the limits for client tools, if the server does not use the defaults.
    pub fn tool_limits(mut self, limits: ClientToolLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Logs each hook and each call with the target `toolyard_client` at level `DEBUG`. Logs the names of arguments, never their
    /// values.
    pub fn debug(mut self, debug: bool) -> Self {
        self.settings.debug = debug;
        self
    }

    /// Runs each call of this client in place of hooks and executors: to confirm, deny, observe or redirect it.
    /// [`CallRun::run`] runs the call as usual. The model reads an error as `{"error": …}`.
    pub fn on_tool_call<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(CallRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.on_tool_call = Some(boxed_handler(function));
        self
    }

    /// Asks the user about calls of server tools that need an approval. After the answer the chat continues: the server runs the
    /// call, or tells the model that the user declined it. Without a handler, the model tells the user where to answer.
    pub fn on_approval<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ApprovalDecision> + Send + 'static,
    {
        self.on_approval = Some(boxed_approver(function));
        self
    }

    /// Builds the client.
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
            on_approval: self.on_approval,
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
