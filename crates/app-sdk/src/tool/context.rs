//! The context of a call, as its handler sees it.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::{CallId, UserId, call::CallProgress, trace::TraceParent};

use crate::{
    limits::PROGRESS_QUEUE,
    session::{Session, SessionTable},
};

/// One call, as its handler sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    facts: Arc<CallFacts>,
    sessions: Arc<SessionTable>,
    progress: Option<mpsc::Sender<CallProgress>>,
    cancel: CancellationToken,
}

/// The facts of the request.
#[derive(Debug)]
pub(crate) struct CallFacts {
    pub(crate) user: UserId,
    pub(crate) call: Option<CallId>,
    pub(crate) timestamp: String,
    pub(crate) activated_for_tool: bool,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) traceparent: Option<TraceParent>,
}

/// The channel for progress from the handler to the connection.
pub(crate) fn progress_channel() -> (mpsc::Sender<CallProgress>, mpsc::Receiver<CallProgress>) {
    mpsc::channel(PROGRESS_QUEUE)
}

impl ToolContext {
    pub(crate) fn new(
        facts: CallFacts,
        sessions: Arc<SessionTable>,
        progress: Option<mpsc::Sender<CallProgress>>,
        cancel: CancellationToken,
    ) -> Self {
        Self { facts: Arc::new(facts), sessions, progress, cancel }
    }

    /// The user.
    pub fn user(&self) -> &UserId {
        &self.facts.user
    }

    /// The call's id on the platform. Older platforms send none.
    pub fn call_id(&self) -> Option<&CallId> {
        self.facts.call.as_ref()
    }

    /// The same for every retry of one call. Record what you did under it to never do it twice.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.facts.idempotency_key.as_deref()
    }

    /// When the call was made, as the platform sent it: ISO 8601 in UTC.
    pub fn timestamp(&self) -> &str {
        &self.facts.timestamp
    }

    /// Whether the app was started for this call.
    pub fn activated_for_tool(&self) -> bool {
        self.facts.activated_for_tool
    }

    /// The trace context of the call, to propagate.
    pub fn traceparent(&self) -> Option<&TraceParent> {
        self.facts.traceparent.as_ref()
    }

    /// The user's session, if the user has the app open and connected now.
    pub fn session(&self) -> Option<Session> {
        self.sessions.find_connected(self.user())
    }

    /// The session of any user, if that user has the app open and connected now.
    pub fn session_for(&self, user: &UserId) -> Option<Session> {
        self.sessions.find_connected(user)
    }

    /// Reports progress to the caller: 0 is the beginning, 1 the end. Never waits: if the caller does not accept progress or reads
    /// too slowly, the report is dropped.
    pub fn progress(&self, fraction: f64, message: impl Into<String>) {
        if let (Some(sender), true) = (&self.progress, fraction.is_finite()) {
            let report = CallProgress {
                progress: fraction.clamp(0.0, 1.0),
                total: Some(1.0),
                message: Some(message.into()),
            };
            // Full or closed: the report is dropped.
            let _ = sender.try_send(report);
        }
    }

    /// Waits until the call is cancelled because the caller disconnected. The handler then has a grace period
    /// ([`AppLimits::cancel_grace`](crate::AppLimits::cancel_grace)) to clean up; after that its future is dropped.
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// Whether the call is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The token behind [`cancelled`](Self::cancelled), for work that runs elsewhere.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(progress: Option<mpsc::Sender<CallProgress>>) -> ToolContext {
        let facts = CallFacts {
            user: "ada@example.com".parse().unwrap(),
            call: None,
            timestamp: String::new(),
            activated_for_tool: false,
            idempotency_key: None,
            traceparent: None,
        };
        ToolContext::new(facts, Arc::default(), progress, CancellationToken::new())
    }

    #[test]
    fn progress_without_a_reader_is_dropped() {
        context(None).progress(0.5, "half way");
        let (sender, mut receiver) = progress_channel();
        let cx = context(Some(sender));
        for step in 0..=PROGRESS_QUEUE {
            cx.progress(step as f64 / 100.0, "on");
        }
        assert_eq!(receiver.len(), PROGRESS_QUEUE);
        assert_eq!(receiver.try_recv().unwrap().progress, 0.0);
    }

    #[test]
    fn progress_stays_between_0_and_1() {
        let (sender, mut receiver) = progress_channel();
        let cx = context(Some(sender));
        for odd in [f64::NAN, f64::INFINITY, -3.0, 7.0] {
            cx.progress(odd, "");
        }
        let seen: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).map(|p| p.progress).collect();
        assert_eq!(seen, [0.0, 1.0]);
    }
}
