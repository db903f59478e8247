//! What an app must have before a message of it does anything: one table, over every kind of message.
//!
//! `docs/apps.md` shows the same table to developers; a test compares the two and plays every row through real sockets.

use toolyard_protocol::{PackageName, session::app_messages::AppMessageKind, stream::Permission};

use crate::run::{AppRun, RunTrigger};

/// Whose things a message acts on, and so who may send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOwner {
    /// Any app: it acts on the sender's own things, or answers the sender.
    Sender,
    /// Only the app that started the live stream.
    StreamStarter,
    /// Only the app that the operator named as the dashboard.
    DashboardApp,
}

/// When an app has to have been opened by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenRule {
    /// A woken app may send it, too.
    Anytime,
    /// The user must have opened the app.
    Opened,
    /// The user must have opened the app, unless it declares `BACKGROUND_LOCATION`.
    OpenedOrBackground,
}

/// What one kind of message needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRule {
    /// What the app must declare.
    pub permission: Option<Permission>,
    /// Whether the user must have opened it.
    pub open: OpenRule,
    /// Who may send it.
    pub owner: MessageOwner,
}

/// Why a message does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageRefusal {
    /// The app does not declare this.
    Permission(Permission),
    /// The user has not opened the app.
    NotOpened,
    /// It is not the app's live stream.
    NotStreamOwner,
    /// It is not the dashboard.
    NotDashboard,
}

impl MessageRefusal {
    /// What the app lacks, as `permission_error` names it.
    pub(crate) const fn requirement(self) -> &'static str {
        match self {
            Self::Permission(permission) => permission.as_str(),
            Self::NotOpened => "OPENED_BY_USER",
            Self::NotStreamOwner => "STREAM_OWNER",
            Self::NotDashboard => "DASHBOARD_APP",
        }
    }

    /// What to do about it, for developers.
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

/// What a kind of message needs.
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
        // Whoever started it may end it, whatever was taken from the app since.
        AppMessageKind::RtmpStreamStop | AppMessageKind::ManagedStreamStop => {
            MessageRule { owner: MessageOwner::StreamStarter, ..FREE }
        }
        AppMessageKind::DashboardModeChange | AppMessageKind::DashboardSystemUpdate => {
            MessageRule { owner: MessageOwner::DashboardApp, ..FREE }
        }
        // What an app may hear is decided for each stream: `stream::required_permission` and `AppRun::may_hear`.
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
    /// Whether the app may send that now. Who owns a live stream is asked where the stream is known.
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
