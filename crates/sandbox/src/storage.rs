//! Storage for plugins: a port, and an implementation in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;

/// The data of one plugin for one user. The sandbox checks the size of a key and of a value before it calls; the
/// storage limits the total.
#[async_trait]
pub trait PluginStorage: Send + Sync {
    /// The value under a key, as JSON.
    async fn get(&self, key: &str) -> Result<Option<String>, StorageError>;
    /// Stores or replaces a value.
    async fn set(&self, key: &str, value: &str) -> Result<(), StorageError>;
    /// Deletes a value; returns whether there was one.
    async fn delete(&self, key: &str) -> Result<bool, StorageError>;
    /// All keys, sorted.
    async fn keys(&self) -> Result<Vec<String>, StorageError>;
}

/// Why a storage call failed. The plugin sees the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    #[error("the storage is full ({limit}); delete something first")]
    Full { limit: String },
    /// The text must not reveal more than a plugin may know.
    #[error("the storage cannot be reached now")]
    Unavailable,
}

/// The limits of a storage.
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

/// Stores everything in memory.
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
