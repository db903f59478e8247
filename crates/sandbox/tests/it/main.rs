//! What code can do, through the front door.
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
use toolyard_sandbox::{Job, Limits, Permissions, SandboxError};

use support::{job, run, sandbox};

fn with_clock(source: &str) -> Job {
    Job { permissions: Permissions { clock: true, ..Permissions::default() }, ..job(source) }
}

/// What code returns, in a sandbox of its own.
async fn value(job: Job) -> Value {
    let outcome = run(&sandbox(Limits::default()), job).await.unwrap();
    serde_json::from_str(outcome.json.get()).unwrap()
}

async fn error(job: Job) -> SandboxError {
    run(&sandbox(Limits::default()), job).await.unwrap_err()
}
