//! Which process began a call: whoever finds a key open asks whether that process lives. A process that lives holds the
//! lock of a file beside the database; the system gives it back however the process ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

use sqlx::SqlitePool;

/// This opening of the store, for as long as it lasts.
#[derive(Debug)]
pub(super) struct LedgerNode {
    pub(super) id: i64,
    database: PathBuf,
    /// Holds the lock. None where the system gave none: then others take this node for gone.
    lock: Option<File>,
}

impl LedgerNode {
    /// Takes a number that nobody had before, and its lock.
    pub(super) async fn register(write: &SqlitePool, database: &Path) -> Result<Self, sqlx::Error> {
        let id: i64 = sqlx::query_scalar("INSERT INTO ledger_nodes DEFAULT VALUES RETURNING id")
            .fetch_one(write)
            .await?;
        // The numbers go on without their rows.
        sqlx::query("DELETE FROM ledger_nodes WHERE id < ?").bind(id).execute(write).await?;
        let path = lock_path(database, id);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let locked = opened.and_then(|file| file.try_lock().map(|()| file).map_err(std::io::Error::from));
        if let Err(error) = &locked {
            tracing::warn!(%error, path = %path.display(), "cannot lock the file that says this server runs");
        }
        Ok(Self { id, database: database.to_owned(), lock: locked.ok() })
    }

    /// Whether a node is this one, or runs in another process.
    pub(super) fn is_alive(&self, node: i64) -> bool {
        if node == self.id {
            return true;
        }
        let path = lock_path(&self.database, node);
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { return false };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => true,
            Ok(()) => {
                // Nobody needs it any more.
                let _ = std::fs::remove_file(&path);
                false
            }
            Err(TryLockError::Error(_)) => false,
        }
    }
}

impl Drop for LedgerNode {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            let _ = std::fs::remove_file(lock_path(&self.database, self.id));
        }
    }
}

fn lock_path(database: &Path, node: i64) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(format!("-node-{node}"));
    name.into()
}
