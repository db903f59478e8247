//! Backups: everything that is stored, in one file, and back into an empty store of either kind.
//!
//! A file is a header, then the manifest and the rows, compressed and, with a passphrase, encrypted. docs/operating.md describes
//! the format. Files are read and written synchronously: this is for commands, not for the worker threads of a server.

mod archive;
mod header;
mod restore;
mod seal;
mod write;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolyard_store::{BackupTable, SchemaVersion};

pub use self::{
    archive::{ArchiveError, BackupArchive},
    header::MIN_PASSPHRASE_CHARS,
    restore::{RestoreError, RestoreMode, RestoreReport, RestoredKey, restore_backup},
    write::{BackupError, BackupRequest, write_backup},
};
pub use toolyard_store::{LoadError, LoadedTable, SnapshotError, StoreKind};

/// What a backup contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupManifest {
    /// The version of the program that made it.
    pub product_version: String,
    /// When the snapshot was taken.
    pub created_at: Timestamp,
    /// The kind of store that it was made from.
    pub store: StoreKind,
    /// The tables of that program.
    pub schema: SchemaVersion,
    /// The value that verifies the root key, in hexadecimal. Missing if the store knew none.
    pub root_key_check: Option<String>,
    /// Whether the root key is inside.
    pub has_root_key: bool,
    /// The tables, in the order in which they follow.
    pub tables: Vec<BackupTable>,
}

impl BackupManifest {
    /// The number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// Whether this program has the same tables, and can restore the backup.
    pub fn fits_this_version(&self) -> bool {
        self.schema == SchemaVersion::current()
    }
}
