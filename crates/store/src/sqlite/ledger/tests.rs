use sqlx::Connection as _;
use toolyard_core::{
    CallOwner, Caller,
    ports::{CallLog as _, KeyQuota, LedgerBacklog, StoreMaintenance as _},
};

use tokio_util::task::TaskTracker;

use super::*;
use crate::{
    SqliteSettings,
    ledger::{BatchSettings, LedgerWriter},
};

/// A store, and a second writer on it whose first connection has a full disk.
async fn full(folder: &std::path::Path) -> (SqliteStore, LedgerWriter) {
    // Records alone are not written meanwhile, however slow the machine is.
    let batch_delay = std::time::Duration::from_secs(600);
    let settings = SqliteSettings { batch_delay, ..SqliteSettings::for_file(folder.join("t.db")) };
    let tasks = TaskTracker::new();
    let options = SqliteConnectOptions::new().filename(&settings.path);
    let store = SqliteStore::open(settings.clone(), &tasks).await.unwrap();
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("PRAGMA max_page_count = 1").execute(&mut connection).await.unwrap();
    let node = NodeId::next(&store.write).await.unwrap();
    let writer = LedgerWriter::start(
        SqliteLedger::new(connection, options, node),
        BatchSettings { delay: settings.batch_delay, size: settings.batch_size },
        &tasks,
    )
    .unwrap();
    (store, writer)
}

fn claim(key: &str, record: &CallRecord) -> KeyClaim {
    let at = jiff::Timestamp::from_second(1_000).unwrap();
    KeyClaim {
        owner: CallOwner { user: record.user.clone(), caller: Caller::User },
        key: key.into(),
        digest: [1; 32],
        call: record.id.clone(),
        at,
        expired_before: jiff::Timestamp::MIN,
        quota: KeyQuota { keys: 100, bytes: 10_000 },
    }
}

/// A key that needs its own page, which a full disk does not have.
fn long(key: char) -> String {
    key.to_string().repeat(100_000)
}

#[tokio::test]
async fn after_a_full_disk_keys_are_taken_again_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (store, writer) = full(folder.path()).await;
    toolyard_testkit::store_suite::queue_some_calls(&store, 0, 1).await;
    let filter = toolyard_core::ports::CallFilter { limit: 10, ..Default::default() };
    let record = Arc::new(store.list_calls(&filter).await.unwrap().remove(0));
    let begin = async |key: &str| writer.claim_key(&claim(key, &record)).await;
    let mut answered = (*record).clone();
    answered.id = toolyard_protocol::CallId::from_bytes([7; 16]);
    answered.tool = long('t').into();
    writer.record_call(Arc::new(answered)).await;
    let refused = begin(&long('k')).await.unwrap_err();
    assert!(refused.to_string().contains("full"), "{refused}");
    assert!(writer.check().is_err());
    assert_eq!(writer.backlog().unwritten, 1);
    // The retry opens a new connection, which has room.
    assert_eq!(begin(&long('k')).await.unwrap(), ClaimOutcome::Fresh);
    assert!(writer.check().is_ok());
    assert_eq!(writer.backlog(), LedgerBacklog::default());
    assert_eq!(store.list_calls(&filter).await.unwrap().len(), 2, "the call that was answered is recorded");
    writer.stop().await;
    store.close().await;
}
