//! Another process holds SQLite's write lock for longer than a write waits.

#![cfg(test)]

use std::{sync::Arc, time::Duration};

use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio_util::task::TaskTracker;
use toolyard_core::{
    CallOwner, Caller,
    ports::{
        CallFilter, CallLog as _, CallRecord, ClaimOutcome, KeyClaim, KeyEnd, KeyQuota, Ledger as _,
        LedgerBacklog, StoreMaintenance as _,
    },
};
use toolyard_store::{SqliteSettings, SqliteStore};
use toolyard_testkit::store_suite::queue_some_calls;

struct Fixture {
    store: SqliteStore,
    other: SqliteConnection,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn start(batch_size: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings {
            busy_timeout: Duration::from_millis(10),
            batch_size,
            ..SqliteSettings::for_file(folder.path().join("t.db"))
        };
        let options = SqliteConnectOptions::new().filename(&settings.path);
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        let other = SqliteConnection::connect_with(&options).await.unwrap();
        Self { store, other, _folder: folder }
    }

    async fn lock(&mut self) {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.other).await.unwrap();
    }

    async fn unlock(&mut self) {
        sqlx::query("COMMIT").execute(&mut self.other).await.unwrap();
    }

    async fn calls(&self) -> Vec<CallRecord> {
        self.store.list_calls(&CallFilter { limit: 1_000, ..CallFilter::default() }).await.unwrap()
    }
}

#[tokio::test]
async fn records_of_answered_calls_wait_for_the_lock() {
    let mut f = Fixture::start(1_024).await;
    f.store.ping().await.unwrap();
    f.lock().await;
    queue_some_calls(&f.store, 0, 3).await;
    assert!(f.calls().await.is_empty());
    assert_eq!(f.store.backlog(), LedgerBacklog { unwritten: 3, lost: 0, is_full: false });
    assert!(f.store.ping().await.is_err(), "it is not ready for work");
    f.unlock().await;
    assert_eq!(f.calls().await.len(), 3);
    assert_eq!(f.store.backlog(), LedgerBacklog::default());
    f.store.close().await;
}

#[tokio::test]
async fn the_outcome_of_a_key_waits_for_the_lock() {
    let mut f = Fixture::start(1_024).await;
    queue_some_calls(&f.store, 0, 1).await;
    let record = Arc::new(f.calls().await.remove(0));
    let claim = |key: &str, call: u8| KeyClaim {
        owner: CallOwner { user: record.user.clone(), caller: Caller::User },
        key: key.into(),
        digest: [1; 32],
        call: toolyard_protocol::CallId::from_bytes([call; 16]),
        at: jiff::Timestamp::from_second(1_000).unwrap(),
        expired_before: jiff::Timestamp::MIN,
        quota: KeyQuota { keys: 100, bytes: 10_000 },
    };
    assert_eq!(f.store.claim_key(&claim("made", 1)).await.unwrap(), ClaimOutcome::Fresh);
    f.lock().await;
    let mut made = (*record).clone();
    made.id = claim("made", 1).call;
    let end = KeyEnd::Keep(Some("outcome".to_owned()));
    assert!(
        f.store.end_key(&claim("made", 1), end, Arc::new(made)).await.is_err(),
        "the caller is not kept waiting"
    );
    assert!(
        f.store.claim_key(&claim("other", 2)).await.is_err(),
        "and nothing runs that cannot be remembered"
    );
    f.unlock().await;
    assert_eq!(f.store.claim_key(&claim("other", 3)).await.unwrap(), ClaimOutcome::Fresh);
    assert_eq!(
        f.store.claim_key(&claim("made", 4)).await.unwrap(),
        ClaimOutcome::Done(Some("outcome".to_owned()))
    );
    assert_eq!(f.calls().await.len(), 2);
    f.store.close().await;
}

#[tokio::test]
async fn no_call_begins_while_too_much_is_unwritten_and_what_had_begun_is_recorded() {
    let mut f = Fixture::start(1).await;
    f.lock().await;
    queue_some_calls(&f.store, 0, 8).await;
    assert!(f.calls().await.is_empty());
    assert!(f.store.backlog().is_full, "no call should begin now");
    // Calls in flight wait for room for a while. Then they return, and their records are kept.
    tokio::time::pause();
    queue_some_calls(&f.store, 1, 3).await;
    tokio::time::resume();
    assert_eq!(f.store.backlog(), LedgerBacklog { unwritten: 11, lost: 0, is_full: true });
    f.unlock().await;
    assert_eq!(f.calls().await.len(), 11);
    assert!(!f.store.backlog().is_full);
    f.store.close().await;
}

#[tokio::test]
async fn a_stop_waits_for_the_lock() {
    let mut f = Fixture::start(1_024).await;
    f.lock().await;
    queue_some_calls(&f.store, 0, 3).await;
    assert!(f.calls().await.is_empty());
    f.unlock().await;
    f.store.close().await;
    let (count,): (i64,) =
        sqlx::query_as("SELECT COUNT(*) FROM calls").fetch_one(&mut f.other).await.unwrap();
    assert_eq!(count, 3);
}
