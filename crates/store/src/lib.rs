//! Durable state behind the ports of core.
//!
//! One machine: SQLite in WAL mode, and announcements inside the process. SQL stays in this crate.

mod announcements;
mod folder;
mod open;
mod sqlite;

pub use folder::{create_private_folder, restrict_file};
pub use open::open;
pub use sqlite::{OpenError, SqliteStore, StoreSettings, known_key_of, list_token};
