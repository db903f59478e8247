//! What core needs from the world. Object-safe, few methods each, one in-process implementation now and one for many
//! nodes later. Nothing else in core is a trait.

mod apps;
mod changes;
mod ledger;
mod live;
mod maintenance;
mod plugins;
mod quota;
mod source;
mod stores;
mod tokens;
mod upstreams;
mod usage;
mod world;

pub use apps::{
    AppChange, AppData, AppKeys, AppRecord, Apps, Definitions, Devices, Install, Installs, NewRecord, Origin,
    Preferences, Settings, StoredDevice, StoredSet, VersionInfo,
};
pub use changes::{AffectedViews, Announcement, Announcements, Change, ChangeSubscriber};
pub use ledger::{
    CallFilter, CallLog, CallRecord, Claim, KeyClaim, KeyEnd, KeyRoom, Ledger, StoredOutcome, digest_of,
};
pub use live::{Presence, Runs, SessionView, StoredRun, Waker};
pub use maintenance::{KnownKey, LedgerBacklog, Maintenance, PruneBefore};
pub use plugins::{
    InstalledPlugin, InstalledPlugins, MAX_SHELVES, PluginData, PluginLists, PluginRuns, Plugins,
    PublishedPlugin, PublishedPlugins, Room, Shelf, Switch, UserPlugin,
};
pub use quota::{Quota, QuotaReached, StoreQuotas};
pub(crate) use source::Sources;
pub use source::{
    CallerAbilities, Notice, NoticeSink, Passed, PassedMethod, PassedReply, Question, ReadyTool, SourceKind,
    ToolSearch, ToolSource,
};
pub use stores::Stores;
pub use tokens::{IssuedToken, IssuedTokens, TokenAdded, TokenPlace, TokenRoom, TokenScope};
pub use upstreams::{
    NewUpstream, Offer, Offers, StoredOffer, UpstreamRecord, UpstreamTokens, UpstreamWrite, Upstreams,
};
pub use usage::{
    Buckets, MAX_SERIES, Series, SeriesBy, Timeline, TimelineBuilder, Timing, UsageFilter, UsageLog,
};
pub use world::{Clock, Ids, Limiter, Secrets, SystemClock, SystemIds, Unsealed};

/// Nothing was read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store failed. Opaque: nobody but the log can do anything with it.
    #[error("the store failed: {0}")]
    Failed(String),
    /// There is no room for it; the text says what to do.
    #[error(transparent)]
    Quota(#[from] QuotaReached),
}
