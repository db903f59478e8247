//! Users who are refused, whatever their credential. Checked on every request, so it is kept in memory.

use std::collections::HashSet;

use parking_lot::RwLock;
use toolyard_core::ports::StoreError;
use toolyard_protocol::UserId;

use crate::Platform;

/// The disabled users. Follows the announcements of all nodes.
#[derive(Debug, Default)]
pub(super) struct DisabledUsers(RwLock<HashSet<Box<str>>>);

impl DisabledUsers {
    pub(super) fn contains(&self, name: &str) -> bool {
        let users = self.0.read();
        // Almost always empty.
        !users.is_empty() && users.contains(name)
    }

    pub(super) fn insert(&self, user: &UserId) {
        self.0.write().insert(user.as_str().into());
    }

    pub(super) fn remove(&self, user: &UserId) {
        self.0.write().remove(user.as_str());
    }

    pub(super) fn replace(&self, users: &[UserId]) {
        *self.0.write() = users.iter().map(|user| user.as_str().into()).collect();
    }
}

impl Platform {
    /// Loads the disabled users.
    pub async fn load_disabled_users(&self) -> Result<(), StoreError> {
        self.tokens.set_disabled_users(&self.stores.accounts.disabled_users().await?);
        Ok(())
    }
}
