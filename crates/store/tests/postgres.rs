//! What only PostgreSQL has: other nodes, outages, and texts that it refuses.

#![cfg(test)]

use std::{sync::Arc, time::Duration};

use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ports::{
    AppRunStore as _, AppStore as _, CallFilter, CallLog as _, ClaimOutcome, ClusterStore as _,
    DeviceStore as _, Ledger as _, PruneBefore, StoreError, StoreMaintenance as _, StoreQuotas, StoredDevice,
    StoredRun,
};
use toolyard_store::{PostgresSettings, PostgresStore};
use toolyard_testkit::{
    postgres::{TestDatabase, TestServer},
    store_suite,
};

async fn open(settings: &PostgresSettings) -> PostgresStore {
    PostgresStore::open(settings.clone(), &TaskTracker::new()).await.unwrap()
}

fn all_calls() -> CallFilter {
    CallFilter { limit: 100, ..CallFilter::default() }
}

#[tokio::test]
async fn a_clean_stop_writes_what_is_queued() {
    let database = TestDatabase::create();
    let settings = PostgresSettings {
        batch_delay: Duration::from_secs(3_600),
        ..PostgresSettings::for_url(&database.url)
    };
    let store = open(&settings).await;
    store_suite::queue_some_calls(&store, 0, 3).await;
    store.close().await;
    let again = open(&settings).await;
    assert_eq!(again.list_calls(&all_calls()).await.unwrap().len(), 3);
    again.close().await;
}

#[tokio::test]
async fn old_calls_messages_and_changes_are_pruned() {
    let database = TestDatabase::create();
    let store = open(&PostgresSettings::for_url(&database.url)).await;
    store_suite::queue_failed_calls(&store, 1, 3).await;
    store_suite::publish_one(&store, 1).await;
    assert_eq!(store_suite::begin_one_call(&store, 1).await, ClaimOutcome::Fresh);
    let calls = store.list_calls(&all_calls()).await.unwrap();
    let (newest, middle) = (calls[0].started_at, calls[1].started_at);
    let before = PruneBefore { labels: newest, calls: middle, messages: newest, keys: newest };
    store.prune(before, &CancellationToken::new()).await.unwrap();
    let left = store.list_calls(&all_calls()).await.unwrap();
    let messages: Vec<_> = left.iter().map(|call| call.error_message.as_deref()).collect();
    assert_eq!(messages, [Some("TIMEOUT of 3"), None]);
    assert_eq!(store_suite::begin_one_call(&store, 2).await, ClaimOutcome::Fresh, "the key was pruned");
    store.close().await;
}

/// A call that another node began runs as long as that node is alive. Then nobody knows.
#[tokio::test]
async fn a_call_is_cut_off_only_when_its_node_is_gone() {
    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    let (first, second) = (open(&settings).await, open(&settings).await);
    store_suite::begin_one_run(&first).await;
    assert_eq!(store_suite::begin_one_call(&first, 1).await, ClaimOutcome::Fresh);
    assert_eq!(store_suite::begin_one_call(&second, 2).await, ClaimOutcome::Running);
    first.close().await;
    assert_eq!(store_suite::begin_one_call(&second, 3).await, ClaimOutcome::Open);
    store_suite::interrupted_run_ends(&second).await;
    second.close().await;
}

/// A batch whose commit succeeded, but whose reply was lost, was refused to its caller: the key must not stay claimed.
#[tokio::test]
async fn a_claim_that_was_refused_is_released() {
    let server = TestServer::launch();
    let settings = PostgresSettings::for_url(&server.url);
    let store = open(&settings).await;
    server.halt();
    let claim = store_suite::claim_to_make(1);
    assert!(store.claim_key(&claim).await.is_err());
    server.start();
    while store.backlog().unwritten > 0 || store.ping().await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(store_suite::begin_one_call(&store, 2).await, ClaimOutcome::Fresh);
    store.close().await;
}

/// A node that shows no sign of life counts as dead after a while, by the clock of the database.
#[tokio::test]
async fn a_node_that_is_stalled_counts_as_dead() {
    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    // With this timeout every other node counts as dead, but not the node itself.
    let hasty = PostgresSettings { node_timeout: Duration::ZERO, ..settings.clone() };
    let (first, second) = (open(&settings).await, open(&hasty).await);
    assert_eq!(store_suite::begin_one_call(&first, 1).await, ClaimOutcome::Fresh);
    assert_eq!(store_suite::begin_one_call(&second, 2).await, ClaimOutcome::Open);
    assert_eq!(store_suite::begin_one_call(&first, 3).await, ClaimOutcome::Running);
    first.close().await;
    second.close().await;
}

/// Two nodes never both believe to be a user's home: the epoch says who is right.
#[tokio::test]
async fn a_user_has_one_home_until_its_node_is_lost_or_gives_it_up() {
    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    let (first, second) = (open(&settings).await, open(&settings).await);
    first.join("http://first").await.unwrap();
    second.join("http://second").await.unwrap();
    let ada = "ada".parse().unwrap();
    let claims = futures_util::future::join_all(
        (0..20)
            .map(|turn| if turn % 2 == 0 { &first } else { &second })
            .map(|node| node.claim_home(&ada, None)),
    );
    let homes: Vec<_> = claims.await.into_iter().map(Result::unwrap).collect();
    assert!(homes.iter().all(|home| *home == homes[0]), "{homes:?}");
    let (owner, other) = if homes[0].node == first.node() { (&first, &second) } else { (&second, &first) };
    assert_eq!(owner.list_homes().await.unwrap(), [(ada.clone(), homes[0].epoch)]);

    // The other could not reach it.
    let moved = other.claim_home(&ada, Some(homes[0].epoch)).await.unwrap();
    assert_eq!(moved.node, other.node());
    assert!(moved.epoch > homes[0].epoch);
    assert_eq!(owner.claim_home(&ada, Some(homes[0].epoch)).await.unwrap(), moved, "it lost an older home");
    assert_eq!(owner.list_homes().await.unwrap(), []);

    // A node that lost a user writes none of their runs.
    store_suite::add_app(&first, "com.example.a").await;
    let run = |session: &str| StoredRun {
        session: session.parse().unwrap(),
        user: ada.clone(),
        package: "com.example.a".parse().unwrap(),
        by_user: true,
    };
    other.save_run(&run("new")).await.unwrap();
    owner.save_run(&run("stale")).await.unwrap();
    owner.remove_run(&"new".parse().unwrap()).await.unwrap();
    assert_eq!(other.list_runs_of(&ada).await.unwrap(), [run("new")]);

    owner.release_home(&ada, homes[0].epoch).await.unwrap();
    assert_eq!(owner.claim_home(&ada, None).await.unwrap(), moved, "an older epoch releases nothing");
    other.leave().await.unwrap();
    assert_eq!(owner.claim_home(&ada, None).await.unwrap().node, owner.node());
    other.close().await;
    owner.close().await;
}

/// A lease, and a home, of a node that shows no sign of life are free.
#[tokio::test]
async fn leases_and_homes_of_a_dead_node_are_taken_over() {
    let database = TestDatabase::create();
    let settings = PostgresSettings::for_url(&database.url);
    let hasty = PostgresSettings { node_timeout: Duration::ZERO, ..settings.clone() };
    let (first, second) = (open(&settings).await, open(&settings).await);
    let ada = "ada".parse().unwrap();
    let home = first.claim_home(&ada, None).await.unwrap();
    assert!(first.hold_lease("work").await.unwrap() && first.hold_lease("work").await.unwrap());
    assert!(!second.hold_lease("work").await.unwrap() && second.hold_lease("other work").await.unwrap());
    let third = open(&hasty).await;
    assert!(third.hold_lease("work").await.unwrap(), "to it, all others are dead");
    assert!(!first.hold_lease("work").await.unwrap());
    let taken = third.claim_home(&ada, None).await.unwrap();
    assert!(taken.node == third.node() && taken.epoch > home.epoch, "{taken:?}");
    for store in [first, second, third] {
        store.close().await;
    }
}

#[tokio::test]
async fn devices_that_were_seen_longest_ago_are_forgotten_first() {
    let database = TestDatabase::create();
    let quotas = StoreQuotas { remembered_devices: 2, ..StoreQuotas::default() }.into();
    let store = open(&PostgresSettings { quotas, ..PostgresSettings::for_url(&database.url) }).await;
    for (second, user) in [(1, "ada"), (2, "bob"), (3, "ada"), (4, "cleo")] {
        let at = jiff::Timestamp::from_second(second).unwrap();
        let device = StoredDevice { capabilities: Default::default(), at };
        store.save_device(&user.parse().unwrap(), device).await.unwrap();
    }
    let mut kept = Vec::new();
    for user in ["ada", "bob", "cleo"] {
        if store.last_device(&user.parse().unwrap()).await.unwrap().is_some() {
            kept.push(user);
        }
    }
    assert_eq!(kept, ["ada", "cleo"]);
    store.close().await;
}

/// One such name would hold up the records of all others.
#[tokio::test]
async fn a_record_with_a_null_character_is_written() {
    let database = TestDatabase::create();
    let store = open(&PostgresSettings::for_url(&database.url)).await;
    store_suite::queue_failed_calls(&store, 1, 1).await;
    let mut record = store.list_calls(&all_calls()).await.unwrap().remove(0);
    record.id = toolyard_protocol::CallId::from_bytes([9; 16]);
    record.tool = "no\0tool".into();
    record.error_message = Some("bad\0text".into());
    store.record_call(Arc::new(record.clone())).await;
    let found = store.find_call(&record.id).await.unwrap().unwrap();
    assert_eq!((&*found.tool, found.error_message.as_deref()), ("no\u{fffd}tool", Some("bad\u{fffd}text")));
    store.close().await;
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_reported() {
    let database = TestDatabase::create();
    let missing = PostgresSettings::for_url(database.url.replace("/test_", "/missing_"));
    let error = PostgresStore::open(missing, &TaskTracker::new()).await.err().unwrap().to_string();
    assert!(error.contains("does not exist") && error.contains("/missing_"), "{error}");
    let refused = PostgresSettings::for_url("postgres://ada:secret@127.0.0.1:1/db");
    let error = PostgresStore::open(refused, &TaskTracker::new()).await.err().unwrap().to_string();
    assert!(error.contains("127.0.0.1:1/db") && !error.contains("secret"), "{error}");
}

/// While the database is down, requests fail at once; records wait, and everything recovers by itself.
#[tokio::test]
async fn an_outage_is_survived() {
    let server = TestServer::launch();
    let settings = PostgresSettings {
        acquire_timeout: Duration::from_millis(300),
        ..PostgresSettings::for_url(&server.url)
    };
    let store = open(&settings).await;
    store.ping().await.unwrap();
    store_suite::queue_some_calls(&store, 0, 2).await;
    server.halt();
    // The first request finds that its connection is gone, the second that there is no new one.
    for _ in 0..2 {
        let failed = store.list_apps(None).await.unwrap_err();
        assert!(matches!(failed, StoreError::Unavailable(_)), "{failed:?}");
    }
    let at_once = store.list_apps(None).await.unwrap_err().to_string();
    assert!(at_once.contains("a moment ago"), "nobody waits: {at_once}");
    // The outcome of a check is reused for a second.
    while store.ping().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    store_suite::queue_some_calls(&store, 1, 3).await;
    server.start();
    // Requests try again now and then.
    while store.list_apps(None).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    while store.backlog().unwritten > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let calls = store.list_calls(&all_calls()).await.unwrap();
    assert_eq!(calls.len(), 5, "nothing was lost: {calls:?}");
    while store.ping().await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(store.backlog(), Default::default());
    store.close().await;
}
