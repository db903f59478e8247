//! Connections, and what happens while the database is down.

use std::{fmt, io, str::FromStr as _, time::Duration};

use parking_lot::Mutex;
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::{Instant, timeout};
use toolyard_core::{
    LiveValue,
    ports::{StoreError, StoreQuotas},
};

use crate::rows::store_error;

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that was idle for longer is checked before it is used: the database may have been restarted.
const CHECK_AFTER_IDLE: Duration = Duration::from_secs(1);
/// How long the first pause is after the database could not be reached; the next ones are longer.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How the store is opened.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://user:password@host/database`.
    pub url: String,
    /// Connections of this node, without that of the ledger.
    pub connections: u32,
    /// How long a statement may run.
    pub statement_timeout: Duration,
    /// How long a statement waits for a lock.
    pub lock_timeout: Duration,
    /// How long a request waits for a connection.
    pub acquire_timeout: Duration,
    /// How long a batch of the ledger may wait for more records.
    pub batch_delay: Duration,
    /// Records after which a batch is written at once. Calls wait if eight times as many are unwritten.
    pub batch_size: usize,
    /// How much one person may store. Replacing it changes an open store.
    pub quotas: LiveValue<StoreQuotas>,
    /// How long after its last sign of life a node counts as dead.
    pub node_timeout: Duration,
}

/// Without the password.
impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings").field("url", &self.shown_url()).finish_non_exhaustive()
    }
}

impl PostgresSettings {
    /// The default settings for a database.
    pub fn for_url(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 16,
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(5),
            acquire_timeout: Duration::from_secs(2),
            batch_delay: Duration::from_millis(20),
            batch_size: 1_024,
            quotas: LiveValue::default(),
            node_timeout: Duration::from_secs(15),
        }
    }

    /// A connection outside of the pool, whose statements have no time limit.
    pub(crate) async fn connect_once(&self) -> Result<PgConnection, sqlx::Error> {
        let connected = timeout(CONNECT_TIMEOUT, self.plain_options()?.connect()).await;
        connected.unwrap_or_else(|_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into())))
    }

    /// How to connect, without limits.
    fn plain_options(&self) -> Result<PgConnectOptions, sqlx::Error> {
        Ok(PgConnectOptions::from_str(&self.url)?.application_name("toolyard"))
    }

    /// How to connect. A transaction that is left open is ended by the database, so that a stalled node holds no lock for long.
    pub(super) fn connect_options(&self) -> Result<PgConnectOptions, sqlx::Error> {
        let millis = |time: Duration| time.as_millis().to_string();
        Ok(self.plain_options()?.statement_cache_capacity(256).options([
            ("statement_timeout", millis(self.statement_timeout)),
            ("lock_timeout", millis(self.lock_timeout)),
            ("idle_in_transaction_session_timeout", millis(self.statement_timeout)),
        ]))
    }

    /// The URL as it may appear in a log: without the password.
    pub fn shown_url(&self) -> String {
        let Ok(options) = PgConnectOptions::from_str(&self.url) else { return "an invalid URL".to_owned() };
        let database = options.get_database().unwrap_or_default().to_owned();
        match options.get_socket() {
            Some(folder) => format!("postgres:{}/{database}", folder.display()),
            None => format!("postgres://{}:{}/{database}", options.get_host(), options.get_port()),
        }
    }
}

/// The connections of a node. While the database cannot be reached, requests fail at once; now and then one of them tries again.
pub(super) struct ConnectionPool {
    pool: PgPool,
    most: u32,
    outage: Mutex<Option<Outage>>,
}

/// The database could not be reached.
struct Outage {
    /// Until then nobody tries.
    retry_at: Instant,
    pause: Duration,
    /// When the pause was chosen.
    noted_at: Instant,
}

impl ConnectionPool {
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, sqlx::Error> {
        let pool = PgPoolOptions::new()
            .max_connections(settings.connections.max(1))
            .acquire_timeout(settings.acquire_timeout)
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for >= CHECK_AFTER_IDLE {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            // Filters are optional, and only with their values can the planner choose the index.
            .connect_lazy_with(
                settings.connect_options()?.options([("plan_cache_mode", "force_custom_plan")]),
            );
        Ok(Self { pool, most: settings.connections.max(1), outage: Mutex::new(None) })
    }

    /// A connection.
    pub(super) async fn acquire(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.check_outage()?;
        match self.pool.acquire().await {
            Ok(connection) => {
                if self.outage.lock().take().is_some() {
                    tracing::info!("database reachable again");
                }
                Ok(connection)
            }
            Err(error) => {
                // All connections are busy: that is a load, not an outage.
                let is_busy = matches!(error, sqlx::Error::PoolTimedOut) && self.pool.size() >= self.most;
                if !is_busy {
                    self.note_outage(&error);
                }
                Err(store_error(error))
            }
        }
    }

    /// Fails during an outage, except for the one request that tries again.
    fn check_outage(&self) -> Result<(), StoreError> {
        let mut outage = self.outage.lock();
        let Some(outage) = &mut *outage else { return Ok(()) };
        let now = Instant::now();
        if now < outage.retry_at {
            return Err(StoreError::Unavailable("the database could not be reached a moment ago".to_owned()));
        }
        outage.retry_at = now + outage.pause;
        Ok(())
    }

    fn note_outage(&self, error: &sqlx::Error) {
        let (mut outage, now) = (self.outage.lock(), Instant::now());
        match &mut *outage {
            None => {
                tracing::error!(%error, "database unreachable");
                *outage = Some(Outage { retry_at: now + FIRST_PAUSE, pause: FIRST_PAUSE, noted_at: now });
            }
            // Requests that failed together count once.
            Some(outage) if now < outage.noted_at + outage.pause => {}
            Some(outage) => {
                let pause = (outage.pause * 2).min(LONGEST_PAUSE);
                *outage = Outage { retry_at: now + pause, pause, noted_at: now };
            }
        }
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_url_has_no_password() {
        let settings =
            PostgresSettings::for_url("postgres://ada:secret@db.example:5433/tools?sslmode=require");
        assert_eq!(settings.shown_url(), "postgres://db.example:5433/tools");
        assert!(!format!("{settings:?}").contains("secret"));
        assert_eq!(PostgresSettings::for_url("no url: secret").shown_url(), "an invalid URL");
    }
}
