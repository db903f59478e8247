//! From a `session_request` to a running session.

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
    #[error("this app has all the sessions that it can hold")]
    Full,
    #[error("this app is stopping")]
    Stopping,
    #[error(transparent)]
    Connect(#[from] SocketConnectError),
}

/// Connects and lets the session live. Returns once the platform has acknowledged the connection; the app's own hook runs
/// on.
pub(crate) async fn start_session(app: &AppServer, request: SessionRequest) -> Result<(), SessionStartError> {
    let shared = app.shared();
    if shared.stopping.is_cancelled() {
        return Err(SessionStartError::Stopping);
    }
    let target = shared.platform.check_target(request.url().unwrap_or_default())?;
    let api_key = shared.api_key.clone().ok_or(SessionStartError::NoKey)?;
    if let Some(old) = app.sessions().find(&request.user_id) {
        old.request_end(EndReason::Replaced);
        // A stuck one does not hold up the new one.
        let _ = timeout(REPLACE_WAIT, old.ended()).await;
    }
    let room = Arc::clone(&shared.session_room).try_acquire_owned().map_err(|_| SessionStartError::Full)?;

    let sender = AppSender { package_name: shared.package.clone(), session_id: request.session_id };
    let link = SocketConnector {
        dialer: shared.dialer.clone(),
        target,
        sender: sender.clone(),
        api_key,
        clock: Arc::clone(&shared.clock),
        wait: shared.limits.connect_wait,
    };
    let (socket, ack) = link.connect().await?;

    let platform = link.target.http.clone();
    let clock = Arc::clone(&shared.clock);
    let (session, outbox) = Session::new(sender, request.user_id, platform, clock, shared.limits.clone());
    session.mark_connected(ack);
    // Two requests at once have both connected: the later one stays.
    if let Some(old) = app.sessions().insert(session.clone()) {
        old.request_end(EndReason::Replaced);
    }
    // A stop that has counted the sessions before this one came must not miss it.
    if shared.stopping.is_cancelled() {
        session.request_end(EndReason::AppStopped);
    }
    tracing::info!(session = %session.id(), "session started");
    let life = SessionTask { session: session.clone(), connector: link, socket, outbox, room };
    shared.tasks.spawn(life.run_to_end(app.clone()));
    app.spawn_on_session(session);
    Ok(())
}
