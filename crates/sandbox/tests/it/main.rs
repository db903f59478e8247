//! What code can do, through the public API.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "a test serves on this machine and spawns what it needs")]

mod dates;
mod errors;
mod fetch;
mod language;
mod runs;
mod server;
mod storage;
#[path = "../support/mod.rs"]
mod support;

use serde_json::Value;
use toolyard_sandbox::{RunPermissions, SandboxError, SandboxJob, SandboxLimits};

use support::{job, run, sandbox};

fn with_clock(source: &str) -> SandboxJob {
    SandboxJob { permissions: RunPermissions { clock: true, ..RunPermissions::default() }, ..job(source) }
}

/// What code returns, in its own sandbox.
async fn value(job: SandboxJob) -> Value {
    let outcome = run(&sandbox(SandboxLimits::default()), job).await.unwrap();
    serde_json::from_str(outcome.json.get()).unwrap()
}

async fn error(job: SandboxJob) -> SandboxError {
    run(&sandbox(SandboxLimits::default()), job).await.unwrap_err()
}
