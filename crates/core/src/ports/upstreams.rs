//! Ports for upstream MCP servers: how to reach them, their offers, and users' tokens.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_definitions::ContentDigest;
use toolyard_protocol::{PackageName, UserId, upstream::UpstreamDetails};

use super::StoreError;

/// How to reach an upstream, in addition to what all packages have.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamRecord {
    /// The configured details, without the secret values.
    pub details: UpstreamDetails,
    /// Its sealed headers, variables and client secret.
    pub sealed: Vec<u8>,
    /// Whether it is defined in the configuration file.
    pub managed: bool,
    /// Whether it was removed from the configuration file.
    pub disabled: bool,
}

/// An upstream to add or change.
#[derive(Debug, Clone)]
pub struct NewUpstreamRecord {
    /// Its package.
    pub package: PackageName,
    /// Its owner.
    pub owner: String,
    /// How to reach it.
    pub upstream: UpstreamRecord,
    /// When it is written.
    pub at: Timestamp,
    /// What it may replace.
    pub write: UpstreamWrite,
    /// Whether it moves to another origin: users' tokens for the old one are removed.
    pub moved: bool,
}

/// What an upstream may replace. Decided within the write, so that of two concurrent requests for a name one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamWrite {
    /// Nothing: the package is new.
    Add,
    /// The existing upstream of the same owner.
    Change,
    /// Any existing upstream: the configuration file takes precedence.
    Configure,
}

/// Stores upstreams. They are packages like apps: found, installed and removed through those ports.
#[async_trait]
pub trait UpstreamStore: Send + Sync {
    /// Stores an upstream, new or changed. False if it may not replace what exists: see [`UpstreamWrite`].
    async fn put_upstream(&self, upstream: NewUpstreamRecord) -> Result<bool, StoreError>;
    /// All upstreams, by package, with their owners.
    async fn list_upstreams(&self) -> Result<Vec<(PackageName, String, UpstreamRecord)>, StoreError>;
    /// The upstreams that all users share, the earliest first.
    async fn list_shared_upstreams(&self) -> Result<Vec<PackageName>, StoreError>;
}

/// The lists that an upstream returned, unchanged.
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
    /// Which lists are incomplete, and why; the entries received before are included.
    pub incomplete: Vec<String>,
    /// Whether it supports argument completion.
    pub completes: bool,
    /// Whether it sends notifications when a resource changes.
    pub subscribes: bool,
    /// Its instructions for models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The content of its `ui://` pages: the results of `resources/read`, by URI.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pages: BTreeMap<String, Box<RawValue>>,
    /// The content of its icons, by URL, as far as it could be fetched.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub icons: BTreeMap<String, ContentDigest>,
}

/// A stored offer.
#[derive(Debug, Clone)]
pub struct StoredOffer {
    /// The offer.
    pub offer: UpstreamOffer,
    /// SHA-256 of the offer, in hex, to detect changes.
    pub hash: String,
    /// When it was fetched.
    pub at: Timestamp,
}

/// Stores the last offers of upstreams: one for all users, or one for each user if the upstream has per-user
/// authorization.
#[async_trait]
pub trait OfferStore: Send + Sync {
    /// The last offer.
    async fn last_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<Option<StoredOffer>, StoreError>;
    /// The version of the store now. Ask for it before an offer is read, and pass it to `save_offer`.
    async fn offer_version(&self) -> Result<u64, StoreError>;
    /// Stores an offer that was read since a version. False, and nothing is stored, if the package does not exist, or if the
    /// upstream, or the user's install or authorization, changed since: then the offer belongs to what was before.
    async fn save_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: StoredOffer,
        read_since: u64,
    ) -> Result<bool, StoreError>;
}

/// Stores users' sealed tokens for upstreams.
#[async_trait]
pub trait UpstreamTokenStore: Send + Sync {
    /// The user's token.
    async fn find_token(&self, package: &PackageName, user: &UserId) -> Result<Option<Vec<u8>>, StoreError>;
    /// Stores or removes the user's token. False if the package does not exist.
    async fn set_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Option<Vec<u8>>,
    ) -> Result<bool, StoreError>;
    /// Replaces the user's token. False, and nothing is stored, if there is none.
    async fn replace_token(
        &self,
        package: &PackageName,
        user: &UserId,
        sealed: Vec<u8>,
    ) -> Result<bool, StoreError>;
    /// All tokens, to seal them again.
    async fn all_tokens(&self) -> Result<Vec<(PackageName, UserId, Vec<u8>)>, StoreError>;
}
