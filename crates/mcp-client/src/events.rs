//! Events that a server sends without a request: something changed, or the connection closed.

use std::{fmt, sync::Arc};

use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

use crate::hub::ConnectionHub;

/// An event that no request asked for. A change may be reported although nothing changed: after a gap in the connection
/// the client cannot know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// `tools/list` may return another result.
    ToolsChanged,
    /// `prompts/list` may return another result.
    PromptsChanged,
    /// `resources/list` and `resources/templates/list` may return another result.
    ResourcesChanged,
    /// The resource with this URI may have changed.
    ResourceUpdated(String),
    /// The receiver was too slow and events were lost: assume that everything changed.
    Missed,
    /// The connection is closed. This is the last event.
    Closed(CloseReason),
}

/// Why a connection was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseReason {
    /// The client was closed or dropped.
    Requested,
    /// The connection was lost; the text says how.
    Lost(String),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("closed by this client"),
            Self::Lost(how) => f.write_str(how),
        }
    }
}

/// Receives the events of one server.
pub struct ServerEvents {
    hub: Arc<ConnectionHub>,
    events: broadcast::Receiver<ServerEvent>,
    over: bool,
}

impl ServerEvents {
    pub(crate) fn new(hub: Arc<ConnectionHub>, events: broadcast::Receiver<ServerEvent>) -> Self {
        Self { hub, events, over: false }
    }

    /// The next event; `None` after [`ServerEvent::Closed`].
    pub async fn next(&mut self) -> Option<ServerEvent> {
        if self.over {
            return None;
        }
        tokio::select! {
            biased;
            event = self.events.recv() => match event {
                Ok(event) => Some(event),
                Err(RecvError::Lagged(_)) => Some(ServerEvent::Missed),
                Err(RecvError::Closed) => self.closed_event(),
            },
            () = self.hub.tasks.stop_token().cancelled() => match self.events.try_recv() {
                Ok(event) => Some(event),
                Err(TryRecvError::Lagged(_)) => Some(ServerEvent::Missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => self.closed_event(),
            },
        }
    }

    fn closed_event(&mut self) -> Option<ServerEvent> {
        self.over = true;
        Some(ServerEvent::Closed(self.hub.close_reason()))
    }
}

impl fmt::Debug for ServerEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEvents").field("over", &self.over).finish_non_exhaustive()
    }
}
