//! State of the connection that belongs to no single request: events, the handler for server requests, closing.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, broadcast, mpsc};
use toolyard_protocol::mcp::method;

use crate::{
    events::{CloseReason, ServerEvent, ServerEvents},
    limits::{MAX_EVENTS_BEHIND, MAX_OPEN_SERVER_REQUESTS},
    server_request::{DeclaredCapabilities, ServerRequest},
    tasks::ClientTasks,
};

/// Shared by everything that reads from one server.
pub(crate) struct ConnectionHub {
    pub(crate) tasks: ClientTasks,
    pub(crate) asks: Option<mpsc::Sender<ServerRequest>>,
    pub(crate) declared: DeclaredCapabilities,
    /// Limits the responses that are sent without asking a handler.
    pub(crate) answering: Arc<Semaphore>,
    logs: Option<mpsc::Sender<Box<RawValue>>>,
    events: broadcast::Sender<ServerEvent>,
    reason: OnceLock<CloseReason>,
    /// A handshake was made, so the server may request what was declared in it.
    may_ask: AtomicBool,
}

impl ConnectionHub {
    pub(crate) fn new(
        tasks: ClientTasks,
        asks: Option<mpsc::Sender<ServerRequest>>,
        declared: DeclaredCapabilities,
        logs: Option<mpsc::Sender<Box<RawValue>>>,
    ) -> Arc<Self> {
        let (events, _) = broadcast::channel(MAX_EVENTS_BEHIND);
        let (reason, may_ask) = (OnceLock::new(), AtomicBool::new(false));
        let answering = Arc::new(Semaphore::new(MAX_OPEN_SERVER_REQUESTS));
        Arc::new(Self { tasks, asks, declared, answering, logs, events, reason, may_ask })
    }

    /// Closes the connection; the first reason wins.
    pub(crate) fn close(&self, reason: CloseReason) {
        let _ = self.reason.set(reason);
        self.tasks.stop_token().cancel();
    }

    /// Why the connection was closed; `Requested` if no reason was recorded.
    pub(crate) fn close_reason(&self) -> CloseReason {
        self.reason.get().cloned().unwrap_or(CloseReason::Requested)
    }

    pub(crate) fn allow_server_requests(&self) {
        self.may_ask.store(true, Ordering::Release);
    }

    pub(crate) fn allows_server_requests(&self) -> bool {
        self.may_ask.load(Ordering::Acquire)
    }

    /// Whether a handler exists for server requests that belong to no request of ours.
    pub(crate) fn answers_server_requests(&self) -> bool {
        self.asks.is_some() && self.declared.has_any()
    }

    pub(crate) fn subscribe(self: &Arc<Self>) -> ServerEvents {
        ServerEvents::new(self.clone(), self.events.subscribe())
    }

    pub(crate) fn publish(&self, event: ServerEvent) {
        // Without a receiver there is nothing to do.
        let _ = self.events.send(event);
    }

    /// A log message that belongs to no request.
    pub(crate) fn forward_log(&self, params: &RawValue) {
        let lost = self.logs.as_ref().is_some_and(|logs| logs.try_send(params.to_owned()).is_err());
        if lost {
            tracing::debug!("server log message dropped: receiver too slow");
        }
    }

    /// Handles a notification that belongs to no request. Unknown ones are ignored.
    pub(crate) fn dispatch_notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            method::TOOLS_CHANGED => self.publish(ServerEvent::ToolsChanged),
            method::PROMPTS_CHANGED => self.publish(ServerEvent::PromptsChanged),
            method::RESOURCES_CHANGED => self.publish(ServerEvent::ResourcesChanged),
            method::RESOURCE_UPDATED => match params.and_then(updated_uri) {
                Some(uri) => self.publish(ServerEvent::ResourceUpdated(uri)),
                None => tracing::debug!("resource update without a URI"),
            },
            method::MESSAGE => {
                if let Some(params) = params {
                    self.forward_log(params);
                }
            }
            other => tracing::trace!(method = other, "notification ignored"),
        }
    }
}

fn updated_uri(params: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Updated {
        uri: String,
    }
    serde_json::from_str::<Updated>(params.get()).ok().map(|updated| updated.uri)
}
