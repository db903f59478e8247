//! The life of a session: exchange, get a lost connection back, end.

use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::sleep,
};
use toolyard_protocol::session::{FromApp, app_messages::ConnectionAck};

use super::{
    Connection, EndReason, Session,
    connect::{ConnectError, Link, Socket},
    exchange::{Left, exchange},
};
use crate::server::AppServer;

/// What a living session holds.
pub(super) struct Life {
    pub(super) session: Session,
    pub(super) link: Link,
    pub(super) socket: Socket,
    pub(super) outbox: mpsc::Receiver<FromApp>,
    pub(super) room: OwnedSemaphorePermit,
}

impl Life {
    /// Runs until the session is over, and tells the app.
    pub(super) async fn live(mut self, app: AppServer) {
        let reason = self.run().await;
        let Self { session, socket, room, .. } = self;
        drop((socket, room));
        app.sessions().remove(&session);
        session.close();
        tracing::info!(session = %session.id(), "session ended: {reason}");
        app.stopped(session, reason).await;
    }

    async fn run(&mut self) -> EndReason {
        loop {
            match exchange(&self.session, &mut self.socket, &mut self.outbox).await {
                Left::Ended(reason) => return reason,
                Left::Lost => {}
            }
            self.session.0.connection.send_replace(Connection::Lost);
            tracing::warn!(session = %self.session.id(), "connection lost");
            match self.reconnect().await {
                Ok((socket, ack)) => {
                    self.socket = socket;
                    self.session.connected(ack);
                    tracing::info!(session = %self.session.id(), "connected again");
                }
                Err(reason) => return reason,
            }
        }
    }

    /// Tries again, with growing pauses, in the same session.
    async fn reconnect(&self) -> Result<(Socket, ConnectionAck), EndReason> {
        for pause in &self.session.0.limits.reconnect_after {
            let connecting = async {
                sleep(*pause).await;
                self.link.connect().await
            };
            let connected = tokio::select! {
                reason = self.session.0.ending.asked() => return Err(reason),
                connected = connecting => connected,
            };
            match connected {
                Ok(connected) => return Ok(connected),
                Err(ConnectError::Refused(message)) => return Err(EndReason::Refused(message)),
                Err(error) => tracing::warn!(session = %self.session.id(), %error, "not connected again yet"),
            }
        }
        Err(EndReason::ConnectionLost)
    }
}
