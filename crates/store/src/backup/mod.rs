//! A portable copy of a store: its tables as lines of text, the same from either database.
//!
//! A backup is written from a snapshot ([`StoreSnapshot`]) while a server uses the store, and loaded into an empty store of either
//! kind ([`StoreLoad`]). What surrounds the rows in a file (manifest, compression, encryption) is not here.

mod check;
mod load;
mod load_postgres;
mod load_sqlite;
mod read;
mod snapshot;

use serde::{Deserialize, Serialize};

pub use self::{
    check::{RowError, TableCheck},
    load::{LoadError, LoadedTable, StoreLoad, check_empty_store},
    snapshot::{SnapshotError, StoreSnapshot},
};
use crate::{
    StoreSettings,
    copy::tables::{ColumnKind, CopiedColumn},
    postgres, sqlite,
};

/// The largest row of a backup in text form. The largest that a server writes has a few megabytes.
pub const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// A file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
}

impl StoreKind {
    /// The kind of a configured store.
    pub fn from_settings(settings: &StoreSettings) -> Self {
        match settings {
            StoreSettings::Sqlite(_) => Self::Sqlite,
            StoreSettings::Postgres(_) => Self::Postgres,
        }
    }
}

/// The last migration of each kind of database. Both are the same in two programs whose stores have the same tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaVersion {
    /// In `migrations/sqlite`.
    pub sqlite: i64,
    /// In `migrations/postgres`.
    pub postgres: i64,
}

impl SchemaVersion {
    /// That of this program.
    pub fn current() -> Self {
        let last = |steps: sqlx::migrate::Migrator| steps.iter().map(|step| step.version).max();
        Self {
            sqlite: last(sqlite::migrations()).unwrap_or_default(),
            postgres: last(postgres::migrations()).unwrap_or_default(),
        }
    }

    /// Whether a store of `self` has tables that a program of `other` does not know.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.sqlite > other.sqlite || self.postgres > other.postgres
    }
}

/// The type of the values in a column. A flag is the integer 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
    /// A signed number of 64 bits.
    Integer,
}

impl FieldKind {
    fn from_column(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Self::Text,
            ColumnKind::Bytes => Self::Bytes,
            ColumnKind::Integer | ColumnKind::Flag => Self::Integer,
        }
    }

    fn to_column(self) -> ColumnKind {
        match self {
            Self::Text => ColumnKind::Text,
            Self::Bytes => ColumnKind::Bytes,
            Self::Integer => ColumnKind::Integer,
        }
    }
}

/// A column of a table in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: FieldKind,
}

/// A table in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupTable {
    /// Its name.
    pub name: String,
    /// Its columns, in the order of the fields of a row.
    pub columns: Vec<BackupColumn>,
    /// How many rows it has.
    pub rows: u64,
    /// A digest of its rows, independent of their order.
    pub digest: String,
}

/// The columns as they are described in a backup: sorted by name, so that both databases agree.
fn sort_columns(mut columns: Vec<CopiedColumn>) -> Vec<CopiedColumn> {
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    columns
}

fn describe_columns(columns: &[CopiedColumn]) -> Vec<BackupColumn> {
    let describe = |column: &CopiedColumn| BackupColumn {
        name: column.name.clone(),
        kind: FieldKind::from_column(column.kind),
    };
    columns.iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use toolyard_testkit::postgres::TestDatabase;

    use super::*;
    use crate::{
        PostgresSettings, SqliteSettings,
        copy::tables::{COPIED_TABLES, columns_of, sqlite_columns_of},
    };

    /// A backup of one kind can be restored into the other because of this.
    #[tokio::test]
    async fn both_databases_describe_their_tables_alike() {
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteSettings::for_file(folder.path().join("t.db"));
        let (_folder, mut sqlite) = sqlite::prepare_file(&file).await.unwrap();
        let database = TestDatabase::create();
        let settings = PostgresSettings::for_url(&database.url);
        postgres::prepare_database(&settings).await.unwrap();
        let mut postgres = settings.connect_once().await.unwrap();
        for table in COPIED_TABLES {
            let in_sqlite = sqlite_columns_of(&mut sqlite, table).await.unwrap();
            let in_postgres = columns_of(&mut postgres, table).await.unwrap();
            assert!(!in_sqlite.is_empty(), "{table}");
            assert_eq!(
                describe_columns(&sort_columns(in_sqlite)),
                describe_columns(&sort_columns(in_postgres)),
                "{table}"
            );
        }
    }

    #[test]
    fn versions_of_tables_are_compared() {
        let current = SchemaVersion::current();
        assert!(current.sqlite >= 24 && current.postgres >= 3);
        let newer = SchemaVersion { postgres: current.postgres + 1, ..current };
        assert!(newer.is_newer_than(&current) && !current.is_newer_than(&newer));
        assert!(!current.is_newer_than(&current));
    }
}
