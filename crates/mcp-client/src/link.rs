//! A server that was agreed with: requests within their bounds, and a new session where the old one is lost.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::StatusCode;
use serde_json::value::RawValue;
use tokio::{
    sync::{RwLock, Semaphore, watch},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    agree::handshake,
    answer::Answer,
    error::ClientError,
    events::{CloseReason, ServerEvent},
    http::{Http, Session},
    limits::{BackOff, Limits},
    request::RequestOptions,
    server::Server,
    tools::KnownTools,
    watch::Watch,
    wire::Wire,
};

/// Everything that clones of a client and its tasks share.
pub(crate) struct Link {
    wire: Wire,
    server: std::sync::RwLock<Arc<Server>>,
    limits: Limits,
    permits: Semaphore,
    /// Written while a lost session is replaced; new requests wait for that.
    reopening: RwLock<()>,
    /// Counts sessions.
    sessions: watch::Sender<u64>,
    watch: watch::Sender<Watch>,
    /// A list was read, so a gap afterwards matters.
    listed: AtomicBool,
    pub(crate) tools: KnownTools,
}

impl Link {
    pub(crate) fn new(wire: Wire, server: Server, limits: Limits, watch: Watch) -> Arc<Self> {
        Arc::new(Self {
            wire,
            server: std::sync::RwLock::new(Arc::new(server)),
            permits: Semaphore::new(limits.in_flight.clamp(1, Semaphore::MAX_PERMITS)),
            limits,
            reopening: RwLock::new(()),
            sessions: watch::Sender::new(0),
            watch: watch::Sender::new(watch),
            listed: AtomicBool::new(false),
            tools: KnownTools::default(),
        })
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn back_off(&self) -> BackOff {
        BackOff::new(self.limits.back_off)
    }

    pub(crate) fn server(&self) -> Arc<Server> {
        self.server.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn watched(&self) -> watch::Receiver<Watch> {
        self.watch.subscribe()
    }

    pub(crate) fn watch(&self, watch: Watch) {
        self.watch.send_if_modified(|now| {
            let differs = *now != watch;
            *now = watch;
            differs
        });
    }

    pub(crate) fn sessions(&self) -> watch::Receiver<u64> {
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
    ) -> Result<Answer, ClientError> {
        let started = Instant::now();
        let deadline = options.deadline.unwrap_or(started + self.limits.request);
        let hub = self.wire.hub();
        tokio::select! {
            biased;
            done = timeout_at(deadline, self.attempt(method, params, options)) => {
                done.unwrap_or_else(|_| Err(ClientError::Timeout(rounded(deadline - started))))
            }
            () = hub.tasks.stop().cancelled() => Err(ClientError::Closed(hub.reason())),
        }
    }

    /// Makes the request; once more in a new session where the server does not know the old one.
    async fn attempt(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<Answer, ClientError> {
        let closed = |_| ClientError::Closed(CloseReason::Asked);
        let _permit = self.permits.acquire().await.map_err(closed)?;
        drop(self.reopening.read().await);
        let session = self.wire.http().map(Http::session).unwrap_or_default();
        match self.once(method, params, options.clone()).await {
            Err(ClientError::Status { status: StatusCode::NOT_FOUND, .. }) if session.id.is_some() => {
                self.reopen(&session).await?;
                self.once(method, params, options).await
            }
            other => other,
        }
    }

    async fn once(
        &self,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<Answer, ClientError> {
        let revision = self.server().revision;
        let call = self.wire.make(Some(revision), method, params, options)?;
        let raw = self.wire.exchange(call).await?;
        Answer::read(revision, method, raw)
    }

    /// Replaces a session that is lost. Of many that lost the same one, one makes the new.
    pub(crate) async fn reopen(&self, lost: &Session) -> Result<(), ClientError> {
        let Some(http) = self.wire.http() else { return Ok(()) };
        let _one = self.reopening.write().await;
        if http.session() != *lost {
            return Ok(());
        }
        // Others wait for it, and the standing stream brings no deadline.
        let limit = self.limits.request;
        let opening = timeout(limit, handshake(&self.wire, self.server().revision));
        let server = opening.await.unwrap_or(Err(ClientError::Timeout(limit)))?;
        tracing::debug!("the session was lost and is replaced");
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(server);
        self.sessions.send_modify(|count| *count += 1);
        for event in [ServerEvent::ToolsChanged, ServerEvent::PromptsChanged, ServerEvent::ResourcesChanged] {
            self.wire.hub().tell(event);
        }
        Ok(())
    }
}

/// As it was meant: a deadline is always a moment shorter than what it was made from.
fn rounded(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
}
