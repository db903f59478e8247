//! A server that was agreed with: requests within their bounds, and a new session where the old one is lost.

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

/// Everything that clones of a client and its tasks share.
pub(crate) struct ServerLink {
    wire: McpConnection,
    server: parking_lot::RwLock<Arc<ServerDescription>>,
    limits: ClientLimits,
    permits: Semaphore,
    /// Written while a lost session is replaced; new requests wait for that.
    reopening: RwLock<()>,
    /// How often that happened lately.
    reopened: Mutex<ReopenSchedule>,
    /// Counts sessions.
    sessions: watch::Sender<u64>,
    watch: watch::Sender<ChangeFilter>,
    /// A list was read, so a gap afterwards matters.
    listed: AtomicBool,
    /// Which log messages were asked for in this connection.
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

    /// One request within its deadline.
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
            // It waited for its turn all the time.
            Err(error @ (McpClientError::Timeout(_) | McpClientError::Closed(_)))
                if !begun.load(Ordering::Acquire) =>
            {
                Err(McpClientError::NotSent(error.to_string()))
            }
            ended => ended,
        }
    }

    /// Makes the request; once more in a new session where the server does not know the old one.
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
        // Something may have run before the server failed. Everything but a call of a tool can be asked twice.
        let may_have_run = failed.doubt == SessionDoubt::Suspected(RefusedBy::ServerError);
        if may_have_run && method == method::TOOLS_CALL {
            return Err(failed.error);
        }
        self.request_once(method, params, options).await.map_err(|failed| failed.error)
    }

    /// The session in use; none over a pipe and in the modern era.
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

    /// Whether the server does not know a session any more. A suspicion is looked into with a request that does nothing
    /// and that servers refuse outside of a session, as they do not refuse a ping.
    pub(crate) async fn is_lost(&self, session: &HttpSession, doubt: SessionDoubt) -> bool {
        let by = match doubt {
            SessionDoubt::None => return false,
            SessionDoubt::Lost => return true,
            SessionDoubt::Suspected(by) => by,
        };
        if self.session() != *session {
            // Somebody else found out. Who was refused by a message may have been refused by a tool.
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

    /// Replaces a session that is lost. Of many that lost the same one, one makes the new. Where there is no session to
    /// replace, the connection ends: whoever made it makes another, and finds out anew how the server speaks.
    pub(crate) async fn reopen_session(&self, lost: &HttpSession) -> Result<(), McpClientError> {
        let http = match self.wire.http() {
            Some(http) if !self.server().revision.is_modern() => http,
            _ => return Err(self.give_up("it was restarted, or speaks another revision now")),
        };
        let _one = self.reopening.write().await;
        if http.session() != *lost {
            return Ok(());
        }
        if let Some(wait) = self.reopen_schedule().wait_time() {
            let seconds = wait.as_secs() + 1;
            return Err(McpClientError::SessionLost(format!(
                "a new one is opened in {seconds} s at the earliest"
            )));
        }
        self.reopen_schedule().record_attempt();
        // Others wait for it, and the standing stream brings no deadline.
        let limit = self.limits.request;
        let opening = timeout(limit, perform_handshake(&self.wire, self.server().revision));
        let server = match opening.await.unwrap_or(Err(McpClientError::Timeout(limit))) {
            Ok(server) => server,
            Err(error @ (McpClientError::AuthorizationNeeded { .. } | McpClientError::Credentials(_))) => {
                return Err(error);
            }
            // It answers, and makes no handshake: it may speak the other era now.
            Err(error) if is_refusal(&error) => return Err(self.give_up(&error.to_string())),
            Err(error) => return Err(McpClientError::SessionLost(error.to_string())),
        };
        tracing::debug!("the session was lost and is replaced");
        *self.server.write() = Arc::new(server);
        self.sessions.send_modify(|count| *count += 1);
        for event in [ServerEvent::ToolsChanged, ServerEvent::PromptsChanged, ServerEvent::ResourcesChanged] {
            self.wire.hub().publish(event);
        }
        Ok(())
    }

    /// Ends the connection, whose session is lost for good.
    fn give_up(&self, why: &str) -> McpClientError {
        let why = format!("the session was lost: {why}");
        self.wire.hub().close(CloseReason::Lost(why.clone()));
        McpClientError::SessionLost(why)
    }
}

/// Whether the server answered, and what it answered is no handshake.
fn is_refusal(error: &McpClientError) -> bool {
    match error {
        McpClientError::Rpc(_) | McpClientError::NoCommonRevision { .. } | McpClientError::Malformed(_) => {
            true
        }
        McpClientError::Status { status, .. } => status.is_client_error(),
        _ => false,
    }
}

/// Whether a failure is an answer all the same: then the session that it came in is a good one.
fn is_rpc_answer(failed: &ExchangeError) -> bool {
    failed.doubt == SessionDoubt::None && matches!(failed.error, McpClientError::Rpc(_))
}

/// As it was meant: a deadline is always a moment shorter than what it was made from.
fn round_up_to_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
}
