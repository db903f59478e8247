//! Data that plugins keep between calls: in memory, or in one file for each plugin. The size is limited.
//!
//! A file is replaced atomically, so that it is never read half-written. If two programs use one folder at the same time, the
//! last write wins.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use toolyard_sandbox::{PluginStorage, StorageError, StorageQuota};

use crate::TRACE_TARGET;

/// A byte of a key can take six bytes in JSON: `\u0000`.
const WIDEST_BYTE: usize = 6;
/// Upper bound for the quotes, colon and comma of an entry.
const ENTRY_BYTES: usize = 16;

/// Where plugins keep their data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoragePlace {
    /// In memory, until the program ends.
    Memory,
    /// In this folder, one file for each plugin and signer. It is created on the first write.
    Folder(PathBuf),
}

type StoredEntries = BTreeMap<String, Box<RawValue>>;

/// The data of all plugins.
pub(super) struct StorageBackends {
    place: StoragePlace,
    /// Largest file that is read.
    most: usize,
    /// The open backends. Two plugins of one name share one, so that neither overwrites the other.
    open: Mutex<BTreeMap<String, Arc<Mutex<StorageBackend>>>>,
}

impl StorageBackends {
    pub(super) fn new(place: StoragePlace, quota: StorageQuota) -> Self {
        let most =
            quota.bytes.saturating_mul(WIDEST_BYTE).saturating_add(quota.keys.saturating_mul(ENTRY_BYTES));
        Self { place, most, open: Mutex::default() }
    }

    /// The storage with this name, which is also the file name.
    pub(super) fn open(&self, name: &str, quota: StorageQuota) -> Arc<dyn PluginStorage> {
        let mut open = self.open.lock();
        let shelf = open.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Mutex::new(match &self.place {
                StoragePlace::Memory => StorageBackend::Memory(StoredEntries::new()),
                StoragePlace::Folder(folder) => {
                    StorageBackend::File { path: folder.join(format!("{name}.json")), most: self.most }
                }
            }))
        });
        Arc::new(QuotaStorage { backend: shelf.clone(), quota })
    }
}

/// The data of one plugin.
enum StorageBackend {
    Memory(StoredEntries),
    File { path: PathBuf, most: usize },
}

impl StorageBackend {
    fn read_entries(&self) -> io::Result<StoredEntries> {
        match self {
            Self::Memory(entries) => Ok(entries.clone()),
            Self::File { path, most } => read_entries_file(path, *most),
        }
    }

    fn write_entries(&mut self, new: StoredEntries) -> io::Result<()> {
        match self {
            Self::Memory(entries) => *entries = new,
            Self::File { path, .. } => write_entries_file(path, &new)?,
        }
        Ok(())
    }
}

fn read_entries_file(path: &Path, most: usize) -> io::Result<StoredEntries> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(StoredEntries::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(serde_json::from_slice(&bytes)?)
}

fn write_entries_file(path: &Path, entries: &StoredEntries) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // Only its owner can read it.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(entries)?)?;
    file.persist(path)?;
    Ok(())
}

/// The storage of a plugin, with its quota.
struct QuotaStorage {
    backend: Arc<Mutex<StorageBackend>>,
    quota: StorageQuota,
}

impl QuotaStorage {
    /// Runs disk I/O on a blocking thread.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut StorageBackend) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let shelf = self.backend.clone();
        let working = move || work(&mut shelf.lock());
        let done = tokio::task::spawn_blocking(working).await.map_err(io::Error::other);
        done.and_then(|done| done).map_err(|error| {
            // The plugin must not see paths, so they are only logged.
            tracing::warn!(target: TRACE_TARGET, %error, "plugin storage failed");
            StorageError::Unavailable
        })
    }
}

/// Checks whether one more entry fits. The entry that it replaces does not count.
fn check_quota(
    entries: &StoredEntries,
    key: &str,
    value: &str,
    quota: StorageQuota,
) -> Result<(), StorageError> {
    let others = || entries.iter().filter(|(other, _)| *other != key);
    if others().count() >= quota.keys {
        return Err(StorageError::Full { limit: format!("{} keys", quota.keys) });
    }
    let stored: usize = others().map(|(key, value)| key.len() + value.get().len()).sum();
    if stored + key.len() + value.len() > quota.bytes {
        return Err(StorageError::Full { limit: format!("{} bytes", quota.bytes) });
    }
    Ok(())
}

#[async_trait]
impl PluginStorage for QuotaStorage {
    async fn get(&self, key: &str) -> Result<Option<String>, StorageError> {
        let key = key.to_owned();
        self.run_blocking(move |shelf| {
            Ok(shelf.read_entries()?.get(&key).map(|value| value.get().to_owned()))
        })
        .await
    }

    async fn set(&self, key: &str, value: &str) -> Result<(), StorageError> {
        let (key, value, quota) = (key.to_owned(), value.to_owned(), self.quota);
        self.run_blocking(move |shelf| {
            let mut entries = shelf.read_entries()?;
            if let Err(full) = check_quota(&entries, &key, &value, quota) {
                return Ok(Err(full));
            }
            entries.insert(key, RawValue::from_string(value)?);
            shelf.write_entries(entries).map(Ok)
        })
        .await?
    }

    async fn delete(&self, key: &str) -> Result<bool, StorageError> {
        let key = key.to_owned();
        self.run_blocking(move |shelf| {
            let mut entries = shelf.read_entries()?;
            let was_there = entries.remove(&key).is_some();
            if was_there {
                shelf.write_entries(entries)?;
            }
            Ok(was_there)
        })
        .await
    }

    async fn keys(&self) -> Result<Vec<String>, StorageError> {
        self.run_blocking(|shelf| Ok(shelf.read_entries()?.into_keys().collect())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: StorageQuota = StorageQuota { keys: 2, bytes: 10 };

    fn places() -> (tempfile::TempDir, [StoragePlace; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let place = StoragePlace::Folder(folder.path().join("data"));
        (folder, [StoragePlace::Memory, place])
    }

    #[tokio::test]
    async fn the_quota_applies_to_both_backends_and_replacing_counts_once() {
        let (_folder, places) = places();
        for place in places {
            let storage = StorageBackends::new(place, SMALL).open("a.b", SMALL);
            storage.set("a", "1234").await.unwrap();
            storage.set("a", "123456789").await.unwrap();
            let full = storage.set("b", "1").await.unwrap_err();
            assert_eq!(full, StorageError::Full { limit: "10 bytes".to_owned() });
            storage.set("a", "1").await.unwrap();
            storage.set("b", "1").await.unwrap();
            let full = storage.set("c", "1").await.unwrap_err();
            assert_eq!(full, StorageError::Full { limit: "2 keys".to_owned() });
            assert!(storage.delete("a").await.unwrap() && !storage.delete("a").await.unwrap());
            assert_eq!(storage.keys().await.unwrap(), ["b"]);
            assert_eq!(
                (storage.get("a").await.unwrap(), storage.get("b").await.unwrap()),
                (None, Some("1".to_owned()))
            );
        }
    }

    #[tokio::test]
    async fn files_in_a_folder_are_readable_by_their_owner_only() {
        let (folder, [_, place]) = places();
        let open = |name: &str| {
            StorageBackends::new(place.clone(), StorageQuota::default()).open(name, StorageQuota::default())
        };
        open("a.k").set("list", r#"[1,{"a":"ü"}]"#).await.unwrap();
        assert_eq!(open("a.k").get("list").await.unwrap().unwrap(), r#"[1,{"a":"ü"}]"#);
        assert_eq!(open("a.other").keys().await.unwrap(), Vec::<String>::new());
        let files: Vec<_> = std::fs::read_dir(folder.path().join("data")).unwrap().collect();
        assert_eq!(files.len(), 1, "nothing is left beside it: {files:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(folder.path().join("data/a.k.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_or_invalid_is_not_read() {
        let (folder, [_, place]) = places();
        let most = SMALL.bytes * WIDEST_BYTE + SMALL.keys * ENTRY_BYTES;
        std::fs::create_dir(folder.path().join("data")).unwrap();
        for (text, expected) in [
            (format!("{{}}{}", " ".repeat(most - 2)), Ok(None)),
            (format!("{{}}{}", " ".repeat(most - 1)), Err(StorageError::Unavailable)),
            ("{".to_owned(), Err(StorageError::Unavailable)),
        ] {
            std::fs::write(folder.path().join("data/a.json"), text).unwrap();
            assert_eq!(StorageBackends::new(place.clone(), SMALL).open("a", SMALL).get("x").await, expected);
        }
        // The widest keys still fit into what is read.
        let storage = StorageBackends::new(place, SMALL).open("w", SMALL);
        storage.set("\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}", "1").await.unwrap();
        assert_eq!(storage.keys().await.unwrap().len(), 1);
    }
}
