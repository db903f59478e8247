//! Where a plugin keeps what it wants to find again: a port, and one that forgets when the process ends.

use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;

/// What one plugin has stored for one user. The sandbox checks the size of a key and of a value before it calls; how much
/// there may be in all is up to the storage.
#[async_trait]
pub trait PluginStorage: Send + Sync {
    /// The value under a key, as JSON.
    async fn get(&self, key: &str) -> Result<Option<String>, StorageError>;
    /// Stores or replaces.
    async fn set(&self, key: &str, value: &str) -> Result<(), StorageError>;
    /// Says whether there was something.
    async fn delete(&self, key: &str) -> Result<bool, StorageError>;
    /// All keys in order.
    async fn keys(&self) -> Result<Vec<String>, StorageError>;
}

/// Why nothing was stored or found. The plugin sees the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    #[error("the storage is full ({limit}); delete something first")]
    Full { limit: String },
    /// The text must not tell more than a plugin may know.
    #[error("the storage cannot be reached now")]
    Unavailable,
}

/// How much a storage holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageQuota {
    pub keys: usize,
    /// Keys and values together, in bytes.
    pub bytes: usize,
}

impl Default for StorageQuota {
    fn default() -> Self {
        Self { keys: 256, bytes: 1024 * 1024 }
    }
}

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    quota: StorageQuota,
    entries: Mutex<BTreeMap<String, String>>,
}

impl MemoryStorage {
    pub fn new(quota: StorageQuota) -> Self {
        Self { quota, entries: Mutex::default() }
    }

    fn lock_entries(&self) -> parking_lot::MutexGuard<'_, BTreeMap<String, String>> {
        self.entries.lock()
    }
}

#[async_trait]
impl PluginStorage for MemoryStorage {
    async fn get(&self, key: &str) -> Result<Option<String>, StorageError> {
        Ok(self.lock_entries().get(key).cloned())
    }

    async fn set(&self, key: &str, value: &str) -> Result<(), StorageError> {
        let mut entries = self.lock_entries();
        let others = || entries.iter().filter(|(other, _)| *other != key);
        if others().count() >= self.quota.keys {
            return Err(StorageError::Full { limit: format!("{} keys", self.quota.keys) });
        }
        let stored: usize = others().map(|(key, value)| key.len() + value.len()).sum();
        if stored + key.len() + value.len() > self.quota.bytes {
            return Err(StorageError::Full { limit: format!("{} bytes", self.quota.bytes) });
        }
        entries.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    async fn delete(&self, key: &str) -> Result<bool, StorageError> {
        Ok(self.lock_entries().remove(key).is_some())
    }

    async fn keys(&self) -> Result<Vec<String>, StorageError> {
        Ok(self.lock_entries().keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_quota_holds_and_replacing_counts_once() {
        let storage = MemoryStorage::new(StorageQuota { keys: 2, bytes: 10 });
        storage.set("a", "1234").await.unwrap();
        storage.set("a", "123456789").await.unwrap();
        let full = storage.set("b", "1").await.unwrap_err();
        assert_eq!(full.to_string(), "the storage is full (10 bytes); delete something first");
        storage.set("a", "1").await.unwrap();
        storage.set("b", "1").await.unwrap();
        let full = storage.set("c", "1").await.unwrap_err();
        assert_eq!(full, StorageError::Full { limit: "2 keys".into() });
        assert!(storage.delete("a").await.unwrap());
        assert!(!storage.delete("a").await.unwrap());
        storage.set("c", "1").await.unwrap();
        assert_eq!(storage.keys().await.unwrap(), ["b", "c"]);
        assert_eq!(storage.get("a").await.unwrap(), None);
    }
}
