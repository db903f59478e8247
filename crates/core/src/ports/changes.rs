//! Announcements: what changed, in which version of the store, and who reacts.
//!
//! A change that was stored is announced. Caches and live parts subscribe; nothing calls them directly. The store numbers its
//! changes in the same transaction that makes them, so a node that missed an announcement finds it in the store's change log
//! within seconds.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{PackageName, TokenId, UserId};

use super::StoreError;

/// Something changed that a cache or a live part may depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// An app was registered, changed, or given other tools.
    AppChanged(PackageName),
    /// An app was removed.
    AppRemoved(PackageName),
    /// A user uninstalled an app.
    AppUninstalled {
        /// Who.
        user: UserId,
        /// Which app.
        package: PackageName,
    },
    /// A user has other values for the settings of an app.
    AppSettingsChanged {
        /// Who.
        user: UserId,
        /// Which app.
        package: PackageName,
    },
    /// An upstream was added, or its configuration changed.
    UpstreamChanged(PackageName),
    /// An upstream was removed.
    UpstreamRemoved(PackageName),
    /// An upstream offers other tools, prompts or resources.
    UpstreamOfferChanged(PackageName),
    /// A user authorized an upstream, or withdrew the authorization.
    AuthorizationChanged {
        /// Who.
        user: UserId,
        /// Which upstream.
        package: PackageName,
    },
    /// An upstream went up or down, or needs an authorization. Not stored.
    UpstreamStatusChanged,
    /// A resource of a package has other content. Not stored.
    ResourceUpdated {
        /// Which package.
        package: PackageName,
        /// For one user; for all if None.
        user: Option<UserId>,
        /// Its URI, as the package knows it.
        uri: Arc<str>,
    },
    /// What one user can see and call changed.
    ViewChanged(UserId),
    /// What all users have without installing it changed.
    SharedToolsChanged,
    /// A user's settings that belong to no app changed.
    PlatformSettingsChanged(UserId),
    /// A token was issued.
    TokenIssued {
        /// Whose.
        subject: Arc<str>,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Which one.
        id: TokenId,
        /// Whose.
        subject: Arc<str>,
        /// When it would have expired.
        expires_at: Timestamp,
    },
    /// A plugin was published.
    PluginCatalogueChanged,
    /// The lists of trusted keys or of revoked plugins changed.
    PluginListsChanged,
    /// More changed than the log holds: every cache is stale.
    Everything,
}

/// Whose views a change makes stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffectedViews<'a> {
    /// Nobody's.
    None,
    /// One user's.
    User(&'a UserId),
    /// One user's, and what is cached of a package for that user alone.
    UserPackage(&'a UserId, &'a PackageName),
    /// Those of everyone who has this package.
    Package(&'a PackageName),
    /// Everybody's.
    All,
}

impl Change {
    /// Whose views it makes stale.
    pub fn affected_views(&self) -> AffectedViews<'_> {
        match self {
            Self::AppChanged(package)
            | Self::AppRemoved(package)
            | Self::UpstreamChanged(package)
            | Self::UpstreamRemoved(package)
            | Self::UpstreamOfferChanged(package) => AffectedViews::Package(package),
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
            | Self::PluginCatalogueChanged => AffectedViews::None,
        }
    }
}

/// A stored change with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The store had this version when the change was announced; it may have newer ones.
    pub version: u64,
    /// What changed.
    pub change: Change,
}

/// Reacts to changes. The same change may be announced twice.
#[async_trait]
pub trait ChangeSubscriber: Send + Sync {
    /// Drops what the change makes stale. Runs where the change is announced, so it must be quick.
    fn invalidate(&self, change: &Change) {
        let _ = change;
    }

    /// Makes a live part follow a stored change. The verb that announced it waits for this, so it must have a bound.
    async fn follow(&self, announcement: &Announcement) {
        let _ = announcement;
    }
}

/// Announces changes to all subscribers.
#[async_trait]
pub trait Announcements: Send + Sync {
    /// Announces a change that was stored. Subscribers of this node have reacted when it returns, so the caller reads the new
    /// state.
    async fn announce(&self, change: Change);

    /// Announces a change of something live that no store holds: subscribers only drop what is stale.
    fn notify(&self, change: &Change);

    /// Adds a subscriber, for as long as it lives.
    fn subscribe(&self, subscriber: Weak<dyn ChangeSubscriber>);

    /// Announces what the store's log has and this node has not heard of. Returns how many changes that were.
    async fn catch_up(&self) -> Result<usize, StoreError>;
}
