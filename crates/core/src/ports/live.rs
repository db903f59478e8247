//! Ports for live sessions.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use toolyard_protocol::{AppSessionId, PackageName, UserId, call::AppActivation, device::Capabilities};

use super::StoreError;
use crate::{catalog::AppHead, error::ToolError};

/// What the catalog needs to know about a live user.
#[derive(Debug, Clone, Default)]
pub struct SessionView {
    /// The capabilities of the device. If unknown, nothing is filtered by them.
    pub capabilities: Option<Arc<Capabilities>>,
}

/// Knows which users have a session. Async, because the session may live on another node.
#[async_trait]
pub trait UserPresence: Send + Sync {
    /// The user's session, if there is one.
    async fn session_view(&self, user: &UserId) -> Option<SessionView>;
}

/// Wakes apps.
#[async_trait]
pub trait AppWaker: Send + Sync {
    /// Returns once the app runs for the user and its socket is open, and whether it was started for this call.
    /// Concurrent calls share one start.
    async fn ensure_running(
        &self,
        user: &UserId,
        app: &AppHead,
        deadline: Instant,
    ) -> Result<AppActivation, ToolError>;

    /// Whether the app's socket is open now. A reply that wants the display needs it.
    fn is_connected(&self, user: &UserId, app: &PackageName) -> bool;
}

/// A run of an app that may outlive this process: apps reconnect after a server restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// The session id that the app sends when it connects.
    pub session: AppSessionId,
    /// The user.
    pub user: UserId,
    /// The app.
    pub package: PackageName,
    /// Whether the user opened it; otherwise a call woke it.
    pub by_user: bool,
}

/// Stores the app sessions that were started and have not ended.
#[async_trait]
pub trait AppRunStore: Send + Sync {
    /// Adds or replaces a run.
    async fn save_run(&self, run: &StoredRun) -> Result<(), StoreError>;
    /// Removes a run.
    async fn remove_run(&self, session: &AppSessionId) -> Result<(), StoreError>;
    /// All runs, to restore them after a start.
    async fn list_runs(&self) -> Result<Vec<StoredRun>, StoreError>;
}
