//! Durable state behind the ports of core.
//!
//! One machine: SQLite in WAL mode, and signals inside the process. SQL stays in this crate.

mod folder;
mod signals;
mod sqlite;

pub use folder::{create_private_folder, restrict_file};
pub use signals::LocalSignals;
pub use sqlite::{KnownKey, OpenError, PruneBefore, SqliteStore, StoreSettings, known_key_of, list_token};
