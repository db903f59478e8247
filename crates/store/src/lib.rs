//! Durable state behind the ports of core.
//!
//! For one machine: SQLite in WAL mode. For many: PostgreSQL. All SQL is in this crate.

mod announcements;
mod backup;
mod copy;
mod folder;
mod inspect;
mod ledger;
mod offline;
mod open;
mod postgres;
mod probe;
mod rows;
mod sqlite;

pub use backup::{
    BackupColumn, BackupTable, FieldKind, LoadError, LoadedTable, MAX_ROW_BYTES, RowError, SchemaVersion,
    SnapshotError, StoreKind, StoreLoad, StoreSnapshot, TableCheck, check_empty_store,
};
pub use copy::{CopiedTable, CopyError, copy_store};
pub use folder::{create_private_folder, restrict_file};
pub use inspect::{StoreState, inspect_store};
pub use offline::{append_audit, known_key_of, list_token, verify_audit};
pub use open::{OpenError, StoreSettings, open};
pub use postgres::{PostgresSettings, PostgresStore};
pub use sqlite::{SqliteSettings, SqliteStore};
