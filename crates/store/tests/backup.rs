//! A store is backed up and restored, into either kind.

#![cfg(test)]

use sha2::{Digest as _, Sha256};
use tokio_util::task::TaskTracker;
use toolyard_core::ports::{
    CallFilter, CallLog as _, ClaimOutcome, PluginDataQuota, PluginDataStore as _, StoreMaintenance as _,
    Stores,
};
use toolyard_store::{
    BackupTable, FieldKind, LoadError, LoadedTable, PostgresSettings, PostgresStore, RowError, SnapshotError,
    SqliteSettings, SqliteStore, StoreLoad, StoreSettings, StoreSnapshot, check_empty_store,
};
use toolyard_testkit::{postgres::TestDatabase, store_suite};

/// The tables, and the rows of each.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Backup {
    tables: Vec<BackupTable>,
    rows: Vec<Vec<u8>>,
}

impl Backup {
    async fn take(settings: &StoreSettings) -> Self {
        let mut snapshot = StoreSnapshot::open(settings).await.unwrap();
        let tables = snapshot.describe_tables().await.unwrap();
        let backup = Self::read(&mut snapshot, tables).await;
        snapshot.close().await;
        backup
    }

    async fn read(snapshot: &mut StoreSnapshot, tables: Vec<BackupTable>) -> Self {
        let mut rows = Vec::new();
        for table in &tables {
            let mut text = Vec::new();
            snapshot.write_rows(table, &mut text).await.unwrap();
            rows.push(text);
        }
        Self { tables, rows }
    }

    async fn load(&self, settings: &StoreSettings) -> Result<Vec<LoadedTable>, LoadError> {
        let mut load = StoreLoad::begin(settings, &self.tables).await?;
        let mut loaded = Vec::new();
        for (table, rows) in self.tables.iter().zip(&self.rows) {
            let mut lines = rows.split_inclusive(|byte| *byte == b'\n');
            let next_row = |line: &mut Vec<u8>| {
                *line = lines.next().unwrap_or_default().to_vec();
                Ok::<_, LoadError>(())
            };
            loaded.push(load.load_table(table, next_row).await?);
        }
        load.commit().await?;
        Ok(loaded)
    }

    fn rows_of(&self, name: &str) -> u64 {
        self.tables.iter().find(|table| table.name == name).unwrap().rows
    }

    /// A row in every table. All values of a type are the same, so that every reference finds what it refers to.
    fn with_a_row_in_each_table(mut self) -> Self {
        for (table, rows) in self.tables.iter_mut().zip(&mut self.rows) {
            let field = |kind: FieldKind| match kind {
                FieldKind::Text => "a\\tb\\\\c\\nd ü",
                FieldKind::Bytes => "\\\\x0062c3bc",
                FieldKind::Integer => "1",
            };
            let fields: Vec<_> = table.columns.iter().map(|column| field(column.kind)).collect();
            *rows = format!("{}\n", fields.join("\t")).into_bytes();
            table.rows = 1;
            // The sum over the digests of one row is its digest.
            table.digest = Sha256::digest(&rows[..]).iter().map(|byte| format!("{byte:02x}")).collect();
        }
        self
    }
}

async fn open_stores(settings: impl Into<StoreSettings>) -> Stores {
    toolyard_store::open(settings.into(), &TaskTracker::new()).await.unwrap()
}

/// An empty file with tables.
async fn empty_file(folder: &tempfile::TempDir, name: &str) -> StoreSettings {
    let settings = SqliteSettings::for_file(folder.path().join(name).join("t.db"));
    let stores = open_stores(settings.clone()).await;
    stores.maintenance.close().await;
    settings.into()
}

#[tokio::test]
async fn every_table_survives_the_way_through_both_databases() {
    let folder = tempfile::tempdir().unwrap();
    let database = TestDatabase::create();
    let file =
        |name: &str| StoreSettings::from(SqliteSettings::for_file(folder.path().join(name).join("t.db")));
    let server = StoreSettings::from(PostgresSettings::for_url(&database.url));
    let empty = Backup::take(&empty_file(&folder, "empty").await).await;
    assert!(empty.tables.iter().all(|table| table.rows == 0));
    let backup = empty.with_a_row_in_each_table();
    let loaded = backup.load(&file("first")).await.unwrap();
    assert_eq!(loaded.len(), backup.tables.len());
    assert_eq!(Backup::take(&file("first")).await, backup);
    let loaded = backup.load(&server).await.unwrap();
    assert!(loaded.iter().all(|table| table.rows == 1 && table.replaced == 0));
    let from_server = Backup::take(&server).await;
    assert_eq!(from_server, backup, "both databases write the same text");
    from_server.load(&file("second")).await.unwrap();
    assert_eq!(Backup::take(&file("second")).await, backup);
}

/// A little of everything, as a server writes it.
async fn fill(store: &impl store_suite::FullStore) {
    store_suite::publish_one(store, 1).await;
    store_suite::begin_one_run(store).await;
    assert_eq!(store_suite::begin_one_call(store, 1).await, ClaimOutcome::Fresh);
    store_suite::plugins_are_each_users_own(store).await;
    store_suite::plugin_data_belongs_to_the_signer(store).await;
    store_suite::queue_failed_calls(store, 1, 50).await;
}

/// Everything works in a restored store as it did before.
async fn check_restored(settings: StoreSettings, backup: &Backup) {
    assert_eq!(Backup::take(&settings).await.tables, backup.tables);
    match settings {
        StoreSettings::Sqlite(settings) => {
            let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
            check_restored_rows(&store).await;
            store.close().await;
        }
        StoreSettings::Postgres(settings) => {
            let store = PostgresStore::open(settings, &TaskTracker::new()).await.unwrap();
            check_restored_rows(&store).await;
            store.close().await;
        }
    }
}

async fn check_restored_rows(store: &impl store_suite::FullStore) {
    assert_eq!(store_suite::begin_one_call(store, 2).await, ClaimOutcome::Open, "its server is gone");
    store_suite::interrupted_run_ends(store).await;
    // Numbers continue, and triggers work again.
    store_suite::publish_one(store, 2).await;
}

/// What a server does while its store is backed up.
async fn write_meanwhile(store: &impl store_suite::FullStore) {
    store_suite::publish_one(store, 3).await;
    store_suite::queue_failed_calls(store, 51, 60).await;
}

#[tokio::test]
async fn a_file_is_backed_up_while_it_is_written() {
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::create());
    let file = SqliteSettings::for_file(folder.path().join("from/t.db"));
    let open = async || SqliteStore::open(file.clone(), &TaskTracker::new()).await.unwrap();
    let store = open().await;
    fill(&store).await;
    store.close().await;
    let store = open().await;
    let mut snapshot = StoreSnapshot::open(&file.clone().into()).await.unwrap();
    let tables = snapshot.describe_tables().await.unwrap();
    // The server does not wait for the backup, and the backup does not see what it writes.
    write_meanwhile(&store).await;
    store.close().await;
    let backup = Backup::read(&mut snapshot, tables).await;
    snapshot.close().await;
    let later = Backup::take(&file.into()).await;
    assert_eq!((backup.rows_of("calls"), later.rows_of("calls")), (50, 60));
    assert_eq!((backup.rows_of("apps"), later.rows_of("apps")), (1, 2));
    for to in [
        StoreSettings::from(SqliteSettings::for_file(folder.path().join("to/t.db"))),
        PostgresSettings::for_url(&database.url).into(),
    ] {
        backup.load(&to).await.unwrap();
        check_restored(to, &backup).await;
    }
}

#[tokio::test]
async fn a_database_is_backed_up_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (TestDatabase::create(), TestDatabase::create());
    let settings = PostgresSettings::for_url(&from.url);
    let open = async || PostgresStore::open(settings.clone(), &TaskTracker::new()).await.unwrap();
    let store = open().await;
    fill(&store).await;
    store.close().await;
    let store = open().await;
    let mut snapshot = StoreSnapshot::open(&settings.clone().into()).await.unwrap();
    let tables = snapshot.describe_tables().await.unwrap();
    write_meanwhile(&store).await;
    store.close().await;
    let backup = Backup::read(&mut snapshot, tables).await;
    snapshot.close().await;
    let later = Backup::take(&settings.into()).await;
    assert_eq!((backup.rows_of("calls"), later.rows_of("calls")), (50, 60));
    for to in [
        StoreSettings::from(SqliteSettings::for_file(folder.path().join("to/t.db"))),
        PostgresSettings::for_url(&to.url).into(),
    ] {
        backup.load(&to).await.unwrap();
        check_restored(to, &backup).await;
    }
}

#[tokio::test]
async fn accounts_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| SqliteSettings::for_file(folder.path().join(name).join("t.db"));
    let stores = open_stores(file("from")).await;
    let accounts = store_suite::add_some_accounts(&stores).await;
    let backup = Backup::take(&file("from").into()).await;
    stores.maintenance.close().await;
    backup.load(&file("to").into()).await.unwrap();
    let stores = open_stores(file("to")).await;
    store_suite::accounts_are_found(&stores, &accounts).await;
    stores.maintenance.close().await;
}

#[tokio::test]
async fn a_zero_character_is_lost_only_in_postgresql() {
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::create());
    let file = |name: &str| SqliteSettings::for_file(folder.path().join(name).join("t.db"));
    let store = SqliteStore::open(file("from"), &TaskTracker::new()).await.unwrap();
    store_suite::queue_failed_calls(&store, 1, 1).await;
    let all = CallFilter { limit: 1, ..CallFilter::default() };
    let mut call = store.list_calls(&all).await.unwrap().remove(0);
    call.id = toolyard_protocol::CallId::from_bytes([9; 16]);
    call.error_message = Some("a\0b\tc\\d\r\ne".into());
    toolyard_core::ports::Ledger::record_call(&store, std::sync::Arc::new(call.clone())).await;
    let namespace = store_suite::install_one_plugin(&store).await;
    let room = PluginDataQuota { keys: 10, bytes: 1_000 };
    assert!(store.set_value(&namespace, "k\0", "v\0\n", room).await.unwrap());
    store.close().await;
    let backup = Backup::take(&file("from").into()).await;

    backup.load(&file("to").into()).await.unwrap();
    let store = SqliteStore::open(file("to"), &TaskTracker::new()).await.unwrap();
    let found = store.find_call(&call.id).await.unwrap().unwrap();
    assert_eq!(found.error_message.as_deref(), Some("a\0b\tc\\d\r\ne"));
    assert_eq!(store.read_value(&namespace, "k\0").await.unwrap().as_deref(), Some("v\0\n"));
    store.close().await;

    let settings = PostgresSettings::for_url(&database.url);
    let loaded = backup.load(&settings.clone().into()).await.unwrap();
    let replaced: Vec<_> = loaded.iter().filter(|table| table.replaced > 0).map(|table| table.name).collect();
    assert_eq!(replaced, ["calls"]);
    let store = PostgresStore::open(settings, &TaskTracker::new()).await.unwrap();
    let found = store.find_call(&call.id).await.unwrap().unwrap();
    assert_eq!(found.error_message.as_deref(), Some("a\u{fffd}b\tc\\d\r\ne"));
    assert_eq!(store.read_value(&namespace, "k\0").await.unwrap().as_deref(), Some("v\0\n"));
    store.close().await;
}

#[tokio::test]
async fn a_store_with_rows_is_not_overwritten() {
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::create());
    let backup = Backup::take(&empty_file(&folder, "empty").await).await.with_a_row_in_each_table();
    for to in [
        StoreSettings::from(SqliteSettings::for_file(folder.path().join("to/t.db"))),
        PostgresSettings::for_url(&database.url).into(),
    ] {
        check_empty_store(&to).await.unwrap();
        backup.load(&to).await.unwrap();
        for refused in [check_empty_store(&to).await.unwrap_err(), backup.load(&to).await.unwrap_err()] {
            assert!(matches!(refused, LoadError::NotEmpty { table: "apps", .. }), "{refused}");
        }
        assert_eq!(Backup::take(&to).await, backup);
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_backup_that_is_wrong() {
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::create());
    let backup = Backup::take(&empty_file(&folder, "empty").await).await.with_a_row_in_each_table();
    let mut damaged = backup.clone();
    let at = backup.tables.iter().position(|table| table.name == "calls").unwrap();
    damaged.rows[at].reverse();
    let mut other_digest = backup.clone();
    other_digest.tables[at].digest = "00".repeat(32);
    let mut other_columns = backup.clone();
    other_columns.tables[at].columns[0].name = "more".to_owned();
    let mut missing = backup.clone();
    missing.tables.remove(at);
    let mut unknown = backup.clone();
    unknown.tables[at].name = "calls; DROP TABLE apps".to_owned();
    for to in [
        StoreSettings::from(SqliteSettings::for_file(folder.path().join("to/t.db"))),
        PostgresSettings::for_url(&database.url).into(),
    ] {
        let refused = damaged.load(&to).await.unwrap_err();
        assert!(matches!(refused, LoadError::Row(RowError::Malformed { .. })), "{refused}");
        let refused = other_digest.load(&to).await.unwrap_err();
        assert!(matches!(refused, LoadError::Row(RowError::Differs { .. })), "{refused}");
        for wrong in [&other_columns, &missing, &unknown] {
            let refused = wrong.load(&to).await.unwrap_err();
            assert!(matches!(refused, LoadError::OtherTables { .. }), "{refused}");
        }
        check_empty_store(&to).await.unwrap();
        backup.load(&to).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_backed_up_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let missing = StoreSettings::from(SqliteSettings::for_file(folder.path().join("t.db")));
    let refused = StoreSnapshot::open(&missing).await.err().unwrap();
    assert!(matches!(refused, SnapshotError::Empty(_)), "{refused}");
    assert!(!folder.path().join("t.db").exists());
    let file = empty_file(&folder, "a").await;
    let StoreSettings::Sqlite(settings) = &file else { unreachable!() };
    let run = async |sql: &'static str| {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&settings.path);
        let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
        sqlx::query(sql).execute(&mut connection).await.unwrap();
        sqlx::Connection::close(connection).await.unwrap();
    };
    // 33 MiB of bytes are 66 MiB of digits.
    run("INSERT INTO store_state (name, value) VALUES ('large', zeroblob(33 * 1024 * 1024))").await;
    let mut snapshot = StoreSnapshot::open(&file).await.unwrap();
    let refused = snapshot.describe_tables().await.unwrap_err();
    assert!(matches!(refused, SnapshotError::RowTooLarge { .. }), "{refused}");
    snapshot.close().await;
    run("DELETE FROM store_state").await;
    run("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1").await;
    let refused = StoreSnapshot::open(&file).await.err().unwrap().to_string();
    assert!(refused.contains("newer than this version (step 9999)"), "{refused}");
    run("DELETE FROM _sqlx_migrations WHERE version = 9999").await;
    let refused = StoreSnapshot::open(&file).await.err().unwrap();
    assert!(matches!(refused, SnapshotError::Older(_)), "{refused}");
}
