//! Several nodes on one store: which node a user's live state is on, and which node does work that one node does for all.

use std::sync::Arc;

use async_trait::async_trait;
use toolyard_protocol::UserId;

use super::{SecretSealer, StoreError};

/// One server process. A process that starts again is a new node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub i64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The node that has a user's sessions, sockets and calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserHome {
    /// The node.
    pub node: NodeId,
    /// Raised whenever the home moves. Of two nodes that both believe to be a user's home, the one with the lower epoch is
    /// wrong.
    pub epoch: i64,
    /// The URL under which other nodes reach it. Empty if the node is gone.
    pub address: String,
}

/// Users' homes, and leases.
#[async_trait]
pub trait ClusterStore: Send + Sync {
    /// This node.
    fn node(&self) -> NodeId;

    /// Publishes the URL under which other nodes reach this one.
    async fn join(&self, address: &str) -> Result<(), StoreError>;

    /// The user's home. It is this node from now on if there is none, if its node shows no sign of life, or if its epoch is
    /// `lost`: the caller could not reach it.
    async fn claim_home(&self, user: &UserId, lost: Option<i64>) -> Result<UserHome, StoreError>;

    /// The users whose home is this node, with their epochs.
    async fn list_homes(&self) -> Result<Vec<(UserId, i64)>, StoreError>;

    /// Gives a home up, unless it has moved already.
    async fn release_home(&self, user: &UserId, epoch: i64) -> Result<(), StoreError>;

    /// Gives all homes and leases of this node up, because it stops.
    async fn leave(&self) -> Result<(), StoreError>;

    /// Whether this node has a lease: it has it already, nobody has it, or its holder shows no sign of life.
    async fn hold_lease(&self, name: &str) -> Result<bool, StoreError>;
}

/// Marks what others bring back to us, such as tickets and URLs, with the user it belongs to, so that any node finds the user's
/// home. A mark is sealed: it shows nothing, and cannot be made up. Without a cluster nothing is marked.
#[derive(Clone, Default)]
pub struct HomeMarks(Option<Arc<dyn SecretSealer>>);

/// Distinguishes marks from other sealed texts.
const MARK_PREFIX: &str = "home:";
/// Between a mark and the text that it marks. Neither contains it.
const MARK_END: char = '.';

impl HomeMarks {
    /// Marks that these secrets seal.
    pub fn new(secrets: Arc<dyn SecretSealer>) -> Self {
        Self(Some(secrets))
    }

    /// Whether there is more than one node.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// The mark of a user. None without a cluster.
    pub fn mark(&self, user: &UserId) -> Option<String> {
        self.0.as_ref()?.seal(&format!("{MARK_PREFIX}{user}")).ok().map(hex::encode)
    }

    /// The user of a mark.
    pub fn read(&self, mark: &str) -> Option<UserId> {
        let opened = self.0.as_ref()?.unseal(&hex::decode(mark).ok()?).ok()?;
        opened.strip_prefix(MARK_PREFIX)?.parse().ok()
    }

    /// The text with the mark of a user in front of it.
    pub fn mark_text(&self, user: &UserId, text: String) -> String {
        match self.mark(user) {
            Some(mark) => format!("{mark}{MARK_END}{text}"),
            None => text,
        }
    }

    /// The user of a marked text.
    pub fn read_text(&self, text: &str) -> Option<UserId> {
        self.read(text.split_once(MARK_END)?.0)
    }
}

impl std::fmt::Debug for HomeMarks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HomeMarks").field(&self.is_enabled()).finish()
    }
}
