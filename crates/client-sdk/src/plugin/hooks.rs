//! What a plugin may do beside running its tools.

use std::fmt::Display;

use async_trait::async_trait;
use serde_json::Value;

use super::{PluginTools, RequestDraft};
use crate::{
    chat::ChatAnswer,
    tool::{ToolCall, ToolContext, ToolError},
};

/// A hook failed, in words for the program that uses the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl HookError {
    /// In these words.
    pub fn new(text: impl Display) -> Self {
        Self(text.to_string())
    }
}

/// Hooks of a plugin. Each does nothing unless it is written. Hooks of several plugins run in the order of registration. A
/// hook has a time limit ([`ClientBuilder::hook_timeout`](crate::ClientBuilder::hook_timeout)); one that takes longer or
/// panics has failed.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// The plugin is registered; its tools may be set or added to now, and later through a clone of `tools`. If it fails,
    /// nothing of the plugin stays behind.
    async fn on_register(&self, tools: &PluginTools) -> Result<(), HookError> {
        let _ = tools;
        Ok(())
    }

    /// Before each request of a chat, the first and those that carry results of tools. Gives back the draft, changed or not;
    /// the next plugin sees the change. If it fails, the chat ends with an error that names the plugin.
    async fn before_request(&self, draft: RequestDraft) -> Result<RequestDraft, HookError> {
        Ok(draft)
    }

    /// Once for each chat that ends well, after all rounds. If it fails, the caller gets a notice, and the answer all the same.
    async fn after_response(&self, answer: &ChatAnswer) -> Result<(), HookError> {
        let _ = answer;
        Ok(())
    }

    /// Whether [`Hooks::on_tool_call`] runs tools of this plugin: then they need no executor. Asked when it is registered.
    fn handles_calls(&self) -> bool {
        false
    }

    /// A tool of this plugin is called. None leaves it to the tool's executor. Asked only where [`Hooks::handles_calls`] says
    /// so, and never about tools of other plugins.
    async fn on_tool_call(&self, call: &ToolCall, cx: &ToolContext) -> Option<Result<Value, ToolError>> {
        let _ = (call, cx);
        None
    }

    /// The plugin goes. Its tools are not offered any more.
    async fn on_unregister(&self) {}
}

/// A plugin without hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
