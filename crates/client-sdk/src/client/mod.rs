//! A client of one server.

mod builder;
mod error;
mod question;

use std::{fmt, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio_util::task::TaskTracker;
use toolyard_protocol::chat::ClientTool;

pub use builder::{ClientBuilder, MAX_TOOL_ROUNDS, TOOL_TIMEOUT};
pub use error::ClientBuildError;
pub use question::ChatQuestion;

use crate::{
    chat::{ChatAnswer, ChatError, ChatRun, ChatStart, ChatStream, OnApproval},
    plugin::{Plugin, PluginError, PluginManager},
    tool::{OnToolCall, Tool},
    wire::ChatWire,
};

/// A client of one server, with the tools and plugins of this program. Cheap to clone: clones share everything.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

struct ClientState {
    wire: Arc<dyn ChatWire>,
    plugins: Arc<PluginManager>,
    defaults: ChatQuestion,
    on_tool_call: Option<OnToolCall>,
    on_approval: Option<OnApproval>,
    max_tool_rounds: u32,
    tool_timeout: Duration,
    tasks: TaskTracker,
    debug: bool,
}

impl Client {
    /// A client of the server at this URL with default settings. Use [`Client::builder`] to set more.
    pub fn new(url: &str) -> Result<Self, ClientBuildError> {
        Self::builder(url).build()
    }

    /// Builds a client of the server at this URL.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::for_url(url.into())
    }

    /// Builds a client with a custom wire.
    pub fn builder_over(wire: Arc<dyn ChatWire>) -> ClientBuilder {
        ClientBuilder::for_wire(wire)
    }

    /// Registers a tool that belongs to no plugin.
    pub fn register_tool(&self, tool: Tool) -> Result<&Self, PluginError> {
        self.0.plugins.register_tool(tool)?;
        Ok(self)
    }

    /// Registers a plugin, completely or not at all. Calls can be chained:
    ///
    /// ```
    /// # use toolyard_client_sdk::{Client, Plugin, PluginError};
    /// # async fn chained(client: Client) -> Result<(), PluginError> {
    /// client.use_plugin(Plugin::new("one", "1.0.0")).await?.use_plugin(Plugin::new("two", "1.0.0")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn use_plugin(&self, plugin: Plugin) -> Result<&Self, PluginError> {
        self.0.plugins.register(plugin).await?;
        Ok(self)
    }

    /// Removes a plugin and its tools. The plugin is removed even if its hook fails with [`PluginError::UnregisterFailed`].
    pub async fn unuse(&self, name: &str) -> Result<&Self, PluginError> {
        self.0.plugins.unregister(name).await?;
        Ok(self)
    }

    /// Whether a plugin of that name is registered.
    pub fn has_plugin(&self, name: &str) -> bool {
        self.0.plugins.has_plugin(name)
    }

    /// The names of all plugins, in the order of registration.
    pub fn plugin_names(&self) -> Vec<String> {
        self.0.plugins.plugin_names()
    }

    /// The definitions of all tools of this client, as models see them.
    pub fn client_tool_definitions(&self) -> Vec<ClientTool> {
        self.0.plugins.tool_definitions()
    }

    /// The plugin manager.
    pub fn plugins(&self) -> &PluginManager {
        &self.0.plugins
    }

    /// Sends a question and streams the answer. Takes a text, messages, or a [`ChatQuestion`].
    pub fn chat(&self, question: impl Into<ChatQuestion>) -> ChatStream {
        self.start_chat(question.into(), ChatStart::NewRequest)
    }

    /// Sends a question and returns the complete answer.
    pub async fn ask(&self, question: impl Into<ChatQuestion>) -> Result<ChatAnswer, ChatError> {
        self.chat(question).collect().await
    }

    /// Resumes a resumable chat: replays its last response from the beginning and continues from there. `sent` are the messages of
    /// that request, from [`ChatStream::sent_messages`].
    pub fn resume(&self, chat_id: impl Into<String>, sent: impl Into<ChatQuestion>) -> ChatStream {
        self.start_chat(sent.into().resumable(chat_id), ChatStart::Resume)
    }

    /// Removes all plugins, the last one first, even if some of them fail. Returns the failures.
    pub async fn close(&self) -> Vec<PluginError> {
        let mut failed = Vec::new();
        for name in self.plugin_names().iter().rev() {
            failed.extend(self.0.plugins.unregister(name).await.err());
        }
        failed
    }

    fn start_chat(&self, mut question: ChatQuestion, first: ChatStart) -> ChatStream {
        let inner = &self.0;
        let messages = std::mem::take(&mut question.messages);
        let work = ChatRun {
            wire: inner.wire.clone(),
            plugins: inner.plugins.clone(),
            question: question.with_defaults(&inner.defaults),
            on_tool_call: inner.on_tool_call.clone(),
            on_approval: inner.on_approval.clone(),
            max_tool_rounds: inner.max_tool_rounds,
            tool_timeout: inner.tool_timeout,
            tasks: inner.tasks.clone(),
            debug: inner.debug,
        };
        ChatStream::new(messages, |sender| work.run(first, sender).boxed())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("plugins", &self.plugin_names()).finish_non_exhaustive()
    }
}
