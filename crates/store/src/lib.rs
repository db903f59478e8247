//! Durable state behind the ports of core.
//!
//! One machine: SQLite in WAL mode, and signals inside the process. SQL stays in this crate.

mod signals;
mod sqlite;

pub use signals::LocalSignals;
pub use sqlite::{OpenError, SqliteStore, StoreSettings, list_token};
