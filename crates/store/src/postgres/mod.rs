//! PostgreSQL: a pool for everything but the ledger, and one connection for that.
//!
//! SQLite has one writer, so a transaction there may read first and write later. Here any number of nodes write at once, so
//! every transaction that decides by what it read takes locks first: see [`WriteLock`]. Changes of state that are one
//! conditional statement need none.

mod accounts;
mod app_data;
mod approval_rules;
mod approvals;
mod apps;
mod audit;
mod browser_sessions;
mod call_log;
mod changes;
mod cluster;
mod definitions;
mod device_logins;
mod devices;
mod installs;
mod labels;
mod ledger;
mod locks;
mod maintenance;
mod node;
mod oauth;
mod personal_data;
mod pins;
mod plugins;
mod pool;
mod preferences;
mod prune;
mod published_plugins;
mod push;
mod quarantine;
mod runs;
mod settings;
mod sign_in;
mod tokens;
mod upstreams;
mod usage;

use std::sync::Arc;

use sqlx::{Connection as _, PgConnection, Postgres, Transaction, migrate::Migrator, pool::PoolConnection};
use tokio_util::task::TaskTracker;
use toolyard_core::{
    LiveValue,
    ports::{StoreError, StoreQuotas},
};

pub use self::pool::PostgresSettings;
pub(crate) use self::{
    audit::{append_offline as append_audit_offline, verify_offline as verify_audit_offline},
    maintenance::{known_key, known_key_of},
    tokens::list_token,
};
use self::{
    changes::PostgresChangeLog,
    ledger::PostgresLedger,
    locks::{WriteLock, take_locks},
    node::Node,
    pool::ConnectionPool,
};
use crate::{
    ledger::{BatchSettings, LedgerWriter},
    open::OpenError,
    probe::WriteProbe,
    rows::store_error,
};

/// The oldest server that the tests run with.
const MIN_SERVER_VERSION: i32 = 15;

/// The store on PostgreSQL.
pub struct PostgresStore {
    pool: Arc<ConnectionPool>,
    ledger: LedgerWriter,
    node: Node,
    quotas: LiveValue<StoreQuotas>,
    probe: WriteProbe,
}

impl PostgresStore {
    /// Opens the store, creates or migrates its tables, and starts the ledger's writer on `tasks`.
    pub async fn open(settings: PostgresSettings, tasks: &TaskTracker) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Database { database: settings.shown_url(), error };
        prepare_database(&settings).await?;
        let pool = Arc::new(ConnectionPool::new(&settings).map_err(failed)?);
        let node = Node::start(&settings, tasks).await?;
        let options = settings.connect_options().map_err(failed)?;
        let batches = BatchSettings { delay: settings.batch_delay, size: settings.batch_size };
        let ledger = LedgerWriter::start(
            PostgresLedger::new(options, node.mark, settings.statement_timeout * 2),
            batches,
            tasks,
        );
        let ledger = ledger.map_err(OpenError::Thread)?;
        Ok(Self { pool, ledger, node, quotas: settings.quotas.clone(), probe: WriteProbe::default() })
    }

    /// The change log of this store.
    pub(crate) fn change_log(&self) -> PostgresChangeLog {
        PostgresChangeLog(self.pool.clone())
    }

    /// A connection.
    async fn connect(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.pool.acquire().await
    }

    /// Begins a transaction that has `locks` to itself. Dropped without a commit, it changes nothing.
    async fn begin(&self, locks: &[WriteLock<'_>]) -> Result<Transaction<'static, Postgres>, StoreError> {
        let connection = self.pool.acquire().await?;
        let mut tx = Transaction::begin(connection, None).await.map_err(store_error)?;
        take_locks(&mut tx, locks).await?;
        Ok(tx)
    }
}

/// Checks the server and migrates the tables. Nodes that start at once wait for each other. On a connection of its own, because a
/// migration may take longer than a statement may otherwise.
pub(crate) async fn prepare_database(settings: &PostgresSettings) -> Result<(), OpenError> {
    let failed = |error| OpenError::Database { database: settings.shown_url(), error };
    let mut connection = settings.connect_once().await.map_err(failed)?;
    if let Some(reason) = find_unsuitable(&mut connection).await.map_err(failed)? {
        return Err(OpenError::Unsuitable { database: settings.shown_url(), reason });
    }
    let migrated = migrations().run(&mut connection).await;
    migrated.map_err(|error| OpenError::migration(settings.shown_url(), error))?;
    connection.close().await.map_err(failed)
}

/// The steps that create the tables.
pub(crate) fn migrations() -> Migrator {
    sqlx::migrate!("./migrations/postgres")
}

/// Why the database cannot be used, and what to do.
pub(crate) async fn find_unsuitable(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    let sql = "SELECT current_setting('server_version_num')::INT / 10000, current_setting('server_encoding')";
    let (version, encoding): (i32, String) = sqlx::query_as(sql).fetch_one(connection).await?;
    Ok(if version < MIN_SERVER_VERSION {
        Some(format!("it is PostgreSQL {version}; {MIN_SERVER_VERSION} or later is needed"))
    } else if encoding != "UTF8" {
        Some(format!(
            "its encoding is {encoding}; create the database with ENCODING 'UTF8' TEMPLATE template0"
        ))
    } else {
        None
    })
}
