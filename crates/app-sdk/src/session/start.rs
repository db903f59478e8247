//! Starts a session for a `session_request`.

use std::sync::Arc;

use tokio::time::timeout;
use toolyard_protocol::session::{AppSender, webhook::SessionRequest};

use super::{
    EndReason, Session,
    connect::{SocketConnectError, SocketConnector},
    platform::DialRefused,
    session_task::SessionTask,
};
use crate::{limits::REPLACE_WAIT, server::AppServer};

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionStartError {
    #[error(transparent)]
    NotDialed(#[from] DialRefused),
    #[error("this app has no API key, so it cannot connect; configure the key from its registration")]
    NoKey,
    #[error("this app has reached its limit of sessions")]
    Full,
    #[error("this app is stopping")]
    Stopping,
    #[error(transparent)]
    Connect(#[from] SocketConnectError),
}

/// Connects and starts the session. Returns when the platform has acknowledged the connection; the app's `on_session` hook
/// continues in the background.
pub(crate) async fn start_session(app: &AppServer, request: SessionRequest) -> Result<(), SessionStartError> {
    let shared = app.shared();
    if shared.stopping.is_cancelled() {
        return Err(SessionStartError::Stopping);
    }
    let target = shared.platform.check_target(request.url().unwrap_or_default())?;
    let api_key = shared.api_key.clone().ok_or(SessionStartError::NoKey)?;
    if let Some(old) = app.sessions().find(&request.user_id) {
        old.request_end(EndReason::Replaced);
        // A stuck session must not delay the new one.
        let _ = timeout(REPLACE_WAIT, old.ended()).await;
    }
    let room = Arc::clone(&shared.session_room).try_acquire_owned().map_err(|_| SessionStartError::Full)?;

    let sender = AppSender { package_name: shared.package.clone(), session_id: request.session_id };
    let connector = SocketConnector {
        dialer: shared.dialer.clone(),
        target,
        sender: sender.clone(),
        api_key,
        clock: Arc::clone(&shared.clock),
        wait: shared.limits.connect_wait,
    };
    let (socket, ack) = connector.connect().await?;

    let platform = connector.target.http.clone();
    let clock = Arc::clone(&shared.clock);
    let (session, outbox) = Session::new(sender, request.user_id, platform, clock, shared.limits.clone());
    session.mark_connected(ack);
    // If two requests connected at the same time, the later one stays.
    if let Some(old) = app.sessions().insert(session.clone()) {
        old.request_end(EndReason::Replaced);
    }
    // A shutdown may have ended all sessions just before this one was added.
    if shared.stopping.is_cancelled() {
        session.request_end(EndReason::AppStopped);
    }
    tracing::info!(session = %session.id(), "session started");
    let task = SessionTask { session: session.clone(), connector, socket, outbox, room };
    shared.tasks.spawn(task.run_to_end(app.clone()));
    app.spawn_on_session(session);
    Ok(())
}
