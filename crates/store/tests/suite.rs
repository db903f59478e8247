//! Both stores pass the suite that every store must pass, and SQLite some tests of its own.

use tokio_util::task::TaskTracker;
use toolyard_core::ports::{ClaimOutcome, StoreMaintenance as _};
use toolyard_store::{PostgresSettings, PostgresStore, SqliteSettings, SqliteStore};
use toolyard_testkit::{postgres::TestDatabase, store_suite};

/// Runs every test on every store: those of `store` on its type, those of `stores` on its ports.
macro_rules! suite {
    (store: { $($test:ident),* $(,)? } stores: { $($whole:ident),* $(,)? }) => {
        mod on_sqlite {
            use super::*;
            $(#[tokio::test]
            async fn $test() {
                let folder = tempfile::tempdir().unwrap();
                let settings = SqliteSettings::for_file(folder.path().join("t.db"));
                let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
                store_suite::$test(&store).await;
                store.close().await;
            })*
            $(#[tokio::test]
            async fn $whole() {
                let folder = tempfile::tempdir().unwrap();
                let settings = SqliteSettings::for_file(folder.path().join("t.db")).into();
                let stores = toolyard_store::open(settings, &TaskTracker::new()).await.unwrap();
                store_suite::$whole(&stores).await;
                stores.maintenance.close().await;
            })*
        }
        mod on_postgres {
            use super::*;
            $(#[tokio::test]
            async fn $test() {
                let database = TestDatabase::create();
                let settings = PostgresSettings::for_url(&database.url);
                let store = PostgresStore::open(settings, &TaskTracker::new()).await.unwrap();
                store_suite::$test(&store).await;
                store.close().await;
            })*
            $(#[tokio::test]
            async fn $whole() {
                let database = TestDatabase::create();
                let settings = PostgresSettings::for_url(&database.url).into();
                let stores = toolyard_store::open(settings, &TaskTracker::new()).await.unwrap();
                store_suite::$whole(&stores).await;
                stores.maintenance.close().await;
            })*
        }
    };
}

suite!(
    store: {
        an_approval_is_answered_once,
        a_pending_approval_can_be_withdrawn,
        an_approved_call_runs_once,
        app_data_is_bounded_and_goes_with_the_install,
        approvals_are_listed_and_expire,
        apps_are_created_whole_or_not_at_all,
        calls_are_counted_over_time,
        calls_are_recorded_and_found,
        waiting_calls_are_found,
        choices_are_each_users_own,
        definitions_are_versions_and_a_pointer,
        grants_are_used_up_and_revoked,
        hashed_aliases_belong_to_who_had_them_first,
        installs_and_grants,
        keys_bind_one_call,
        keys_expire,
        keys_belong_to_callers,
        keys_have_bounds,
        labels_of_conversations_are_bounded,
        one_policy_is_stored,
        plugin_data_belongs_to_the_signer,
        plugin_data_is_bounded_and_goes_with_the_plugin,
        plugins_are_each_users_own,
        prompts_and_resources_are_part_of_a_version,
        runs_devices_and_switches,
        the_catalogue_of_plugins_keeps_versions,
        the_same_call_is_asked_about_once,
        the_newest_timings_are_read,
        tokens_are_listed_and_revoked,
        tokens_are_listed_page_by_page,
        a_token_is_revoked_with_those_issued_by_it,
        upstreams_are_packages_and_keep_their_last_offer,
        an_outdated_offer_or_token_is_not_stored,
        push_subscriptions_belong_to_one_user_and_are_bounded,
        usage_is_counted,
        users_and_what_they_can_install_are_found,
        tokens_are_revoked_even_if_the_issuing_token_is_gone,
    }
    stores: {
        a_change_is_accepted_as_it_was_shown,
        a_rejected_change_waits_again_when_it_changes,
        client_grants_rotate_and_are_revoked_once,
        clients_that_register_are_bounded,
        accounts_are_unique_and_keep_an_operator,
        audit_entries_are_numbered_and_found,
        audit_entries_are_pruned_from_the_start,
        audit_entries_of_many_writers_are_one_chain,
        audit_proofs_are_renewed,
        browser_sessions_end_and_are_bounded,
        device_logins_are_answered_and_redeemed_once,
        disabled_users_are_in_the_change_log,
        ways_to_sign_in_are_bound_to_their_user,
        pins_of_a_package_are_bounded,
        writes_of_apps_and_installs_are_in_the_change_log,
        writes_of_approvals_are_in_the_change_log,
        writes_of_definitions_are_in_the_change_log,
        writes_of_tokens_and_plugins_are_in_the_change_log,
        writes_of_upstreams_are_in_the_change_log,
    }
);

#[tokio::test]
async fn a_clean_stop_writes_what_is_queued() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = TaskTracker::new();
    let settings = SqliteSettings {
        batch_delay: std::time::Duration::from_secs(3_600),
        ..SqliteSettings::for_file(folder.path().join("deep/t.db"))
    };
    let store = SqliteStore::open(settings.clone(), &tasks).await.unwrap();
    store_suite::queue_some_calls(&store, 0, 3).await;
    store.close().await;
    let again = SqliteStore::open(settings, &tasks).await.unwrap();
    let filter = toolyard_core::ports::CallFilter { limit: 10, ..Default::default() };
    assert_eq!(toolyard_core::ports::CallLog::list_calls(&again, &filter).await.unwrap().len(), 3);
}

#[tokio::test]
async fn old_calls_and_keys_are_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteSettings::for_file(folder.path().join("t.db")), &TaskTracker::new())
        .await
        .unwrap();
    store_suite::queue_some_calls(&store, 0, 3).await;
    let filter = toolyard_core::ports::CallFilter { limit: 10, ..Default::default() };
    let calls = toolyard_core::ports::CallLog::list_calls(&store, &filter).await.unwrap();
    let now = calls[0].started_at;
    let before = toolyard_core::ports::PruneBefore { labels: now, calls: now, messages: now, keys: now };
    store.prune(before, &tokio_util::sync::CancellationToken::new()).await.unwrap();
    assert_eq!(toolyard_core::ports::CallLog::list_calls(&store, &filter).await.unwrap().len(), 1);
}

#[tokio::test]
async fn error_messages_are_forgotten_before_their_calls() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(SqliteSettings::for_file(folder.path().join("t.db")), &TaskTracker::new())
        .await
        .unwrap();
    store_suite::queue_failed_calls(&store, 1, 3).await;
    let filter = toolyard_core::ports::CallFilter { limit: 10, ..Default::default() };
    let calls = toolyard_core::ports::CallLog::list_calls(&store, &filter).await.unwrap();
    assert!(calls.iter().all(|call| call.error_message.is_some()), "{calls:?}");
    let (newest, oldest) = (calls[0].started_at, calls[2].started_at);
    let before =
        toolyard_core::ports::PruneBefore { labels: oldest, calls: oldest, messages: newest, keys: oldest };
    store.prune(before, &tokio_util::sync::CancellationToken::new()).await.unwrap();
    let left = toolyard_core::ports::CallLog::list_calls(&store, &filter).await.unwrap();
    let messages: Vec<_> = left.iter().map(|call| call.error_message.as_deref()).collect();
    assert_eq!(messages, [Some("TIMEOUT of 3"), None, None]);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    std::fs::write(&path, "this is not a database, it is a text of some length").unwrap();
    let opened = SqliteStore::open(SqliteSettings::for_file(&path), &TaskTracker::new()).await;
    assert!(opened.is_err_and(|error| error.to_string().contains("t.db")));
}

#[tokio::test]
async fn the_ledger_does_not_get_in_the_way_of_other_writes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqliteSettings {
        batch_delay: std::time::Duration::ZERO,
        ..SqliteSettings::for_file(folder.path().join("t.db"))
    };
    let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
    let writes = async {
        for round in 0..50 {
            store_suite::publish_one(&store, round).await;
        }
    };
    let records = async {
        for round in 0..500 {
            store_suite::queue_some_calls(&store, round, 5).await;
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(writes, records);
    store.close().await;
}

#[tokio::test]
async fn a_token_is_listed_in_a_store_that_another_process_has_open() {
    use toolyard_core::ports::{AddTokenOutcome, IssuedToken, IssuedTokenStore as _, TokenQuota, TokenScope};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let token = IssuedToken {
        id: toolyard_protocol::TokenId::from_bytes([1; 16]),
        name: "by hand".to_owned(),
        subject: "ada".to_owned(),
        role: toolyard_protocol::api::Role::User,
        created_at: jiff::Timestamp::from_second(1).unwrap(),
        expires_at: jiff::Timestamp::from_second(2).unwrap(),
        created_by: "toolyard token".to_owned(),
        made_with: None,
        revoked_at: None,
    };
    let at = |path: &std::path::Path| toolyard_store::StoreSettings::from(SqliteSettings::for_file(path));
    let all = TokenScope { subject: None, role: toolyard_protocol::api::Role::Operator };
    let room = TokenQuota { of_subject: 1, of_all: 1 };
    let store = SqliteStore::open(SqliteSettings::for_file(&path), &TaskTracker::new()).await.unwrap();
    assert_eq!(toolyard_store::list_token(&at(&path), &token, room).await.unwrap(), AddTokenOutcome::Listed);
    assert_eq!(store.list_tokens(all, None, 9).await.unwrap(), std::slice::from_ref(&token));
    assert_eq!(
        toolyard_store::list_token(&at(&path), &token, room).await.unwrap(),
        AddTokenOutcome::QuotaReached
    );
    store.close().await;
    // Before the first start there is no store; a token listed then is there when the server starts.
    let path = folder.path().join("new/t.db");
    assert_eq!(toolyard_store::list_token(&at(&path), &token, room).await.unwrap(), AddTokenOutcome::Listed);
    let store = SqliteStore::open(SqliteSettings::for_file(&path), &TaskTracker::new()).await.unwrap();
    assert_eq!(store.list_tokens(all, None, 9).await.unwrap(), std::slice::from_ref(&token));
    store.close().await;
    let damaged = folder.path().join("damaged.db");
    std::fs::write(&damaged, "").unwrap();
    assert!(
        toolyard_store::list_token(&at(&damaged), &token, room).await.is_err(),
        "a file that is there stays as it is"
    );
}

#[tokio::test]
async fn a_call_is_cut_off_only_when_its_process_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqliteSettings::for_file(folder.path().join("t.db"));
    let tasks = TaskTracker::new();
    let first = SqliteStore::open(settings.clone(), &tasks).await.unwrap();
    assert_eq!(store_suite::begin_one_call(&first, 1).await, ClaimOutcome::Fresh);
    assert_eq!(store_suite::begin_one_call(&first, 2).await, ClaimOutcome::Running);
    assert!(SqliteStore::open(settings.clone(), &tasks).await.is_err(), "one server at a time");
    // Gone without a close, as after a crash.
    drop(first);
    tasks.close();
    tasks.wait().await;
    let second = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
    assert_eq!(store_suite::begin_one_call(&second, 3).await, ClaimOutcome::Open);
    second.close().await;
}

#[tokio::test]
async fn interrupted_runs_end_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqliteSettings::for_file(folder.path().join("t.db"));
    let store = SqliteStore::open(settings.clone(), &TaskTracker::new()).await.unwrap();
    store_suite::begin_one_run(&store).await;
    store.close().await;
    let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
    store_suite::interrupted_run_ends(&store).await;
    store.close().await;
}

#[tokio::test]
async fn devices_that_were_seen_longest_ago_are_forgotten_first() {
    use toolyard_core::ports::{DeviceStore as _, StoreQuotas, StoredDevice};
    let folder = tempfile::tempdir().unwrap();
    let settings = SqliteSettings {
        quotas: StoreQuotas { remembered_devices: 2, ..StoreQuotas::default() }.into(),
        ..SqliteSettings::for_file(folder.path().join("t.db"))
    };
    let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
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
}
