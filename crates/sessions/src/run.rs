//! One app for one user: its state, and how to wait for it.

use std::sync::Arc;

use tokio::{sync::watch, time::Instant};
use toolyard_core::{ToolError, ports::AppRecord};
use toolyard_protocol::{
    AppSessionId,
    api::AppState,
    app::AppType,
    stream::{PermissionSet, StreamKind, StreamSubscription, SubscriptionSet, is_location, is_sensitive},
};

use crate::{outbox::Outbox, rate_limit::MessageMeter};

/// Why an app runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunTrigger {
    /// A tool call woke it.
    ForCall,
    /// The user opened it.
    ByUser,
}

/// The phase of a run. A stopped app has no run.
#[derive(Debug, Clone)]
pub(crate) enum RunPhase {
    /// Asked to start, not yet connected.
    Starting,
    /// Connected and acknowledged, but the app may not have read the ack yet. A call that overtakes the ack would find
    /// no session in the app, so calls wait for a first sign.
    Acknowledged,
    /// Connected, and the app has read the ack.
    Running,
    /// The socket was lost; the app may reconnect.
    Lost,
    /// Asked to stop.
    Stopping,
    /// Ended; all waiting calls fail with this error.
    Ended(Arc<ToolError>),
}

impl RunPhase {
    pub(crate) fn app_state(&self) -> AppState {
        match self {
            Self::Starting => AppState::Starting,
            Self::Acknowledged | Self::Running => AppState::Running,
            Self::Lost => AppState::Lost,
            Self::Stopping => AppState::Stopping,
            Self::Ended(_) => AppState::Stopped,
        }
    }
}

/// One socket of an app. Two can exist for a moment, so they are numbered.
#[derive(Debug, Clone)]
pub(crate) struct AppLink {
    pub(crate) number: u64,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) since: Instant,
    /// The app released its session: it must not be restarted when this socket closes.
    pub(crate) released: bool,
}

/// One app for one user.
#[derive(Debug)]
pub(crate) struct AppRun {
    pub(crate) record: Arc<AppRecord>,
    pub(crate) session: AppSessionId,
    pub(crate) trigger: RunTrigger,
    pub(crate) link: Option<AppLink>,
    pub(crate) subscriptions: SubscriptionSet,
    pub(crate) last_used: Instant,
    pub(crate) rate: MessageMeter,
    permissions: PermissionSet,
    phase: watch::Sender<RunPhase>,
}

impl AppRun {
    pub(crate) fn new(
        record: Arc<AppRecord>,
        session: AppSessionId,
        opened: RunTrigger,
        phase: RunPhase,
    ) -> Self {
        let permissions = declared_permissions(&record);
        let now = Instant::now();
        Self {
            record,
            session,
            trigger: opened,
            link: None,
            subscriptions: SubscriptionSet::default(),
            last_used: now,
            rate: MessageMeter::new(now),
            permissions,
            phase: watch::Sender::new(phase),
        }
    }

    pub(crate) fn phase(&self) -> RunPhase {
        self.phase.borrow().clone()
    }

    pub(crate) fn watch_phase(&self) -> watch::Receiver<RunPhase> {
        self.phase.subscribe()
    }

    pub(crate) fn set_phase(&self, phase: RunPhase) {
        self.phase.send_replace(phase);
    }

    /// Whether the app may receive this now. The permission must be declared. For microphone and camera the user must
    /// have opened the app; for location the app must be opened or declare background use.
    pub(crate) fn can_receive(&self, kind: &StreamKind) -> bool {
        let woken_may =
            !is_sensitive(kind) && (!is_location(kind) || self.permissions.locates_in_background());
        self.permissions.allows_stream(kind) && (self.trigger == RunTrigger::ByUser || woken_may)
    }

    /// Applies a changed record. Drops and returns the subscriptions that are no longer permitted.
    pub(crate) fn change_record(&mut self, record: Arc<AppRecord>) -> Vec<StreamSubscription> {
        self.permissions = declared_permissions(&record);
        self.record = record;
        self.subscriptions.drop_unpermitted(&self.permissions)
    }

    /// The declared permissions.
    pub(crate) fn permissions(&self) -> &PermissionSet {
        &self.permissions
    }

    pub(crate) fn is_standard(&self) -> bool {
        self.record.details.app_type == AppType::Standard
    }

    /// Whether its socket is open and acknowledged.
    pub(crate) fn is_connected(&self) -> bool {
        self.link.is_some() && matches!(*self.phase.borrow(), RunPhase::Acknowledged | RunPhase::Running)
    }

    /// The queue to its socket, while it is connected.
    pub(crate) fn outbox(&self) -> Option<&Arc<Outbox>> {
        self.link.as_ref().filter(|_| self.is_connected()).map(|link| &link.outbox)
    }

    /// Whether the socket with that number is the current one.
    pub(crate) fn is_link(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }
}

fn declared_permissions(record: &AppRecord) -> PermissionSet {
    record.details.permissions.iter().map(|declared| declared.kind).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::stream::Permission;

    use super::*;
    use crate::fixtures::{app_link, app_record, app_run};

    #[test]
    fn a_woken_app_receives_no_sound_no_picture_and_no_location() {
        use StreamKind::{AudioChunk, ButtonPress, LocationUpdate, PhotoTaken, Transcription, Video};
        let (woken, opened) = (RunTrigger::ForCall, RunTrigger::ByUser);
        for (trigger, permission, received) in [
            (opened, Permission::All, &[Transcription, AudioChunk, Video, LocationUpdate, ButtonPress][..]),
            (woken, Permission::All, &[ButtonPress]),
            (woken, Permission::BackgroundLocation, &[LocationUpdate, ButtonPress]),
            (opened, Permission::Microphone, &[Transcription, AudioChunk, ButtonPress]),
            (opened, Permission::Location, &[LocationUpdate, ButtonPress]),
        ] {
            let run = app_run("com.a", &[permission], trigger);
            for kind in [Transcription, AudioChunk, Video, LocationUpdate, ButtonPress] {
                let expected = received.contains(&kind);
                assert_eq!(run.can_receive(&kind), expected, "{trigger:?} {permission:?} {kind:?}");
            }
        }
        assert!(!app_run("com.a", &[], opened).can_receive(&PhotoTaken));
    }

    #[test]
    fn a_removed_permission_drops_the_subscriptions_that_need_it() {
        let mut run = app_run("com.a", &[Permission::Microphone, Permission::Location], RunTrigger::ByUser);
        let entries = ["transcription:en-US", "location_update", "button_press"].map(|name| json!(name));
        (run.subscriptions, _) = SubscriptionSet::parse(&entries);
        let dropped = run.change_record(app_record("com.a", &[Permission::Location]));
        let names = |subscriptions: &mut dyn Iterator<Item = &StreamSubscription>| {
            subscriptions.map(|one| one.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&mut dropped.iter()), ["transcription:en-US"]);
        assert_eq!(names(&mut run.subscriptions.iter()), ["location_update", "button_press"]);
        assert!(!run.can_receive(&StreamKind::Transcription));
    }

    #[test]
    fn messages_go_only_to_an_acknowledged_socket() {
        let mut run = app_run("com.a", &[], RunTrigger::ByUser);
        assert!(!run.is_connected() && run.outbox().is_none(), "it has no socket");
        run.link = Some(app_link());
        for (phase, connected) in [
            (RunPhase::Starting, false),
            (RunPhase::Acknowledged, true),
            (RunPhase::Running, true),
            (RunPhase::Lost, false),
            (RunPhase::Stopping, false),
        ] {
            run.set_phase(phase.clone());
            assert_eq!((run.is_connected(), run.outbox().is_some()), (connected, connected), "{phase:?}");
        }
        assert!(run.is_link(1) && !run.is_link(2));
    }
}
