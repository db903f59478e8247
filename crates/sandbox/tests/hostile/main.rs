//! Code that tries to stall, to fill the memory, to escape, or to deceive the host. Each test is one trick. None may
//! exceed its limits, and after each the same sandbox works as if nothing had happened.
#![cfg(test)]

mod depth;
mod escapes;
mod limits;
mod memory;
mod natives;
mod prototypes;
mod results;
mod stuck;
mod time;

#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use serde_json::Value;
use toolyard_sandbox::{Sandbox, SandboxError, SandboxJob, SandboxLimits};

use support::{job, run, sandbox};

/// Little work and memory, so that tests are quick. The wall time is long: a machine under load may take its time.
fn tight() -> SandboxLimits {
    SandboxLimits {
        time: Duration::from_secs(60),
        compute: Duration::from_millis(300),
        grace: Duration::from_secs(60),
        memory: 16 * 1024 * 1024,
        ..SandboxLimits::default()
    }
}

/// For code that computes a lot and should finish, even on a machine under load.
fn roomy() -> SandboxLimits {
    SandboxLimits { compute: Duration::from_secs(30), ..tight() }
}

/// Runs a trick, and then something harmless.
async fn trick(source: &str) -> Result<Value, SandboxError> {
    let sandbox = sandbox(tight());
    trick_in(&sandbox, job(source)).await
}

/// The same, with more time.
async fn slow_trick(source: &str) -> Result<Value, SandboxError> {
    trick_in(&sandbox(roomy()), job(source)).await
}

async fn trick_in(sandbox: &Sandbox, job: SandboxJob) -> Result<Value, SandboxError> {
    let outcome = run(sandbox, job).await;
    let after = run(sandbox, support::with_args("return [args.a, 1 + 1].join()", r#"{"a":"b"}"#)).await;
    assert_eq!(after.unwrap().json.get(), r#""b,2""#, "after {outcome:?}");
    outcome.map(|outcome| serde_json::from_str(outcome.json.get()).unwrap())
}

/// The trick ended because it computed for too long, and its thread stopped by itself.
#[track_caller]
fn assert_stopped(outcome: &Result<Value, SandboxError>) {
    assert!(matches!(outcome, Err(SandboxError::TooMuchWork { .. })), "{outcome:?}");
}
