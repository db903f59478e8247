//! What happens to approvals, for parts that tell someone about it: the webhook and web push.
//!
//! Notifications never delay a call: events wait in a bounded queue. What is sent is read when it is sent, so the queue
//! holds ids only.

use tokio::sync::{broadcast::error::RecvError, mpsc};
use toolyard_core::ports::{ApprovalRecord, Change};
use toolyard_protocol::{ApprovalId, approval::ApprovalState};

use crate::state::ServerState;

/// Events that wait. More are dropped, and logged.
const MAX_QUEUED: usize = 1_000;

/// What happened to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalEvent {
    /// A call waits for the user.
    Requested,
    /// It was answered, it expired, or its caller withdrew it.
    Answered,
}

impl ApprovalEvent {
    /// The type of the notification. A question that nobody answered ends as well.
    pub(crate) fn wire_name(self, state: ApprovalState) -> &'static str {
        match (self, state) {
            (Self::Requested, _) => "approval.requested",
            (Self::Answered, ApprovalState::Expired) => "approval.expired",
            (Self::Answered, _) => "approval.answered",
        }
    }
}

/// The events from now on, until the server stops. `receiver` is who misses what is dropped, for the log.
pub(crate) fn follow_approvals(
    state: &ServerState,
    receiver: &'static str,
) -> mpsc::Receiver<(ApprovalEvent, ApprovalId)> {
    let (queue, queued) = mpsc::channel(MAX_QUEUED);
    let mut changes = state.change_feed.follow();
    let (lifecycle, state) = (state.lifecycle.clone(), state.clone());
    let stopping = lifecycle.stopping.clone();
    lifecycle.spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = stopping.cancelled() => return,
            };
            let (event, user, id) = match change {
                Ok(Change::ApprovalRequested { user, id }) => (ApprovalEvent::Requested, user, id),
                Ok(Change::ApprovalAnswered { user, id }) => (ApprovalEvent::Answered, user, id),
                Ok(_) => continue,
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, receiver, "changes missed by approval notifications");
                    continue;
                }
                Err(RecvError::Closed) => return,
            };
            if !state.acts_for(&user).await {
                continue;
            }
            if let Err(error) = queue.try_send((event, id)) {
                tracing::warn!(%error, receiver, "approval notification dropped");
            }
        }
    });
    queued
}

/// The approval of an event, as it is now.
pub(crate) async fn read_approval(state: &ServerState, id: &ApprovalId) -> Option<ApprovalRecord> {
    match state.stores.approvals.find_approval(id).await {
        Ok(record) => record,
        Err(error) => {
            tracing::error!(%error, approval = %id, "approval not read");
            None
        }
    }
}
