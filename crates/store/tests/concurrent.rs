//! Many writers at once, on both stores.

use tokio_util::task::TaskTracker;
use toolyard_store::{PostgresSettings, SqliteSettings, StoreSettings};
use toolyard_testkit::{
    postgres::TestDatabase,
    store_suite::concurrent::{self, Nodes, SMALL_QUOTAS},
};

macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        mod on_sqlite {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                let folder = tempfile::tempdir().unwrap();
                let file = SqliteSettings::for_file(folder.path().join("t.db"));
                let settings = SqliteSettings { quotas: SMALL_QUOTAS.into(), ..file };
                let stores = toolyard_store::open(settings.into(), &TaskTracker::new()).await.unwrap();
                concurrent::$test(&[stores.clone(), stores.clone()]).await;
                stores.maintenance.close().await;
            })*
        }
        mod on_postgres {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                let database = TestDatabase::create();
                let database = PostgresSettings::for_url(&database.url);
                let settings = StoreSettings::from(PostgresSettings { quotas: SMALL_QUOTAS.into(), ..database });
                let open = async || toolyard_store::open(settings.clone(), &TaskTracker::new()).await.unwrap();
                let nodes: Nodes = [open().await, open().await];
                concurrent::$test(&nodes).await;
                for stores in nodes {
                    stores.maintenance.close().await;
                }
            })*
        }
    };
}

suite!(
    a_key_is_claimed_once,
    a_reader_of_the_change_log_misses_nothing,
    an_approved_call_begins_once,
    an_operator_is_left,
    keys_of_a_user_are_bounded,
    questions_and_codes_are_used_once,
    quotas_hold,
    tokens_are_bounded_and_end_with_their_issuer,
    versions_are_numbered_once,
);
