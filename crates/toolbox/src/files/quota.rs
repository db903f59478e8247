//! How much one user may write: files and folders, and bytes.
//!
//! In a user's own folder, its contents count. In a shared folder the owner of a file is unknown, so what a user has
//! added since the program started counts.

use std::collections::HashMap;
use std::sync::Arc;

use cap_std::fs::Dir;
use parking_lot::{Mutex, MutexGuard};

use super::FileToolError;

/// How much a user may write in one root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteQuota {
    /// Files and folders.
    pub files: usize,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// Disk usage of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DiskUsage {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// What may still be written.
#[derive(Debug, Clone)]
pub(super) enum WriteAllowance {
    Unlimited,
    /// The folder belongs to one user.
    Folder(WriteQuota),
    /// The folder is shared.
    Budget(Arc<Mutex<DiskUsage>>, WriteQuota),
}

/// What each user has written to a shared root.
#[derive(Debug, Default)]
pub(super) struct SharedBudgets {
    spent: Mutex<HashMap<String, Arc<Mutex<DiskUsage>>>>,
    writing: Mutex<()>,
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl SharedBudgets {
    pub(super) fn user_allowance(&self, user: &str, quota: WriteQuota) -> WriteAllowance {
        let spent = lock_unpoisoned(&self.spent).entry(user.to_owned()).or_default().clone();
        WriteAllowance::Budget(spent, quota)
    }

    pub(super) fn lock_writes(&self) -> MutexGuard<'_, ()> {
        lock_unpoisoned(&self.writing)
    }
}

impl WriteAllowance {
    /// Checks that this much more fits. `freed` is what a replaced file frees.
    pub(super) fn check_fits(&self, dir: &Dir, more: DiskUsage, freed: u64) -> Result<(), FileToolError> {
        let (used, quota) = match self {
            Self::Unlimited => return Ok(()),
            Self::Folder(quota) => (
                measure_usage(dir, *quota).map_err(|error| FileToolError::from_io(&error, "the folder"))?,
                quota,
            ),
            Self::Budget(spent, quota) => (*lock_unpoisoned(spent), quota),
        };
        let bytes = (used.bytes + more.bytes).saturating_sub(freed);
        if used.files + more.files > quota.files || bytes > quota.bytes {
            return Err(FileToolError::Full { files: quota.files, bytes: quota.bytes });
        }
        Ok(())
    }

    /// Records what was written. `freed` is what a replaced file freed, of any user: what counts is how much
    /// a user adds to the folder.
    pub(super) fn record_written(&self, more: DiskUsage, freed: u64) {
        if let Self::Budget(spent, _) = self {
            let mut spent = lock_unpoisoned(spent);
            spent.files += more.files;
            spent.bytes = (spent.bytes + more.bytes).saturating_sub(freed);
        }
    }
}

/// Measures a folder, until the quota is exceeded.
fn measure_usage(dir: &Dir, quota: WriteQuota) -> std::io::Result<DiskUsage> {
    let mut usage = DiskUsage::default();
    let mut folders = vec![".".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in dir.read_dir(&folder)? {
            let entry = entry?;
            usage.files += 1;
            // Of the entry itself, not of a link's target.
            let data = entry.metadata()?;
            if data.is_dir() {
                folders.push(format!("{folder}/{}", entry.file_name().to_string_lossy()));
            } else {
                usage.bytes = usage.bytes.saturating_add(data.len());
            }
            if usage.files > quota.files || usage.bytes > quota.bytes {
                return Ok(usage);
            }
        }
    }
    Ok(usage)
}
