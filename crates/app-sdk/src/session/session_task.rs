//! The task of a session: run the connection, reconnect when it is lost, end.

use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::sleep,
};
use toolyard_protocol::session::{FromApp, app_messages::ConnectionAck};

use super::{
    EndReason, Session, SessionConnection,
    connect::{SessionSocket, SocketConnectError, SocketConnector},
    exchange::{ConnectionEnd, run_connection},
};
use crate::server::AppServer;

/// Everything that a running session owns.
pub(super) struct SessionTask {
    pub(super) session: Session,
    pub(super) connector: SocketConnector,
    pub(super) socket: SessionSocket,
    pub(super) outbox: mpsc::Receiver<FromApp>,
    pub(super) room: OwnedSemaphorePermit,
}

impl SessionTask {
    /// Runs until the session ends, then calls the app's `on_stop` hook.
    pub(super) async fn run_to_end(mut self, app: AppServer) {
        let reason = self.run_connections().await;
        let Self { session, socket, room, .. } = self;
        drop((socket, room));
        app.sessions().remove(&session);
        session.mark_ended();
        tracing::info!(session = %session.id(), %reason, "session ended");
        app.run_on_stop(session, reason).await;
    }

    async fn run_connections(&mut self) -> EndReason {
        loop {
            match run_connection(&self.session, &mut self.socket, &mut self.outbox).await {
                ConnectionEnd::Ended(reason) => return reason,
                ConnectionEnd::Lost => {}
            }
            self.session.0.connection.send_replace(SessionConnection::Lost);
            tracing::warn!(session = %self.session.id(), "session connection lost");
            match self.reconnect().await {
                Ok((socket, ack)) => {
                    self.socket = socket;
                    self.session.mark_connected(ack);
                    tracing::info!(session = %self.session.id(), "session reconnected");
                }
                Err(reason) => return reason,
            }
        }
    }

    /// Reconnects in the same session, with growing delays.
    async fn reconnect(&self) -> Result<(SessionSocket, ConnectionAck), EndReason> {
        for pause in &self.session.0.limits.reconnect_after {
            let connecting = async {
                sleep(*pause).await;
                self.connector.connect().await
            };
            let connected = tokio::select! {
                reason = self.session.0.ending.requested() => return Err(reason),
                connected = connecting => connected,
            };
            match connected {
                Ok(connected) => return Ok(connected),
                Err(SocketConnectError::Refused(message)) => return Err(EndReason::Refused(message)),
                Err(error) => tracing::warn!(session = %self.session.id(), %error, "reconnect failed"),
            }
        }
        Err(EndReason::ConnectionLost)
    }
}
