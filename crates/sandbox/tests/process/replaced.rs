//! A worker is replaced after a number of runs, however they end.

use std::sync::atomic::Ordering;

use tokio_util::sync::CancellationToken;
use toolyard_sandbox::SandboxError;
use toolyard_sandbox::process::{PoolParts, WorkerPool};

use crate::support::job;
use crate::{is_alive, parts, patient, request, run, slots, value};

/// One worker, which serves three runs.
async fn short_lived() -> WorkerPool {
    let parts = PoolParts { runs_per_worker: 3, ..parts(patient(), slots(1)) };
    WorkerPool::start(parts).await.unwrap()
}

/// The only worker of a pool, after one more run: a run waits until the replacement is complete.
async fn worker_after_run(pool: &WorkerPool, user: &str) -> u32 {
    assert_eq!(value(pool, user, job("return 1")).await, "1");
    let idle = pool.idle_workers();
    assert_eq!(idle.len(), 1, "{idle:?}");
    idle[0]
}

#[tokio::test]
async fn a_worker_is_replaced_after_its_last_run() {
    let pool = short_lived().await;
    let first = pool.idle_workers()[0];
    for user in ["a", "b"] {
        assert_eq!(worker_after_run(&pool, user).await, first);
    }
    assert_eq!(value(&pool, "c", job("return 1")).await, "1");
    let second = worker_after_run(&pool, "d").await;
    assert_ne!(second, first);
    assert!(!is_alive(first));
}

#[tokio::test]
async fn runs_that_fail_count() {
    let pool = short_lived().await;
    let first = pool.idle_workers()[0];
    for user in ["a", "b", "c"] {
        let error = run(&pool, user, job("throw new Error('no')")).await.unwrap_err();
        assert!(matches!(error, SandboxError::Thrown { .. }), "{error:?}");
    }
    assert_ne!(worker_after_run(&pool, "d").await, first);
    assert!(!is_alive(first));
}

#[tokio::test]
async fn runs_whose_callers_leave_count_and_are_no_kills() {
    let pool = short_lived().await;
    let first = pool.idle_workers()[0];
    for user in ["a", "b", "c"] {
        let waiting = "console.log('on'); await new Promise((r) => setTimeout(r, 1e6))";
        let (waits, kills) = request(user, job(waiting));
        let cancel = CancellationToken::new();
        let left = pool.run(waits, cancel.clone(), &mut |_| cancel.cancel()).await;
        assert_eq!(left.unwrap_err(), SandboxError::Cancelled);
        assert_eq!(kills.load(Ordering::SeqCst), 0, "the run did as it was asked");
    }
    assert_ne!(worker_after_run(&pool, "d").await, first);
    assert!(!is_alive(first));
}
