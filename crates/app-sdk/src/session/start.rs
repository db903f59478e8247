//! From a `session_request` to a running session.

use std::sync::Arc;

use tokio::time::timeout;
use toolyard_protocol::session::{Sender, webhook::SessionRequest};

use super::{
    EndReason, Session,
    connect::{ConnectError, Link},
    life::Life,
    platform::NotDialed,
};
use crate::{limits::REPLACE_WAIT, server::AppServer};

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    NotDialed(#[from] NotDialed),
    #[error("this app has no API key, so it cannot connect; configure the key from its registration")]
    NoKey,
    #[error("this app has all the sessions that it can hold")]
    Full,
    #[error("this app is stopping")]
    Stopping,
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// Connects and lets the session live. Returns once the platform has acknowledged the connection; the app's own hook runs
/// on.
pub(crate) async fn start(app: &AppServer, request: SessionRequest) -> Result<(), StartError> {
    let shared = app.shared();
    if shared.stopping.is_cancelled() {
        return Err(StartError::Stopping);
    }
    let target = shared.platform.target(request.url().unwrap_or_default())?;
    let api_key = shared.api_key.clone().ok_or(StartError::NoKey)?;
    if let Some(old) = app.sessions().find(&request.user_id) {
        old.end(EndReason::Replaced);
        // A stuck one does not hold up the new one.
        let _ = timeout(REPLACE_WAIT, old.ended()).await;
    }
    let room = Arc::clone(&shared.session_room).try_acquire_owned().map_err(|_| StartError::Full)?;

    let sender = Sender { package_name: shared.package.clone(), session_id: request.session_id };
    let link = Link {
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
    session.connected(ack);
    // Two requests at once have both connected: the later one stays.
    if let Some(old) = app.sessions().insert(session.clone()) {
        old.end(EndReason::Replaced);
    }
    // A stop that has counted the sessions before this one came must not miss it.
    if shared.stopping.is_cancelled() {
        session.end(EndReason::AppStopped);
    }
    tracing::info!(session = %session.id(), "session started");
    let life = Life { session: session.clone(), link, socket, outbox, room };
    shared.tasks.spawn(life.live(app.clone()));
    app.started(session);
    Ok(())
}
