//! Ports for live sessions.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::Instant;
use toolyard_protocol::{AppSessionId, PackageName, UserId, call::AppActivation, device::Capabilities};

use super::{AppRecord, StoreError};
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

/// Why there is no app to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopError {
    /// The user has no session.
    NoSession,
    /// The app does not run.
    NotRunning,
}

/// Changes live sessions. Only the verbs of the platform use it; they have checked who acts.
#[async_trait]
pub trait SessionControl: Send + Sync {
    /// Opens the user's session, or keeps it alive. False if there are too many.
    fn keep_alive(&self, user: &UserId) -> bool;

    /// Whether the user has a session.
    fn is_live(&self, user: &UserId) -> bool;

    /// Takes the last press of the button of the user's device, if it was not before `since`. A press is taken once.
    fn take_button_press(&self, user: &UserId, since: Timestamp) -> bool;

    /// Ends the user's session and stops its apps. False if there is none.
    async fn end_session(&self, user: &UserId) -> bool;

    /// Starts an app for the user, or brings an app to the front that a call woke.
    async fn open_app(&self, user: &UserId, app: AppRecord) -> Result<AppActivation, ToolError>;

    /// Stops an app that the user no longer wants to run.
    async fn close_app(&self, user: &UserId, package: &PackageName) -> Result<(), StopError>;
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
    /// The runs of a user, to restore them on another node.
    async fn list_runs_of(&self, user: &UserId) -> Result<Vec<StoredRun>, StoreError>;
}
