//! A plugin's data for one user, behind the sandbox's storage port.

use std::sync::Arc;

use async_trait::async_trait;
use toolyard_core::ports::{PluginDataQuota, PluginDataStore, PluginNamespace, StoreError};
use toolyard_sandbox::{PluginStorage, StorageError};

/// The storage of one plugin for one user, as long as the same key signs it. The plugin cannot reach any other.
pub(super) struct UserStorage {
    pub(super) data: Arc<dyn PluginDataStore>,
    pub(super) shelf: PluginNamespace,
    pub(super) room: PluginDataQuota,
}

fn storage_unavailable(error: StoreError) -> StorageError {
    tracing::error!(%error, "plugin storage failed");
    StorageError::Unavailable
}

#[async_trait]
impl PluginStorage for UserStorage {
    async fn get(&self, key: &str) -> Result<Option<String>, StorageError> {
        self.data.read_value(&self.shelf, key).await.map_err(storage_unavailable)
    }

    async fn set(&self, key: &str, value: &str) -> Result<(), StorageError> {
        let set = self.data.set_value(&self.shelf, key, value, self.room).await;
        if set.map_err(storage_unavailable)? {
            Ok(())
        } else {
            Err(StorageError::Full { limit: format!("{} keys, {} bytes", self.room.keys, self.room.bytes) })
        }
    }

    async fn delete(&self, key: &str) -> Result<bool, StorageError> {
        self.data.remove_value(&self.shelf, key).await.map_err(storage_unavailable)
    }

    async fn keys(&self) -> Result<Vec<String>, StorageError> {
        self.data.list_value_keys(&self.shelf).await.map_err(storage_unavailable)
    }
}
