//! Which approvals browsers are notified of, and how that reads.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use toolyard_core::ports::{ApprovalRecord, StoreError};
use toolyard_protocol::{
    ApprovalId, UserId,
    approval::{ApprovalInfo, ApprovalState},
    push::{PushKind, PushMessage, PushTestReport},
};

use super::{WebPush, send::Delivery};
use crate::{
    approval_events::{ApprovalEvent, follow_approvals, read_approval},
    approvals::approval_info,
    state::ServerState,
};

/// Approvals that are announced at the same time. A slow push service must not delay other users.
const APPROVALS_AT_ONCE: usize = 32;
/// How long a push service keeps a message that says that something was answered, or a test.
const KEEP_NEWS: Duration = Duration::from_secs(10 * 60);

/// Notifies browsers from now on, until the server stops.
pub(crate) fn start_push(state: &ServerState) {
    if state.web_push.is_none() {
        return;
    }
    let queued = follow_approvals(state, "push");
    let (lifecycle, state) = (state.lifecycle.clone(), state.clone());
    let stopping = lifecycle.stopping.clone();
    lifecycle.spawn(async move {
        let events = stream::unfold(queued, |mut queued| async move { Some((queued.recv().await?, queued)) });
        let announced =
            events.for_each_concurrent(APPROVALS_AT_ONCE, |(event, id)| announce(state.clone(), event, id));
        tokio::select! {
            () = announced => {}
            () = stopping.cancelled() => {}
        }
    });
}

async fn announce(state: ServerState, event: ApprovalEvent, id: ApprovalId) {
    let Some(push) = &state.web_push else { return };
    let Some(record) = read_approval(&state, &id).await else { return };
    let info = approval_info(&state, &record).await;
    let now = state.clock.now();
    let message = approval_message(event, &info);
    let delivery = Delivery { keep: keep_time(event, &record, now), topic: Some(id.as_str().to_owned()) };
    let (store, user) = (&*state.stores.push_subscriptions, &record.owner.user);
    if let Err(error) = push.notify_user(store, &*state.ids, now, user, &message, &delivery).await {
        tracing::error!(%error, %user, approval = %id, "browsers to notify not read");
    }
}

impl WebPush {
    /// Sends a test to all browsers of a user.
    pub(crate) async fn send_test(
        &self,
        state: &ServerState,
        user: &UserId,
    ) -> Result<PushTestReport, StoreError> {
        let message = PushMessage {
            kind: PushKind::Test,
            id: None,
            title: "Notifications work".to_owned(),
            body: "You are notified here when a call waits for your approval.".to_owned(),
            url: Some(format!("{}/console/approvals", state.base_url())),
        };
        let delivery = Delivery { keep: KEEP_NEWS, topic: None };
        let store = &*state.stores.push_subscriptions;
        self.notify_user(store, &*state.ids, state.clock.now(), user, &message, &delivery).await
    }
}

/// A question is worth showing as long as it can be answered.
fn keep_time(event: ApprovalEvent, record: &ApprovalRecord, now: Timestamp) -> Duration {
    match event {
        ApprovalEvent::Requested => {
            Duration::try_from(record.expires_at.duration_since(now)).unwrap_or_default()
        }
        ApprovalEvent::Answered => KEEP_NEWS,
    }
}

fn approval_message(event: ApprovalEvent, info: &ApprovalInfo) -> PushMessage {
    // A question that was answered before it was sent no longer asks.
    let asks = event == ApprovalEvent::Requested && info.state == ApprovalState::Pending;
    PushMessage {
        kind: if asks { PushKind::ApprovalRequested } else { PushKind::ApprovalAnswered },
        id: Some(info.id.as_str().to_owned()),
        title: info.summary.title.clone(),
        body: if asks { question_text(info) } else { outcome_text(info.state).to_owned() },
        url: Some(info.url.clone()),
    }
}

/// The arguments, one a line.
fn question_text(info: &ApprovalInfo) -> String {
    let lines = info.summary.lines.iter().map(|line| format!("{}: {}", line.label, line.value));
    lines.chain(info.summary.warning.clone()).collect::<Vec<_>>().join("\n")
}

fn outcome_text(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "Waits for your answer.",
        ApprovalState::Approved | ApprovalState::Running | ApprovalState::Done => "Approved.",
        ApprovalState::Denied => "Denied.",
        ApprovalState::Expired => "Expired without an answer.",
        ApprovalState::Void => "No longer needed.",
    }
}
