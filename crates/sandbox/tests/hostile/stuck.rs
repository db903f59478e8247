//! Code that cannot be stopped: its thread is abandoned, and the number of those is limited.

use std::time::Duration;

use toolyard_sandbox::{SandboxError, SandboxLimits};

use crate::support::{job, run, sandbox};
use crate::{tight, trick_in};

/// One iteration takes long inside the engine, which checks the clock once in 10,000 iterations. It ends by itself,
/// much later.
const STUCK: &str = "const b = (1n << 500000n) - 1n; for (let i = 0; i < 12; i++) b * b";

fn impatient() -> SandboxLimits {
    SandboxLimits {
        time: Duration::from_millis(100),
        grace: Duration::from_millis(50),
        runs: 1,
        abandoned: 1,
        ..tight()
    }
}

#[tokio::test]
async fn a_stuck_thread_is_abandoned_and_others_continue() {
    let outcome = trick_in(&sandbox(impatient()), job(STUCK)).await;
    assert_eq!(outcome, Err(SandboxError::TimedOut { limit: Duration::from_millis(100), stuck: true }));
}

#[tokio::test]
async fn when_too_many_threads_are_left_alone_nothing_runs_until_one_ends() {
    let sandbox = sandbox(impatient());
    for _ in 0..2 {
        let outcome = run(&sandbox, job(STUCK)).await;
        assert!(matches!(outcome, Err(SandboxError::TimedOut { stuck: true, .. })), "{outcome:?}");
    }
    assert_eq!(run(&sandbox, job("return 1")).await.unwrap_err(), SandboxError::Busy);
    // They do end.
    let end = tokio::time::Instant::now() + Duration::from_secs(300);
    while run(&sandbox, job("return 1")).await.is_err() {
        assert!(tokio::time::Instant::now() < end, "no thread came back");
    }
}
