//! Ports towards what is live: sessions.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use toolyard_protocol::{AppSessionId, PackageName, UserId, call::AppActivation, device::Capabilities};

use super::StoreError;
use crate::{catalog::AppHead, error::ToolError};

/// What the catalog needs to know of a live user.
#[derive(Debug, Clone, Default)]
pub struct SessionView {
    /// What the device can do; nothing is filtered where that is not known.
    pub capabilities: Option<Arc<Capabilities>>,
}

/// Who is here.
pub trait UserPresence: Send + Sync {
    /// The user's session, if there is one.
    fn session_view(&self, user: &UserId) -> Option<SessionView>;
}

/// Wakes apps.
#[async_trait]
pub trait AppWaker: Send + Sync {
    /// Returns once the app runs for the user and its socket is open, and says whether it was started for this call. Safe
    /// from many tasks at once: one start for all.
    async fn ensure_running(
        &self,
        user: &UserId,
        app: &AppHead,
        deadline: Instant,
    ) -> Result<AppActivation, ToolError>;

    /// Whether the app's socket is open now. A reply that claims the display is worth nothing without it.
    fn is_connected(&self, user: &UserId, app: &PackageName) -> bool;
}

/// A run of an app that may outlive this process: apps reconnect by themselves after a restart of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// What the app says when it connects.
    pub session: AppSessionId,
    /// For whom.
    pub user: UserId,
    /// Which app.
    pub package: PackageName,
    /// Whether the user opened it, or a call woke it.
    pub by_user: bool,
}

/// The table of app sessions that were handed out and have not ended.
#[async_trait]
pub trait AppRunStore: Send + Sync {
    /// Adds or replaces one.
    async fn save_run(&self, run: &StoredRun) -> Result<(), StoreError>;
    /// Removes one.
    async fn remove_run(&self, session: &AppSessionId) -> Result<(), StoreError>;
    /// All of them, after a start.
    async fn list_runs(&self) -> Result<Vec<StoredRun>, StoreError>;
}
