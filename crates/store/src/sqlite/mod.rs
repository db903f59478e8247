//! SQLite: one writer, some readers, and one connection for the ledger.
//!
//! Definitions, installs and settings are written rarely and one at a time. The ledger has its own connection, because
//! it writes batches all the time and its keys must be durable (`synchronous = FULL`), which nothing else needs.

mod accounts;
mod app_data;
mod approval_rules;
mod approvals;
mod apps;
mod audit;
mod browser_sessions;
mod call_keys;
mod call_log;
mod changes;
mod definitions;
mod device_logins;
mod devices;
mod installs;
mod labels;
mod ledger;
mod maintenance;
mod node;
mod oauth;
mod personal_data;
mod pins;
mod plugins;
mod preferences;
mod prune;
mod published_plugins;
mod push;
mod quarantine;
mod runs;
mod settings;
mod sign_in;
mod state;
mod tokens;
mod upstreams;
mod usage;

use std::{path::PathBuf, time::Duration};

use sqlx::{
    Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
    migrate::Migrator,
    pool::PoolConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio_util::task::TaskTracker;
use toolyard_core::{
    LiveValue,
    ports::{AddTokenOutcome, IssuedToken, StoreError, StoreMaintenance as _, StoreQuotas, TokenQuota},
};

pub(crate) use self::{
    audit::{append_offline as append_audit_offline, verify_offline as verify_audit_offline},
    state::{known_key, known_key_of},
};
use self::{changes::SqliteChangeLog, ledger::SqliteLedger, node::NodeId};
use crate::{
    folder::DataFolder,
    ledger::{BatchSettings, LedgerWriter},
    open::OpenError,
    probe::WriteProbe,
    rows::{self, store_error},
};

/// How long a command waits for a server that writes to the same file.
const OFFLINE_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How the store is opened.
#[derive(Debug, Clone)]
pub struct SqliteSettings {
    /// The database file; its folder is created if missing.
    pub path: PathBuf,
    /// Number of read connections.
    pub readers: u32,
    /// How long a batch of the ledger may wait for more records.
    pub batch_delay: Duration,
    /// Records after which a batch is written at once. Calls wait if eight times as many are unwritten.
    pub batch_size: usize,
    /// How much one person may store. Replacing it changes an open store.
    pub quotas: LiveValue<StoreQuotas>,
    /// How long a write waits for another process that holds the write lock.
    pub busy_timeout: Duration,
}

impl SqliteSettings {
    /// The default settings for a database file.
    pub fn for_file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            readers: 4,
            batch_delay: Duration::from_millis(20),
            batch_size: 1_024,
            quotas: LiveValue::default(),
            busy_timeout: Duration::from_secs(5),
        }
    }
}

/// The store of one machine.
pub struct SqliteStore {
    read: SqlitePool,
    write: SqlitePool,
    ledger: LedgerWriter,
    node: NodeId,
    quotas: LiveValue<StoreQuotas>,
    probe: WriteProbe,
    folder: DataFolder,
}

impl SqliteStore {
    /// Opens the store, creates or migrates its tables, and starts the ledger's writer on `tasks`.
    pub async fn open(settings: SqliteSettings, tasks: &TaskTracker) -> Result<Self, OpenError> {
        let path = settings.path.clone();
        let folder = DataFolder::open(&path)?;
        let database = || path.display().to_string();
        let sqlite = |error| OpenError::Database { database: database(), error };
        let options = connect_options(&settings);
        let write = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options.clone())
            .await
            .map_err(sqlite)?;
        let migrated = migrations().run(&write).await;
        migrated.map_err(|error| OpenError::migration(database(), error))?;
        let read = SqlitePoolOptions::new()
            .max_connections(settings.readers.max(1))
            .connect_with(options.clone().read_only(true))
            .await
            .map_err(sqlite)?;
        let connection = SqliteConnection::connect_with(&options).await.map_err(sqlite)?;
        let node = NodeId::next(&write).await.map_err(sqlite)?;
        let batches = BatchSettings { delay: settings.batch_delay, size: settings.batch_size };
        let ledger = LedgerWriter::start(SqliteLedger::new(connection, options, node), batches, tasks);
        let (ledger, quotas) = (ledger.map_err(OpenError::Thread)?, settings.quotas.clone());
        Ok(Self { read, write, ledger, node, quotas, probe: WriteProbe::default(), folder })
    }

    /// A connection that only reads.
    pub(crate) async fn read_connection(&self) -> Result<PoolConnection<Sqlite>, sqlx::Error> {
        self.read.acquire().await
    }

    /// The change log of this store.
    pub(crate) fn change_log(&self) -> SqliteChangeLog {
        SqliteChangeLog(self.read.clone())
    }

    /// Begins a write transaction. It takes the write lock at once: a transaction that reads first and writes later
    /// fails if the ledger wrote in between, whatever its timeout.
    async fn begin_write(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        const BEGIN: &str = "BEGIN IMMEDIATE";
        match self.write.begin_with(BEGIN).await {
            // A commit failed, for example on a full disk. SQLite rolled back by itself, so the driver's rollback
            // failed too, and the driver counts the transaction as open.
            Err(sqlx::Error::InvalidSavePointStatement) => {
                let broken = self.write.acquire().await.map_err(store_error)?;
                let _ = broken.close().await;
                self.write.begin_with(BEGIN).await.map_err(store_error)
            }
            begun => begun.map_err(store_error),
        }
    }
}

/// How the store connects to its file.
fn connect_options(settings: &SqliteSettings) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(&settings.path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(settings.busy_timeout)
        .statement_cache_capacity(64)
}

/// Locks the folder of a file, creates the file if needed and migrates its tables, without serving from it. What is written on
/// the connection is on the disk when it is committed.
pub(crate) async fn prepare_file(
    settings: &SqliteSettings,
) -> Result<(DataFolder, SqliteConnection), OpenError> {
    let folder = DataFolder::open(&settings.path)?;
    let database = || settings.path.display().to_string();
    let options = connect_options(settings).synchronous(SqliteSynchronous::Full);
    let connected = SqliteConnection::connect_with(&options).await;
    let mut connection = connected.map_err(|error| OpenError::Database { database: database(), error })?;
    let migrated = migrations().run(&mut connection).await;
    migrated.map_err(|error| OpenError::migration(database(), error))?;
    Ok((folder, connection))
}

/// Adds a token to the list of a store that another process may have open. Creates the store if needed, so that a token
/// from before the first start can be listed and revoked as well.
pub(crate) async fn list_token(
    path: &std::path::Path,
    token: &IssuedToken,
    room: TokenQuota,
) -> Result<AddTokenOutcome, StoreError> {
    if !path.exists() {
        let tasks = TaskTracker::new();
        let store = SqliteStore::open(SqliteSettings::for_file(path), &tasks);
        store.await.map_err(|error| StoreError::Failed(error.to_string()))?.close().await;
    }
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(OFFLINE_BUSY_TIMEOUT);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(store_error)?;
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.map_err(store_error)?;
    let added = tokens::insert_token(&mut tx, token, room).await?;
    tx.commit().await.map_err(store_error)?;
    connection.close().await.map_err(store_error)?;
    Ok(added)
}

/// The steps that create the tables.
pub(crate) fn migrations() -> Migrator {
    sqlx::migrate!("./migrations/sqlite")
}

/// Runs a query that returns a count.
async fn count_rows(tx: &mut SqliteConnection, sql: &'static str, of: &str) -> Result<u64, StoreError> {
    let counted = sqlx::query_scalar::<_, i64>(sql).bind(of).fetch_one(tx).await.map_err(store_error)?;
    Ok(rows::to_u64(counted))
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::ToolSwitchStore as _;

    use super::*;

    #[tokio::test]
    async fn a_full_disk_is_noticed_and_forgotten_when_there_is_room_again() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        // This connection has no room.
        sqlx::query("PRAGMA max_page_count = 1").execute(&store.write).await.unwrap();
        let write = async |size: i32| {
            let mut tx = store.begin_write().await?;
            let sql = "INSERT OR REPLACE INTO store_state (name, value) VALUES ('test', zeroblob(?))";
            sqlx::query(sql).bind(size).execute(&mut *tx).await.map_err(store_error)?;
            tx.commit().await.map_err(store_error)
        };
        assert!(write(1_000_000).await.unwrap_err().to_string().contains("full"));
        // SQLite rolled the transaction back; the next one must not be treated as part of it.
        write(1_000_000).await.unwrap();
        assert!(store.list_switched_off(&"ada".parse().unwrap()).await.unwrap().is_empty());
        store.ping().await.unwrap();
        store.close().await;
    }
}
