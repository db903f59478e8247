//! Health checks, backup and shutdown of the store.

use std::path::Path;

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

    async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let Some(file) = to.to_str() else {
            return Err(StoreError::Failed(format!("{} is not UTF-8", to.display())));
        };
        // SQLite would make it world-readable, but it accepts an existing empty file.
        crate::folder::create_private_file(to)
            .map_err(|error| StoreError::Failed(format!("cannot create {}: {error}", to.display())))?;
        // On a read connection, so that calls and changes continue meanwhile.
        sqlx::query("VACUUM INTO ?").bind(file).execute(&self.read).await.map(drop).map_err(store_error)
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

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;
    use toolyard_core::ports::AppStore as _;

    use super::*;
    use crate::SqliteSettings;

    #[tokio::test]
    async fn a_backup_is_a_store_of_its_own_and_never_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskTracker::new();
        let store =
            SqliteStore::open(SqliteSettings::for_file(folder.path().join("a/t.db")), &tasks).await.unwrap();
        toolyard_testkit::store_suite::publish_one(&store, 1).await;
        let apps = store.list_apps(None).await.unwrap();
        let copy = folder.path().join("b/t.db");
        crate::create_private_folder(copy.parent().unwrap()).unwrap();
        store.backup(&copy).await.unwrap();
        assert!(store.backup(&copy).await.unwrap_err().to_string().contains("t.db"));
        let restored = SqliteStore::open(SqliteSettings::for_file(&copy), &tasks).await.unwrap();
        assert_eq!(restored.list_apps(None).await.unwrap().len(), apps.len());
        store.close().await;
        restored.close().await;
    }
}
