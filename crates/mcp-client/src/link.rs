//! A negotiated server: requests with deadlines and limits, and a new session when the old one is lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use tokio::{
    sync::{RwLock, Semaphore, watch},
    time::{Instant, timeout, timeout_at},
};
use toolyard_protocol::mcp::method;

use crate::{
    error::McpClientError,
    events::{CloseReason, ServerEvent},
    http::{HttpConnection, HttpSession},
    limits::{BackOff, ClientLimits},
    negotiate::perform_handshake,
    reply::UpstreamReply,
    request::RequestOptions,
    server::ServerDescription,
    session::{ExchangeError, RefusedBy, ReopenSchedule, SessionDoubt},
    tools::KnownTools,
    watch::ChangeFilter,
    wire::McpConnection,
};

/// State that the clones of a client and its tasks share.
pub(crate) struct ServerLink {
    wire: McpConnection,
    server: parking_lot::RwLock<Arc<ServerDescription>>,
    limits: ClientLimits,
    permits: Semaphore,
    /// Written while a lost session is replaced; new requests wait for that.
    reopening: RwLock<()>,
    /// How often that happened recently.
    reopened: Mutex<ReopenSchedule>,
    /// Counts the sessions.
    sessions: watch::Sender<u64>,
    watch: watch::Sender<ChangeFilter>,
    /// A list was read, so a later gap in the connection matters.
    listed: AtomicBool,
    /// The log level requested on this connection.
    pub(crate) level: tokio::sync::Mutex<Option<usize>>,
    pub(crate) tools: KnownTools,
}

impl ServerLink {
    pub(crate) fn new(
        wire: McpConnection,
        server: ServerDescription,
        limits: ClientLimits,
        watch: ChangeFilter,
    ) -> Arc<Self> {
        let reopened = Mutex::new(ReopenSchedule::new(BackOff::new(limits.back_off)));
        Arc::new(Self {
            wire,
            server: parking_lot::RwLock::new(Arc::new(server)),
            permits: Semaphore::new(limits.in_flight.clamp(1, Semaphore::MAX_PERMITS)),
            limits,
            reopening: RwLock::new(()),
            reopened,
            sessions: watch::Sender::new(0),
            watch: watch::Sender::new(watch),
            listed: AtomicBool::new(false),
            level: tokio::sync::Mutex::default(),
            tools: KnownTools::default(),
        })
    }

    pub(crate) fn wire(&self) -> &McpConnection {
        &self.wire
    }

    pub(crate) fn limits(&self) -> &ClientLimits {
        &self.limits
    }

    pub(crate) fn back_off(&self) -> BackOff {
        BackOff::new(self.limits.back_off)
    }

    pub(crate) fn server(&self) -> Arc<ServerDescription> {
        self.server.read().clone()
    }

    pub(crate) fn change_filter(&self) -> watch::Receiver<ChangeFilter> {
        self.watch.subscribe()
    }

    pub(crate) fn set_change_filter(&self, watch: ChangeFilter) {
        self.watch.send_if_modified(|now| {
            let differs = *now != watch;
            *now = watch;
            differs
        });
    }

    pub(crate) fn session_counter(&self) -> watch::Receiver<u64> {
        self.sessions.subscribe()
    }

    pub(crate) fn set_listed(&self) {
        self.listed.store(true, Ordering::Release);
    }

    pub(crate) fn was_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// Sends one request within its deadline.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<UpstreamReply, McpClientError> {
        let started = Instant::now();
        let deadline = options.deadline.unwrap_or(started + self.limits.request);
        let (hub, begun) = (self.wire.hub(), AtomicBool::new(false));
        let ended = tokio::select! {
            biased;
            done = timeout_at(deadline, self.request_with_reopen(method, params, options, &begun)) => {
                done.unwrap_or_else(|_| Err(McpClientError::Timeout(round_up_to_millis(deadline - started))))
            }
            () = hub.tasks.stop_token().cancelled() => Err(McpClientError::Closed(hub.close_reason())),
        };
        match ended {
            // It was still waiting for its turn.
            Err(error @ (McpClientError::Timeout(_) | McpClientError::Closed(_)))
                if !begun.load(Ordering::Acquire) =>
            {
                Err(McpClientError::NotSent(error.to_string()))
            }
            ended => ended,
        }
    }

    /// Sends the request, and retries once in a new session if the server does not know the old one.
    async fn request_with_reopen(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
        begun: &AtomicBool,
    ) -> Result<UpstreamReply, McpClientError> {
        let closed = |_| McpClientError::Closed(CloseReason::Requested);
        let _permit = self.permits.acquire().await.map_err(closed)?;
        drop(self.reopening.read().await);
        let session = self.session();
        begun.store(true, Ordering::Release);
        let failed = match self.request_once(method, params, options.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        if !self.is_lost(&session, failed.doubt).await {
            return Err(failed.error);
        }
        self.reopen_session(&session).await?;
        // A tool may have run before the server failed. Every other request can be sent twice.
        let may_have_run = failed.doubt == SessionDoubt::Suspected(RefusedBy::ServerError);
        if may_have_run && method == method::TOOLS_CALL {
            return Err(failed.error);
        }
        self.request_once(method, params, options).await.map_err(|failed| failed.error)
    }

    /// The current session; the default over a pipe and in the modern era.
    pub(crate) fn session(&self) -> HttpSession {
        self.wire.http().map(HttpConnection::session).unwrap_or_default()
    }

    async fn request_once(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<UpstreamReply, ExchangeError> {
        let revision = self.server().revision;
        let call = self.wire.prepare_request(Some(revision), method, params, options)?;
        let answer = self.wire.exchange(call).await;
        if answer.as_ref().map_or_else(is_rpc_answer, |_| true) {
            self.reopen_schedule().record_success();
        }
        Ok(UpstreamReply::from_result(revision, method, answer?)?)
    }

    /// Whether the server no longer knows a session. A suspicion is checked with a request that has no effect and that
    /// servers refuse outside of a session, unlike a ping.
    pub(crate) async fn is_lost(&self, session: &HttpSession, doubt: SessionDoubt) -> bool {
        let by = match doubt {
            SessionDoubt::None => return false,
            SessionDoubt::Lost => return true,
            SessionDoubt::Suspected(by) => by,
        };
        if self.session() != *session {
            // Another request already found out. A refusal by message may have come from the tool itself.
            return by == RefusedBy::Status;
        }
        match self.request_once(method::TOOLS_LIST, None, RequestOptions::default()).await {
            Ok(_) => false,
            Err(failed) => failed.doubt != SessionDoubt::None,
        }
    }

    fn reopen_schedule(&self) -> MutexGuard<'_, ReopenSchedule> {
        self.reopened.lock()
    }

    /// Replaces a lost session. Of all requests that lost the same one, only one opens the new one. Without a session
    /// to replace, the connection closes: its owner creates another and negotiates again.
    pub(crate) async fn reopen_session(&self, lost: &HttpSession) -> Result<(), McpClientError> {
        let http = match self.wire.http() {
            Some(http) if !self.server().revision.is_modern() => http,
            _ => return Err(self.give_up("it was restarted, or uses another revision now")),
        };
        let _one = self.reopening.write().await;
        if http.session() != *lost {
            return Ok(());
        }
        if let Some(wait) = self.reopen_schedule().wait_time() {
            let seconds = wait.as_secs() + 1;
            return Err(McpClientError::SessionLost(format!(
                "no new session is opened for another {seconds} s"
            )));
        }
        self.reopen_schedule().record_attempt();
        // Others wait for this, and the standing stream has no deadline.
        let limit = self.limits.request;
        let opening = timeout(limit, perform_handshake(&self.wire, self.server().revision));
        let server = match opening.await.unwrap_or(Err(McpClientError::Timeout(limit))) {
            Ok(server) => server,
            Err(error @ (McpClientError::AuthorizationNeeded { .. } | McpClientError::Credentials(_))) => {
                return Err(error);
            }
            // It responds but refuses the handshake: it may be in the other era now.
            Err(error) if is_refusal(&error) => return Err(self.give_up(&error.to_string())),
            Err(error) => return Err(McpClientError::SessionLost(error.to_string())),
        };
        tracing::debug!("lost session replaced");
        *self.server.write() = Arc::new(server);
        self.sessions.send_modify(|count| *count += 1);
        for event in [ServerEvent::ToolsChanged, ServerEvent::PromptsChanged, ServerEvent::ResourcesChanged] {
            self.wire.hub().publish(event);
        }
        Ok(())
    }

    /// Closes the connection after its session is permanently lost.
    fn give_up(&self, why: &str) -> McpClientError {
        let why = format!("the session was lost: {why}");
        self.wire.hub().close(CloseReason::Lost(why.clone()));
        McpClientError::SessionLost(why)
    }
}

/// Whether the server responded with something other than a handshake.
fn is_refusal(error: &McpClientError) -> bool {
    match error {
        McpClientError::Rpc(_) | McpClientError::NoCommonRevision { .. } | McpClientError::Malformed(_) => {
            true
        }
        McpClientError::Status { status, .. } => status.is_client_error(),
        _ => false,
    }
}

/// Whether a failure is still a regular JSON-RPC response, which proves that its session is valid.
fn is_rpc_answer(failed: &ExchangeError) -> bool {
    failed.doubt == SessionDoubt::None && matches!(failed.error, McpClientError::Rpc(_))
}

/// Rounds up: a deadline is always slightly shorter than the duration it was made from.
fn round_up_to_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
}
