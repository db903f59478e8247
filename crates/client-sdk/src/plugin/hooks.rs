//! What a plugin may do beside running its tools.

use std::fmt::Display;

use async_trait::async_trait;

use super::OwnTools;

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

/// Hooks of a plugin. Each does nothing unless it is written.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// The plugin is registered; its tools may be set or added to now, and later through a clone of `tools`. If it fails,
    /// nothing of the plugin stays behind.
    async fn on_register(&self, tools: &OwnTools) -> Result<(), HookError> {
        let _ = tools;
        Ok(())
    }

    /// The plugin goes. Its tools are not offered any more.
    async fn on_unregister(&self) {}
}

/// A plugin without hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
