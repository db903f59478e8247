//! An installation moves from SQLite to PostgreSQL.

#![cfg(test)]

use tokio_util::task::TaskTracker;
use toolyard_core::ports::{
    CallFilter, CallLog as _, ClaimOutcome, PluginDataQuota, PluginDataStore as _, PluginNamespace,
    StoreMaintenance as _, Stores,
};
use toolyard_store::{
    CopyError, PostgresSettings, PostgresStore, SqliteSettings, SqliteStore, StoreSettings, copy_store,
};
use toolyard_testkit::{postgres::TestDatabase, store_suite};

async fn open_stores(settings: impl Into<StoreSettings>) -> Stores {
    toolyard_store::open(settings.into(), &TaskTracker::new()).await.unwrap()
}

#[tokio::test]
async fn everything_is_copied_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteSettings::for_file(folder.path().join("t.db"));
    let source = SqliteStore::open(file.clone(), &TaskTracker::new()).await.unwrap();
    // A little of everything: what the suite leaves behind.
    store_suite::publish_one(&source, 1).await;
    store_suite::queue_failed_calls(&source, 1, 50).await;
    store_suite::begin_one_run(&source).await;
    assert_eq!(store_suite::begin_one_call(&source, 1).await, ClaimOutcome::Fresh);
    store_suite::plugins_are_each_users_own(&source).await;
    store_suite::plugin_data_belongs_to_the_signer(&source).await;
    source.ping().await.unwrap();
    let calls = source.list_calls(&CallFilter { limit: 100, ..CallFilter::default() }).await.unwrap();
    source.close().await;
    let stores = open_stores(file.clone()).await;
    let accounts = store_suite::add_some_accounts(&stores).await;
    stores.maintenance.close().await;

    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    let mut names = Vec::new();
    let tables = copy_store(&file.path, &settings, |table| names.push(table.name)).await.unwrap();
    assert_eq!(names, tables.iter().map(|table| table.name).collect::<Vec<_>>());
    let rows = |name: &str| tables.iter().find(|table| table.name == name).unwrap().rows;
    assert_eq!((rows("calls"), rows("approvals"), rows("call_keys")), (50, 3, 1));
    assert!(tables.iter().all(|table| table.replaced == 0));

    let copy = PostgresStore::open(settings.clone(), &TaskTracker::new()).await.unwrap();
    let copied = copy.list_calls(&CallFilter { limit: 100, ..CallFilter::default() }).await.unwrap();
    assert_eq!(format!("{copied:?}"), format!("{calls:?}"));
    assert_eq!(store_suite::begin_one_call(&copy, 2).await, ClaimOutcome::Open, "its server is gone");
    store_suite::interrupted_run_ends(&copy).await;
    // Numbers continue, and triggers work again.
    store_suite::publish_one(&copy, 2).await;
    copy.close().await;
    let stores = open_stores(settings.clone()).await;
    store_suite::accounts_are_found(&stores, &accounts).await;
    stores.maintenance.close().await;
    let again = copy_store(&file.path, &settings, |_| {}).await.unwrap_err();
    assert!(matches!(again, CopyError::NotEmpty { table: "apps" }), "{again}");
}

#[tokio::test]
async fn texts_that_postgresql_refuses_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteSettings::for_file(folder.path().join("t.db"));
    let source = SqliteStore::open(file.clone(), &TaskTracker::new()).await.unwrap();
    store_suite::queue_failed_calls(&source, 1, 1).await;
    let mut call =
        source.list_calls(&CallFilter { limit: 1, ..CallFilter::default() }).await.unwrap().remove(0);
    call.id = toolyard_protocol::CallId::from_bytes([9; 16]);
    call.error_message = Some("a\0b\tc\\d\r\ne".into());
    toolyard_core::ports::Ledger::record_call(&source, std::sync::Arc::new(call.clone())).await;
    let namespace = store_suite::install_one_plugin(&source).await;
    let room = PluginDataQuota { keys: 10, bytes: 1_000 };
    assert!(source.set_value(&namespace, "k\0", "v\0\n", room).await.unwrap());
    source.close().await;
    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    let tables = copy_store(&file.path, &settings, |_| {}).await.unwrap();
    let replaced: Vec<_> = tables.iter().filter(|table| table.replaced > 0).map(|table| table.name).collect();
    assert_eq!(replaced, ["calls"]);
    let copy = PostgresStore::open(settings, &TaskTracker::new()).await.unwrap();
    let found = copy.find_call(&call.id).await.unwrap().unwrap();
    assert_eq!(found.error_message.as_deref(), Some("a\u{fffd}b\tc\\d\r\ne"));
    let value = async |namespace: &PluginNamespace| copy.read_value(namespace, "k\0").await.unwrap();
    assert_eq!(value(&namespace).await.as_deref(), Some("v\0\n"), "bytes stay as they are");
    copy.close().await;
}

#[tokio::test]
async fn a_store_in_use_or_missing_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteSettings::for_file(folder.path().join("t.db"));
    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    let missing = copy_store(&file.path, &settings, |_| {}).await.unwrap_err();
    assert!(matches!(missing, CopyError::NoSource(_)), "{missing}");
    assert!(!file.path.exists());
    let source = SqliteStore::open(file.clone(), &TaskTracker::new()).await.unwrap();
    let in_use = copy_store(&file.path, &settings, |_| {}).await.unwrap_err().to_string();
    assert!(in_use.contains("in use by process"), "{in_use}");
    source.close().await;
}
