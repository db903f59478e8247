//! Ports towards what is known of MCP servers in the world: how to reach them, what they offered, and who may.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::{PackageName, UserId, upstream::UpstreamDetails};

use super::StoreError;

/// How an upstream is reached, beyond what all packages have.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamRecord {
    /// What the operator says of it, without the values that are secret.
    pub details: UpstreamDetails,
    /// Its headers, variables and client secret with their values, sealed.
    pub sealed: Vec<u8>,
    /// Whether it stands in the configuration file.
    pub managed: bool,
    /// Whether it was in the configuration file and left it.
    pub disabled: bool,
}

/// An upstream to be stored, or stored anew.
#[derive(Debug, Clone)]
pub struct NewUpstreamRecord {
    /// Its package.
    pub package: PackageName,
    /// Who adds it.
    pub owner: String,
    /// How it is reached.
    pub upstream: UpstreamRecord,
    /// When.
    pub at: Timestamp,
    /// What may be there already.
    pub write: UpstreamWrite,
    /// Whether it is somewhere else from now on: tokens of users for the old place are forgotten with it.
    pub moved: bool,
}

/// What an upstream may replace. Decided within the write, so that of two who want a name one gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamWrite {
    /// Nothing: the package is new.
    Add,
    /// The upstream of the same owner.
    Change,
    /// Whatever upstream is there: the configuration file decides.
    Configure,
}

/// Upstreams. They are packages like apps: found, installed and removed through those ports.
#[async_trait]
pub trait UpstreamStore: Send + Sync {
    /// Stores an upstream, new or changed. False where what is there may not be replaced: see [`UpstreamWrite`].
    async fn put_upstream(&self, upstream: NewUpstreamRecord) -> Result<bool, StoreError>;
    /// All of them, by package, with their owners.
    async fn list_upstreams(&self) -> Result<Vec<(PackageName, String, UpstreamRecord)>, StoreError>;
    /// Those that everybody has, the earliest first.
    async fn list_shared_upstreams(&self) -> Result<Vec<PackageName>, StoreError>;
}

/// What an upstream offered when it was asked, as it came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UpstreamOffer {
    /// Tools.
    pub tools: Vec<Box<RawValue>>,
    /// Prompts.
    pub prompts: Vec<Box<RawValue>>,
    /// Resources.
    pub resources: Vec<Box<RawValue>>,
    /// Resource templates.
    pub templates: Vec<Box<RawValue>>,
    /// Which lists broke off, and why; what came before is here.
    pub incomplete: Vec<String>,
    /// Whether it completes arguments.
    pub completes: bool,
    /// Whether it tells when a resource changes.
    pub subscribes: bool,
}

/// An offer that was kept.
#[derive(Debug, Clone)]
pub struct StoredOffer {
    /// What was offered.
    pub offer: UpstreamOffer,
    /// SHA-256 of it, in hex: whether a later one is another.
    pub hash: String,
    /// When.
    pub at: Timestamp,
}

/// The last good lists of upstreams. One for all users, and one for each user where the upstream knows who asks.
#[async_trait]
pub trait OfferStore: Send + Sync {
    /// What was offered last.
    async fn last_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<Option<StoredOffer>, StoreError>;
    /// Keeps an offer. False where there is no such package.
    async fn save_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: StoredOffer,
    ) -> Result<bool, StoreError>;
}

/// Tokens of users at upstreams, sealed.
#[async_trait]
pub trait UpstreamTokenStore: Send + Sync {
    /// The user's token.
    async fn find_token(&self, package: &PackageName, user: &UserId) -> Result<Option<Vec<u8>>, StoreError>;
    /// Keeps it, or forgets it. False where there is no such package.
    async fn set_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Option<Vec<u8>>,
    ) -> Result<bool, StoreError>;
    /// All of them, to be sealed anew.
    async fn all_tokens(&self) -> Result<Vec<(PackageName, UserId, Vec<u8>)>, StoreError>;
}
