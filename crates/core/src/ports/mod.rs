//! The traits that core needs from outside. Object-safe, with few methods each; one in-process implementation now, and
//! room for one with several nodes. Core has no other traits.

mod accounts;
mod approvals;
mod apps;
mod audit;
mod changes;
mod homes;
mod labels;
mod ledger;
mod live;
mod maintenance;
mod oauth;
mod pins;
mod plugins;
mod push;
mod quota;
mod source;
mod stores;
mod tokens;
mod upstreams;
mod usage;
mod world;

pub use accounts::{
    AccountQuery, AccountStore, BrowserSession, BrowserSessionStore, DeviceLogin, DeviceLoginConsent,
    DeviceLoginStore, EndedSessions, PersonalDataStore, RedeemedDeviceLogin, RemoveMethodOutcome,
    SaveAccountOutcome, SignInMethods, SignInStore, StoredPasskey, StoredPassword, UserAccount,
};
pub use approvals::{
    AnswerOutcome, ApprovalFilter, ApprovalRecord, ApprovalRuleStore, ApprovalStore, ApprovedCall,
    AskOutcome, StoredAnswer, StoredChoice, StoredGrant, UserRules,
};
pub use apps::{
    AppChange, AppDataStore, AppKeys, AppRecord, AppStore, DefinitionStore, DeviceStore, InstallStore,
    InstalledApp, NewAppRecord, PackageOrigin, PreferenceStore, StoredDevice, StoredToolSet, ToolSetRecord,
    ToolSwitchStore,
};
pub use audit::{AuditActor, AuditCursor, AuditEvent, AuditFilter, AuditRecord, AuditStore};
pub use changes::{AffectedViews, Announcement, Announcements, Change, ChangeSubscriber};
pub use homes::{ClusterStore, HomeMarks, NodeId, UserHome};
pub use labels::{LabelStore, StoredLabels};
pub use ledger::{
    CallFilter, CallLog, CallRecord, CallWait, ClaimOutcome, KeyClaim, KeyEnd, KeyQuota, Ledger,
    StoredOutcome, call_digest,
};
pub use live::{AppRunStore, AppWaker, SessionControl, SessionView, StopError, StoredRun, UserPresence};
pub use maintenance::{KnownKey, LedgerBacklog, PruneBefore, StoreMaintenance};
pub use oauth::{ClientGrant, OAuthStore, RedeemedCode, StoredOAuthClient};
pub use pins::{
    DefinitionNote, DefinitionPin, MAX_EARLIER_VERSIONS, MAX_NOTES_PER_PACKAGE, MAX_PINS_PER_PACKAGE,
    MAX_PINS_PER_USER, MAX_USERS_WITH_PINS, OfferReview, PackagePins, PinStore, QuarantineAnswer,
    QuarantineFilter, QuarantineOutcome, QuarantinePlace, QuarantineStore, QuarantinedChange, ReviewOutcome,
};
pub use plugins::{
    InstalledPlugin, InstalledPluginStore, MAX_PLUGIN_NAMESPACES, PluginDataQuota, PluginDataStore,
    PluginListStore, PluginNamespace, PluginProvider, PluginRuns, PluginSwitch, PublishedPlugin,
    PublishedPluginStore, UserPlugin,
};
pub use push::{PushSubscriptionStore, StoredPushSubscription};
pub use quota::{QuotaKind, QuotaReached, StoreQuotas};
pub(crate) use source::SourceTable;
pub use source::{
    CallNotice, CallerAbilities, ForwardedMethod, ForwardedReply, ForwardedRequest, NoticeSink,
    QuestionSender, ReadyTool, SourceKind, SourceQuestion, ToolSearch, ToolSource,
};
pub use stores::Stores;
pub use tokens::{
    AddTokenOutcome, IssuedToken, IssuedTokenStore, RevokedTokens, TokenCursor, TokenQuota, TokenScope,
};
pub use upstreams::{
    NewUpstreamRecord, OfferStore, StoredOffer, UpstreamOffer, UpstreamRecord, UpstreamStore,
    UpstreamTokenStore, UpstreamWrite,
};
pub use usage::{
    CallSeries, CallTimeline, CallTiming, MAX_SERIES, SeriesBy, TimeBuckets, TimelineBuilder, UsageFilter,
    UsageLog,
};
pub use world::{
    CallRateLimiter, Clock, IdGenerator, SealError, SecretSealer, SystemClock, SystemIds, UnsealError,
};

/// The store could not do what was requested. Nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store failed. Opaque: the text is for the log only.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The store cannot be reached or is overloaded, now. Opaque, as above.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// A quota is reached; the text says what to do.
    #[error(transparent)]
    Quota(#[from] QuotaReached),
}
