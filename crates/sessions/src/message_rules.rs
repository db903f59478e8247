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
