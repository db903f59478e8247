//! Users who are refused, whatever their credential. Checked on every request, so it is kept in memory.

use std::collections::HashSet;

use parking_lot::RwLock;
use toolyard_core::ports::StoreError;
use toolyard_protocol::UserId;

use crate::Platform;

/// The disabled users. Follows the announcements of all nodes.
#[derive(Debug, Default)]
pub(super) struct DisabledUsers(RwLock<HashSet<UserId>>);

impl DisabledUsers {
    pub(super) fn contains(&self, name: &str) -> bool {
        let users = self.0.read();
        // Almost always empty.
        !users.is_empty() && users.iter().any(|user| user.as_str() == name)
    }

    pub(super) fn insert(&self, user: UserId) {
        self.0.write().insert(user);
    }

    pub(super) fn remove(&self, user: &UserId) {
        self.0.write().remove(user);
    }

    pub(super) fn replace(&self, users: Vec<UserId>) {
        *self.0.write() = users.into_iter().collect();
    }
}

impl Platform {
    /// Loads the disabled users.
    pub async fn load_disabled_users(&self) -> Result<(), StoreError> {
        self.tokens.set_disabled_users(self.stores.accounts.disabled_users().await?);
        Ok(())
    }
}
