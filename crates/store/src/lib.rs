//! Durable state behind the ports of core.
//!
//! For one machine: SQLite in WAL mode, and announcements inside the process. All SQL is in this crate.

mod announcements;
mod folder;
mod inspect;
mod open;
mod sqlite;

pub use folder::{create_private_folder, restrict_file};
pub use inspect::is_database;
pub use open::open;
pub use sqlite::{OpenError, SqliteStore, StoreSettings, known_key_of, list_token};
