//! The state of a store, without opening it. For diagnosis.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection, Database, Executor, IntoArguments, SqliteConnection, migrate::Migrator,
    sqlite::SqliteConnectOptions,
};

use crate::{PostgresSettings, StoreSettings, postgres, sqlite};

/// The first bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How long a database server may take to answer.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a store looks like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreState {
    /// It can be used as it is.
    Ready,
    /// There is no file yet, or no table: a server creates them.
    Empty,
    /// Its tables are older than this program: a server brings them up to date when it starts.
    Older,
    /// Its tables are newer than this program.
    Newer {
        /// The step that this program does not know.
        step: i64,
    },
    /// The file is something else, or the database cannot be used.
    Unsuitable(String),
    /// It cannot be read or reached, and why.
    Unreachable(String),
}

/// Looks at a store that a server may have open. Changes nothing.
pub async fn inspect_store(settings: &StoreSettings) -> StoreState {
    match settings {
        StoreSettings::Sqlite(settings) => inspect_file(&settings.path).await,
        StoreSettings::Postgres(settings) => {
            let inspected = tokio::time::timeout(INSPECT_TIMEOUT, inspect_server(settings)).await;
            inspected.unwrap_or_else(|_| StoreState::Unreachable("no answer".to_owned()))
        }
    }
}

async fn inspect_file(file: &Path) -> StoreState {
    match is_database(file) {
        Ok(true) => {}
        Ok(false) => return StoreState::Unsuitable("it is not a database".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return StoreState::Empty,
        Err(error) => return StoreState::Unreachable(error.to_string()),
    }
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    match options.connect().await {
        Ok(mut connection) => {
            let sql = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
            let found = inspect_tables(&mut connection, sql, sqlite::migrations()).await;
            let _ = SqliteConnection::close(connection).await;
            found.unwrap_or_else(|error| StoreState::Unreachable(error.to_string()))
        }
        Err(error) => StoreState::Unreachable(error.to_string()),
    }
}

async fn inspect_server(settings: &PostgresSettings) -> StoreState {
    let mut connection = match settings.connect_once().await {
        Ok(connection) => connection,
        Err(error) => return StoreState::Unreachable(error.to_string()),
    };
    let found = match postgres::find_unsuitable(&mut connection).await {
        Ok(Some(reason)) => Ok(StoreState::Unsuitable(reason)),
        Ok(None) => {
            let sql = "SELECT COUNT(*) FROM pg_tables WHERE tablename = '_sqlx_migrations' AND schemaname = current_schema()";
            inspect_tables(&mut connection, sql, postgres::migrations()).await
        }
        Err(error) => Err(error),
    };
    let _ = connection.close().await;
    found.unwrap_or_else(|error| StoreState::Unreachable(error.to_string()))
}

/// Compares the steps that were applied with those that this program knows.
async fn inspect_tables<C>(
    connection: &mut C,
    has_table: &'static str,
    known: Migrator,
) -> Result<StoreState, sqlx::Error>
where
    C: Connection,
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
    <C::Database as Database>::Arguments: IntoArguments<C::Database>,
    for<'r> i64: sqlx::Decode<'r, C::Database> + sqlx::Type<C::Database>,
    usize: sqlx::ColumnIndex<<C::Database as Database>::Row>,
{
    let tables: i64 = sqlx::query_scalar(has_table).fetch_one(&mut *connection).await?;
    if tables == 0 {
        return Ok(StoreState::Empty);
    }
    let sql = "SELECT version FROM _sqlx_migrations ORDER BY version";
    let applied: Vec<i64> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
    let known: Vec<i64> = known.iter().map(|step| step.version).collect();
    Ok(match applied.iter().find(|step| !known.contains(step)) {
        Some(step) => StoreState::Newer { step: *step },
        None if applied.len() < known.len() => StoreState::Older,
        None => StoreState::Ready,
    })
}

/// Returns whether the file begins like a database of this store.
fn is_database(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(MAGIC.len() as u64).read_to_end(&mut head)?;
    Ok(head == MAGIC)
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;
    use toolyard_testkit::postgres::TestDatabase;

    use super::*;
    use crate::SqliteSettings;

    /// Looks at a store before its first start, after it, and after steps were taken away or added.
    async fn check_states(settings: StoreSettings, run: impl AsyncFn(&'static str)) {
        assert_eq!(inspect_store(&settings).await, StoreState::Empty);
        let stores = crate::open(settings.clone(), &TaskTracker::new()).await.unwrap();
        assert_eq!(inspect_store(&settings).await, StoreState::Ready, "while it is open");
        stores.maintenance.close().await;
        run("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1").await;
        assert_eq!(inspect_store(&settings).await, StoreState::Newer { step: 9_999 });
        let refused = crate::open(settings.clone(), &TaskTracker::new()).await.err().unwrap().to_string();
        assert!(refused.contains("newer version of Toolyard") && refused.contains("9999"), "{refused}");
        run("DELETE FROM _sqlx_migrations WHERE version = 9999").await;
        assert_eq!(inspect_store(&settings).await, StoreState::Older);
    }

    #[tokio::test]
    async fn a_file_is_inspected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let options = SqliteConnectOptions::new().filename(&file);
        let run = async |sql: &'static str| {
            let mut connection = options.connect().await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        };
        check_states(SqliteSettings::for_file(&file).into(), run).await;
        let other = folder.path().join("other.db");
        std::fs::write(&other, "this is a text of some length").unwrap();
        let state = inspect_store(&SqliteSettings::for_file(&other).into()).await;
        assert_eq!(state, StoreState::Unsuitable("it is not a database".to_owned()));
    }

    #[tokio::test]
    async fn a_database_server_is_inspected() {
        let database = TestDatabase::create();
        let settings = PostgresSettings::for_url(&database.url);
        let run = async |sql: &'static str| {
            let mut connection = settings.connect_once().await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        };
        check_states(settings.clone().into(), run).await;
        let away = PostgresSettings::for_url("postgres://ada:secret@127.0.0.1:1/db").into();
        let StoreState::Unreachable(reason) = inspect_store(&away).await else { panic!("reachable") };
        assert!(!reason.contains("secret"), "{reason}");
    }
}
