//! Health checks and shutdown of the store.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{KnownKey, LedgerBacklog, PruneBefore, StoreError, StoreMaintenance};

use super::SqliteStore;
use crate::rows::store_error;

#[async_trait]
impl StoreMaintenance for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").execute(&self.read).await.map(drop).map_err(store_error)?;
        self.probe.check(self.write_probe()).await?;
        self.ledger.check()
    }

    fn backlog(&self) -> LedgerBacklog {
        self.ledger.backlog()
    }

    async fn prune(&self, before: PruneBefore, stopping: &CancellationToken) -> Result<(), StoreError> {
        self.prune_all(before, stopping).await
    }

    async fn known_key(&self) -> Result<KnownKey, StoreError> {
        self.read_known_key().await
    }

    async fn set_key_check(&self, before: &KnownKey, check: &[u8]) -> Result<bool, StoreError> {
        self.write_key_check(before, check).await
    }

    async fn close(&self) {
        self.ledger.stop().await;
        self.read.close().await;
        self.write.close().await;
        self.folder.release();
    }
}
