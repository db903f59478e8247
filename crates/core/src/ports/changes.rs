//! Announcements: what changed, in which version of the store, and who reacts.
//!
//! A change that was stored is announced. Caches and live parts subscribe; nothing calls them directly. The store numbers its
//! changes in the same transaction that makes them, so a node that missed an announcement finds it in the store's change log
//! within seconds.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{ApprovalId, PackageName, TokenId, UserId};

use super::StoreError;

/// Something changed that a cache or a live part may depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// An app was registered or changed, or its tools changed.
    AppChanged(PackageName),
    /// An app was removed.
    AppRemoved(PackageName),
    /// A user uninstalled an app.
    AppUninstalled {
        /// The user.
        user: UserId,
        /// The app.
        package: PackageName,
    },
    /// A user's values for the settings of an app changed.
    AppSettingsChanged {
        /// The user.
        user: UserId,
        /// The app.
        package: PackageName,
    },
    /// An upstream was added, or its configuration changed.
    UpstreamChanged(PackageName),
    /// An upstream was removed.
    UpstreamRemoved(PackageName),
    /// The offer of an upstream changed.
    UpstreamOfferChanged(PackageName),
    /// A user authorized an upstream, or withdrew the authorization.
    AuthorizationChanged {
        /// The user.
        user: UserId,
        /// The upstream.
        package: PackageName,
    },
    /// An upstream connected or disconnected, or needs an authorization. Not stored.
    UpstreamStatusChanged,
    /// The content of a resource changed. Not stored.
    ResourceUpdated {
        /// The package.
        package: PackageName,
        /// The user, if the change concerns one user only.
        user: Option<UserId>,
        /// Its URI, as the package knows it.
        uri: Arc<str>,
    },
    /// A user's view changed.
    ViewChanged(UserId),
    /// The tools that all users share changed.
    SharedToolsChanged,
    /// A user's settings that do not belong to an app changed.
    PlatformSettingsChanged(UserId),
    /// A token was issued.
    TokenIssued {
        /// The subject of the token.
        subject: Arc<str>,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Its id.
        id: TokenId,
        /// The subject of the token.
        subject: Arc<str>,
        /// When it would have expired.
        expires_at: Timestamp,
    },
    /// A user was disabled: nothing is done for them or by them any more.
    UserDisabled(UserId),
    /// A disabled user was enabled again, or deleted.
    UserEnabled(UserId),
    /// A plugin was published.
    PluginCatalogueChanged,
    /// The lists of trusted keys or of revoked plugins changed.
    PluginListsChanged,
    /// A user was asked to approve a call.
    ApprovalRequested {
        /// The user.
        user: UserId,
        /// The approval.
        id: ApprovalId,
    },
    /// An approval was answered, it expired, or its caller withdrew it.
    ApprovalAnswered {
        /// The user.
        user: UserId,
        /// The approval.
        id: ApprovalId,
    },
    /// The call of an approval ended. Not stored.
    ApprovalEnded {
        /// The user.
        user: UserId,
        /// The approval.
        id: ApprovalId,
    },
    /// A user's choices or remembered approvals changed.
    ApprovalRulesChanged(UserId),
    /// The operator's approval policy changed.
    ApprovalPolicyChanged,
    /// The accepted definitions of a package changed, or a change waits for an answer.
    DefinitionsChanged(PackageName),
    /// More changed than the log holds: every cache is stale.
    Everything,
}

/// Which views a change makes stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffectedViews<'a> {
    /// None.
    None,
    /// One user's view.
    User(&'a UserId),
    /// One user's view, and the cached entry of a package for that user.
    UserPackage(&'a UserId, &'a PackageName),
    /// The views of all users who have this package.
    Package(&'a PackageName),
    /// All views.
    All,
}

impl Change {
    /// Which views it makes stale.
    pub fn affected_views(&self) -> AffectedViews<'_> {
        match self {
            Self::AppChanged(package)
            | Self::AppRemoved(package)
            | Self::UpstreamChanged(package)
            | Self::UpstreamRemoved(package)
            | Self::UpstreamOfferChanged(package)
            | Self::DefinitionsChanged(package) => AffectedViews::Package(package),
            Self::AppUninstalled { user, package } | Self::AuthorizationChanged { user, package } => {
                AffectedViews::UserPackage(user, package)
            }
            Self::ViewChanged(user) => AffectedViews::User(user),
            Self::SharedToolsChanged | Self::PluginListsChanged | Self::Everything => AffectedViews::All,
            Self::AppSettingsChanged { .. }
            | Self::UpstreamStatusChanged
            | Self::ResourceUpdated { .. }
            | Self::PlatformSettingsChanged(_)
            | Self::TokenIssued { .. }
            | Self::TokenRevoked { .. }
            | Self::UserDisabled(_)
            | Self::UserEnabled(_)
            | Self::PluginCatalogueChanged
            | Self::ApprovalRequested { .. }
            | Self::ApprovalAnswered { .. }
            | Self::ApprovalEnded { .. }
            | Self::ApprovalRulesChanged(_)
            | Self::ApprovalPolicyChanged => AffectedViews::None,
        }
    }
}

/// A stored change with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The version of the store when the change was announced; newer versions may exist already.
    pub version: u64,
    /// What changed.
    pub change: Change,
}

/// Reacts to changes. The same change may be announced twice.
#[async_trait]
pub trait ChangeSubscriber: Send + Sync {
    /// Drops what the change makes stale. Runs inline where the change is announced, so it must be quick.
    fn invalidate(&self, change: &Change) {
        let _ = change;
    }

    /// Applies a stored change to a live component. The verb that announced it waits for this, so it must be bounded.
    async fn follow(&self, announcement: &Announcement) {
        let _ = announcement;
    }
}

/// Announces changes to all subscribers.
#[async_trait]
pub trait Announcements: Send + Sync {
    /// Announces a stored change. The subscribers of this node have reacted when it returns, so the caller reads the
    /// new state.
    async fn announce(&self, change: Change);

    /// Announces a change of live state that is not stored: subscribers only drop what is stale.
    fn notify(&self, change: &Change);

    /// Adds a subscriber until it is dropped.
    fn subscribe(&self, subscriber: Weak<dyn ChangeSubscriber>);

    /// Announces the changes in the store's log that this node has missed. Returns how many there were.
    async fn catch_up(&self) -> Result<usize, StoreError>;
}
