//! What a plugin can do besides running its tools.

use std::fmt::Display;

use async_trait::async_trait;
use serde_json::Value;

use super::{PluginTools, RequestDraft};
use crate::{
    chat::ChatAnswer,
    tool::{ToolCall, ToolContext, ToolError},
};

/// Why a hook failed, for the program that uses the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl HookError {
    /// An error with this message.
    pub fn new(text: impl Display) -> Self {
        Self(text.to_string())
    }
}

/// Hooks of a plugin. By default each does nothing. Hooks of several plugins run in the order of registration. A hook has a
/// timeout ([`ClientBuilder::hook_timeout`](crate::ClientBuilder::hook_timeout)). A hook that takes longer or panics has failed.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// Called when the plugin is registered. It may set its tools now, and change them later through a clone of `tools`. If it
    /// fails, the plugin is not registered.
    async fn on_register(&self, tools: &PluginTools) -> Result<(), HookError> {
        let _ = tools;
        Ok(())
    }

    /// Called before each request of a chat, also those with tool results. Returns the draft, changed or not. The next plugin
    /// sees the change. If it fails, the chat ends with an error that names the plugin.
    async fn before_request(&self, draft: RequestDraft) -> Result<RequestDraft, HookError> {
        Ok(draft)
    }

    /// Called once for each successful chat, after all rounds. If it fails, the caller gets a notice in addition to the answer.
    async fn after_response(&self, answer: &ChatAnswer) -> Result<(), HookError> {
        let _ = answer;
        Ok(())
    }

    /// Whether [`Hooks::on_tool_call`] runs tools of this plugin, so that they need no executor. Called at registration.
    fn handles_calls(&self) -> bool {
        false
    }

    /// Runs a call of a tool of this plugin. `None` leaves it to the tool's executor. Called only if [`Hooks::handles_calls`]
    /// returns true, and never for tools of other plugins.
    async fn on_tool_call(&self, call: &ToolCall, cx: &ToolContext) -> Option<Result<Value, ToolError>> {
        let _ = (call, cx);
        None
    }

    /// Called when the plugin is removed. Its tools are not offered any more.
    async fn on_unregister(&self) {}
}

/// A plugin without hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
