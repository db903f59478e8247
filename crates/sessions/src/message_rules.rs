//! What an app needs before a message of it is handled: one table over all kinds of messages.
//!
//! `docs/apps.md` shows the same table to developers; a test compares the two and tries every row over real sockets.

use toolyard_protocol::{PackageName, session::app_messages::AppMessageKind, stream::Permission};

use crate::run::{AppRun, RunTrigger};

/// Who may send a message, depending on what it acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOwner {
    /// Any app: the message concerns only the sender.
    Sender,
    /// Only the app that started the live stream.
    StreamStarter,
    /// Only the app that the operator configured as the dashboard app.
    DashboardApp,
}

/// Whether the user must have opened the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenRule {
    /// Never: a woken app may send it too.
    Anytime,
    /// The user must have opened the app.
    Opened,
    /// The user must have opened the app, unless it declares `BACKGROUND_LOCATION`.
    OpenedOrBackground,
}

/// The requirements of one kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRule {
    /// The permission that the app must declare.
    pub permission: Option<Permission>,
    /// Whether the user must have opened it.
    pub open: OpenRule,
    /// Who may send it.
    pub owner: MessageOwner,
}

/// Why a message is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageRefusal {
    /// The app does not declare this permission.
    Permission(Permission),
    /// The user has not opened the app.
    NotOpened,
    /// The app does not own the live stream.
    NotStreamOwner,
    /// The app is not the dashboard app.
    NotDashboard,
}

impl MessageRefusal {
    /// The missing requirement, as `permission_error` names it.
    pub(crate) const fn requirement(self) -> &'static str {
        match self {
            Self::Permission(permission) => permission.as_str(),
            Self::NotOpened => "OPENED_BY_USER",
            Self::NotStreamOwner => "STREAM_OWNER",
            Self::NotDashboard => "DASHBOARD_APP",
        }
    }

    /// What the developer has to do.
    pub(crate) fn explain(self) -> String {
        match self {
            Self::Permission(permission) => {
                format!("declare the permission {permission} in the app's registration")
            }
            Self::NotOpened => "the app was woken by a tool call; the user has to open it first".to_owned(),
            Self::NotStreamOwner => "this app has no live stream to stop".to_owned(),
            Self::NotDashboard => {
                "only the app that the operator set as sessions.dashboard_app may change this".to_owned()
            }
        }
    }
}

/// The requirements of a kind of message.
pub const fn message_rule(kind: AppMessageKind) -> MessageRule {
    const FREE: MessageRule =
        MessageRule { permission: None, open: OpenRule::Anytime, owner: MessageOwner::Sender };
    const CAMERA: MessageRule =
        MessageRule { permission: Some(Permission::Camera), open: OpenRule::Opened, ..FREE };
    match kind {
        AppMessageKind::PhotoRequest
        | AppMessageKind::RtmpStreamRequest
        | AppMessageKind::ManagedStreamRequest
        | AppMessageKind::StreamStatusCheck => CAMERA,
        AppMessageKind::LocationPollRequest => {
            MessageRule { permission: Some(Permission::Location), open: OpenRule::OpenedOrBackground, ..FREE }
        }
        AppMessageKind::RgbLedControl | AppMessageKind::RequestWifiSetup => {
            MessageRule { open: OpenRule::Opened, ..FREE }
        }
        // The app that started a stream may stop it, even if it lost its permission since.
        AppMessageKind::RtmpStreamStop | AppMessageKind::ManagedStreamStop => {
            MessageRule { owner: MessageOwner::StreamStarter, ..FREE }
        }
        AppMessageKind::DashboardModeChange | AppMessageKind::DashboardSystemUpdate => {
            MessageRule { owner: MessageOwner::DashboardApp, ..FREE }
        }
        // Receiving is checked for each stream: `stream::required_permission` and `AppRun::can_receive`.
        AppMessageKind::SubscriptionUpdate
        | AppMessageKind::DisplayEvent
        | AppMessageKind::AudioPlayRequest
        | AppMessageKind::AudioStopRequest
        | AppMessageKind::DashboardContentUpdate
        | AppMessageKind::ConnectionInit
        | AppMessageKind::Reconnect
        | AppMessageKind::OwnershipRelease
        | AppMessageKind::Ping
        | AppMessageKind::Unknown => FREE,
    }
}

impl AppRun {
    /// Whether the app may send this now. Ownership of a live stream is checked by its handler.
    pub(crate) fn check_message(
        &self,
        kind: AppMessageKind,
        dashboard: Option<&PackageName>,
    ) -> Result<(), MessageRefusal> {
        let rule = message_rule(kind);
        if let Some(permission) = rule.permission
            && !self.permissions().has_permission(permission)
        {
            return Err(MessageRefusal::Permission(permission));
        }
        let opened = self.trigger == RunTrigger::ByUser;
        let open_enough = match rule.open {
            OpenRule::Anytime => true,
            OpenRule::Opened => opened,
            OpenRule::OpenedOrBackground => opened || self.permissions().locates_in_background(),
        };
        if !open_enough {
            return Err(MessageRefusal::NotOpened);
        }
        let is_dashboard = || dashboard == Some(&self.record.package);
        match rule.owner {
            MessageOwner::DashboardApp if !is_dashboard() => Err(MessageRefusal::NotDashboard),
            MessageOwner::Sender | MessageOwner::StreamStarter | MessageOwner::DashboardApp => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use AppMessageKind as Kind;

    use super::*;
    use crate::fixtures::{app_run, package};

    /// The requirement that each refused kind of message lacks. Kinds that are not listed are allowed.
    fn refusals(run: &AppRun, dashboard: Option<&PackageName>) -> Vec<(Kind, &'static str)> {
        let kinds = Kind::KNOWN.iter().chain([&Kind::Unknown]);
        let refused = kinds.filter_map(|kind| {
            let refusal = run.check_message(*kind, dashboard).err()?;
            assert!(!refusal.explain().is_empty());
            Some((*kind, refusal.requirement()))
        });
        let mut refused: Vec<_> = refused.collect();
        refused.sort_by_key(|(kind, _)| kind.as_str());
        refused
    }

    fn sorted(mut expected: Vec<(Kind, &'static str)>) -> Vec<(Kind, &'static str)> {
        expected.sort_by_key(|(kind, _)| kind.as_str());
        expected
    }

    const CAMERA_KINDS: [Kind; 4] =
        [Kind::PhotoRequest, Kind::RtmpStreamRequest, Kind::ManagedStreamRequest, Kind::StreamStatusCheck];
    const DASHBOARD_ONLY: [(Kind, &str); 2] =
        [(Kind::DashboardModeChange, "DASHBOARD_APP"), (Kind::DashboardSystemUpdate, "DASHBOARD_APP")];

    #[test]
    fn an_opened_app_with_every_permission_lacks_only_the_dashboard() {
        let run = app_run("com.a", &[Permission::All], RunTrigger::ByUser);
        assert_eq!(refusals(&run, None), sorted(DASHBOARD_ONLY.to_vec()));
    }

    #[test]
    fn an_opened_app_without_permissions_lacks_camera_and_location() {
        let run = app_run("com.a", &[], RunTrigger::ByUser);
        let mut expected = DASHBOARD_ONLY.to_vec();
        expected.extend(CAMERA_KINDS.map(|kind| (kind, "CAMERA")));
        expected.push((Kind::LocationPollRequest, "LOCATION"));
        assert_eq!(refusals(&run, None), sorted(expected));
    }

    #[test]
    fn a_woken_app_gets_neither_camera_nor_location_nor_the_users_attention() {
        let run = app_run("com.a", &[Permission::All], RunTrigger::ForCall);
        let mut expected = DASHBOARD_ONLY.to_vec();
        expected.extend(CAMERA_KINDS.map(|kind| (kind, "OPENED_BY_USER")));
        expected.extend(
            [Kind::LocationPollRequest, Kind::RgbLedControl, Kind::RequestWifiSetup]
                .map(|kind| (kind, "OPENED_BY_USER")),
        );
        assert_eq!(refusals(&run, None), sorted(expected));
    }

    #[test]
    fn background_location_must_be_declared_by_name() {
        let woken = |permission| app_run("com.a", &[permission], RunTrigger::ForCall);
        let poll = |permission| woken(permission).check_message(Kind::LocationPollRequest, None);
        assert_eq!(poll(Permission::BackgroundLocation), Ok(()));
        assert_eq!(poll(Permission::Location), Err(MessageRefusal::NotOpened));
        assert_eq!(poll(Permission::All), Err(MessageRefusal::NotOpened));
        assert_eq!(poll(Permission::Camera), Err(MessageRefusal::Permission(Permission::Location)));
    }

    #[test]
    fn only_the_configured_app_changes_the_dashboard() {
        let run = app_run("com.dash", &[], RunTrigger::ForCall);
        for (kind, _) in DASHBOARD_ONLY {
            assert_eq!(run.check_message(kind, Some(&package("com.dash"))), Ok(()));
            let other = run.check_message(kind, Some(&package("com.other")));
            assert_eq!(other, Err(MessageRefusal::NotDashboard));
        }
    }

    #[test]
    fn a_stream_can_be_stopped_after_its_permission_was_removed() {
        let run = app_run("com.a", &[], RunTrigger::ForCall);
        for kind in [Kind::RtmpStreamStop, Kind::ManagedStreamStop] {
            assert_eq!(run.check_message(kind, None), Ok(()));
            assert_eq!(message_rule(kind).owner, MessageOwner::StreamStarter);
        }
    }
}
