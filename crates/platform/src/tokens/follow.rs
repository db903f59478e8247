//! How the signer follows revocations, from any node.

use async_trait::async_trait;
use toolyard_core::ports::{Announcement, Change, ChangeSubscriber, StoreError};

use crate::Platform;

#[async_trait]
impl ChangeSubscriber for Platform {
    fn invalidate(&self, change: &Change) {
        match change {
            Change::TokenRevoked { id, expires_at, .. } => self.tokens.mark_revoked(id.clone(), *expires_at),
            Change::UserDisabled(user) => self.tokens.disable_user(user),
            Change::UserEnabled(user) => self.tokens.enable_user(user),
            _ => {}
        }
    }

    async fn follow(&self, announcement: &Announcement) {
        if announcement.change != Change::Everything {
            return;
        }
        if let Err(error) = self.load_revoked_tokens().await {
            tracing::error!(%error, "revoked tokens not loaded");
        }
        if let Err(error) = self.load_disabled_users().await {
            tracing::error!(%error, "disabled users not loaded");
        }
    }
}

impl Platform {
    /// Loads the revoked tokens and grants, and the ended sessions, that have not expired.
    pub async fn load_revoked_tokens(&self) -> Result<(), StoreError> {
        for (id, expires_at) in self.stores.tokens.revoked_tokens(self.clock.now()).await? {
            self.tokens.mark_revoked(id, expires_at);
        }
        for (id, expires_at) in self.stores.browser_sessions.ended_browser_sessions(self.clock.now()).await? {
            self.tokens.mark_revoked(id, expires_at);
        }
        for (id, expires_at) in self.stores.oauth.revoked_client_grants(self.clock.now()).await? {
            self.tokens.mark_revoked(id, expires_at);
        }
        Ok(())
    }
}
