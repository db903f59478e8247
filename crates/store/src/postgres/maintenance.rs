//! Health checks and shutdown of the store.

use std::path::Path;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{KnownKey, LedgerBacklog, PruneBefore, StoreError, StoreMaintenance};

use super::PostgresStore;
use crate::rows::store_error;

impl PostgresStore {
    /// Writes something: a database that was failed over may accept connections but no writes.
    async fn write_probe(&self) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO store_state (name, value) VALUES ('probe', uuid_send(gen_random_uuid()))
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}

#[async_trait]
impl StoreMaintenance for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.probe.check(self.write_probe()).await?;
        self.ledger.check()
    }

    fn backlog(&self) -> LedgerBacklog {
        self.ledger.backlog()
    }

    async fn prune(&self, before: PruneBefore, stopping: &CancellationToken) -> Result<(), StoreError> {
        self.prune_all(before, stopping).await
    }

    async fn backup(&self, _: &Path) -> Result<(), StoreError> {
        Err(StoreError::Failed("a PostgreSQL database is backed up by pg_dump, not by the server".to_owned()))
    }

    async fn known_key(&self) -> Result<KnownKey, StoreError> {
        let query = sqlx::query_scalar!("SELECT value FROM store_state WHERE name = 'root_key_check'");
        let check = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(check.map_or(KnownKey::None, KnownKey::Check))
    }

    async fn set_key_check(&self, before: &KnownKey, check: &[u8]) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "INSERT INTO store_state AS known (name, value) VALUES ('root_key_check', $1)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE known.value = $2",
            check,
            before.check()
        );
        let saved = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(saved.rows_affected() > 0)
    }

    async fn close(&self) {
        self.ledger.stop().await;
        self.node.end(&self.pool).await;
        self.pool.close().await;
    }
}
