//! How the signer follows revocations, from any node.

use async_trait::async_trait;
use toolyard_core::ports::{Announcement, Change, ChangeSubscriber, StoreError};

use crate::Platform;

#[async_trait]
impl ChangeSubscriber for Platform {
    fn invalidate(&self, change: &Change) {
        if let Change::TokenRevoked { id, expires_at, .. } = change {
            self.tokens.mark_revoked(id.clone(), *expires_at);
        }
    }

    async fn follow(&self, announcement: &Announcement) {
        if announcement.change == Change::Everything
            && let Err(error) = self.load_revoked_tokens().await
        {
            tracing::error!(%error, "revoked tokens not loaded");
        }
    }
}

impl Platform {
    /// Loads the revoked tokens and grants that have not expired.
    pub async fn load_revoked_tokens(&self) -> Result<(), StoreError> {
        for (id, expires_at) in self.stores.tokens.revoked_tokens(self.clock.now()).await? {
            self.tokens.mark_revoked(id, expires_at);
        }
        for (id, expires_at) in self.stores.oauth.revoked_client_grants(self.clock.now()).await? {
            self.tokens.mark_revoked(id, expires_at);
        }
        Ok(())
    }
}
