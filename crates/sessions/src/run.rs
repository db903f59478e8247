//! One app for one user: its state, and who waits for it.

use std::sync::Arc;

use tokio::{sync::watch, time::Instant};
use toolyard_core::{ToolError, ports::AppRecord};
use toolyard_protocol::{
    AppSessionId,
    api::AppState,
    app::AppType,
    stream::{Permissions, StreamKind, Subscription, SubscriptionSet, is_location, is_sensitive},
};

use crate::{outbox::Outbox, rate_limit::RateLimit};

/// Why an app runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// A tool call woke it.
    ForCall,
    /// The user opened it.
    ByUser,
}

/// Where a run is. STOPPED is no run at all.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// Asked to start, not yet connected.
    Starting,
    /// Connected and acknowledged; whether the app has read that is not known yet. A call that overtakes the
    /// acknowledgement finds no session in the app, so calls wait for a first sign of it.
    Greeted,
    /// Connected, and the app knows.
    Running,
    /// The socket broke; the app may come back by itself.
    Lost,
    /// Asked to stop.
    Stopping,
    /// Over; whoever waited for it fails with this reason.
    Ended(Arc<ToolError>),
}

impl Phase {
    pub(crate) fn state(&self) -> AppState {
        match self {
            Self::Starting => AppState::Starting,
            Self::Greeted | Self::Running => AppState::Running,
            Self::Lost => AppState::Lost,
            Self::Stopping => AppState::Stopping,
            Self::Ended(_) => AppState::Stopped,
        }
    }
}

/// One socket of an app. Two can exist for a moment, so they are told apart by number.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) since: Instant,
    /// The app said that it does not want to be started again when this socket closes.
    pub(crate) released: bool,
}

/// One app for one user.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) record: Arc<AppRecord>,
    pub(crate) session: AppSessionId,
    pub(crate) opened: Opened,
    pub(crate) link: Option<Link>,
    pub(crate) subscriptions: SubscriptionSet,
    pub(crate) last_used: Instant,
    pub(crate) rate: RateLimit,
    permissions: Permissions,
    phase: watch::Sender<Phase>,
}

impl Run {
    pub(crate) fn new(record: Arc<AppRecord>, session: AppSessionId, opened: Opened, phase: Phase) -> Self {
        let permissions = declared(&record);
        let now = Instant::now();
        Self {
            record,
            session,
            opened,
            link: None,
            subscriptions: SubscriptionSet::default(),
            last_used: now,
            rate: RateLimit::new(now),
            permissions,
            phase: watch::Sender::new(phase),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Whether the app may hear this now: declared, and for microphone and camera also opened by the user; for the place
    /// opened, or declared for the background.
    pub(crate) fn may_hear(&self, kind: &StreamKind) -> bool {
        let woken_may =
            !is_sensitive(kind) && (!is_location(kind) || self.permissions.locates_in_background());
        self.permissions.allow(kind) && (self.opened == Opened::ByUser || woken_may)
    }

    /// The developer changed the app. What it may not hear any longer is dropped, and given back.
    pub(crate) fn change_record(&mut self, record: Arc<AppRecord>) -> Vec<Subscription> {
        self.permissions = declared(&record);
        self.record = record;
        self.subscriptions.drop_unpermitted(&self.permissions)
    }

    /// What the app has declared.
    pub(crate) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    pub(crate) fn is_standard(&self) -> bool {
        self.record.details.app_type == AppType::Standard
    }

    /// Whether its socket is open and acknowledged.
    pub(crate) fn is_connected(&self) -> bool {
        self.link.is_some() && matches!(*self.phase.borrow(), Phase::Greeted | Phase::Running)
    }

    /// The open socket, while the app runs.
    pub(crate) fn outbox(&self) -> Option<&Arc<Outbox>> {
        self.link.as_ref().filter(|_| self.is_connected()).map(|link| &link.outbox)
    }

    /// Whether the socket with that number is the current one.
    pub(crate) fn is_link(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }
}

fn declared(record: &AppRecord) -> Permissions {
    record.details.permissions.iter().map(|declared| declared.kind).collect()
}
