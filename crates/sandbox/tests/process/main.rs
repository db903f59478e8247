//! Runs in worker processes: how one user's code affects others, and how processes end.
#![cfg(test)]

mod confined;
mod faults;
mod hogs;
mod replaced;
mod runs;

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "shared with tests that run code on threads")]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolyard_sandbox::process::{
    PoolParts, RUNS_PER_WORKER, RunOwner, RunRequest, SlotLimits, WorkerCommand, WorkerPool,
};
use toolyard_sandbox::{RunOutcome, SandboxError, SandboxJob, SandboxLimits};

/// Cannot be interrupted: one iteration takes long inside the engine, which checks the clock once in 10,000 iterations.
const HOG: &str = "console.log('on'); const b = (1n << 500000n) - 1n; for (let i = 0; i < 5000; i++) b * b";

fn command() -> WorkerCommand {
    WorkerCommand { program: env!("CARGO_BIN_EXE_toolyard-sandbox-worker").into(), arguments: Vec::new() }
}

fn slots(runs: usize) -> SlotLimits {
    SlotLimits { runs, per_user: runs, per_content: runs, waiting: 8 }
}

async fn pool(limits: SandboxLimits, slots: SlotLimits) -> WorkerPool {
    WorkerPool::start(parts(limits, slots)).await.unwrap()
}

fn parts(limits: SandboxLimits, slots: SlotLimits) -> PoolParts {
    let (host, tasks) = (support::host(), TaskTracker::new());
    PoolParts { command: command(), limits, slots, runs_per_worker: RUNS_PER_WORKER, host, tasks }
}

/// A request of a user, and how often its worker was killed.
fn request(user: &str, job: SandboxJob) -> (RunRequest, Arc<AtomicUsize>) {
    let kills = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&kills);
    let owner = RunOwner { user: user.into(), content: job.source.as_ref().into() };
    let on_kill = Box::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    (RunRequest { job, owner, on_kill }, kills)
}

async fn run(pool: &WorkerPool, user: &str, job: SandboxJob) -> Result<RunOutcome, SandboxError> {
    pool.run(request(user, job).0, CancellationToken::new(), &mut |_| ()).await
}

async fn value(pool: &WorkerPool, user: &str, job: SandboxJob) -> String {
    run(pool, user, job).await.unwrap().json.get().to_owned()
}

/// Long enough for a machine under load; what should end early is ended by other means.
fn patient() -> SandboxLimits {
    SandboxLimits {
        time: Duration::from_secs(120),
        grace: Duration::from_secs(60),
        ..SandboxLimits::default()
    }
}

/// Runs time out soon, and are killed soon after.
fn hasty() -> SandboxLimits {
    SandboxLimits {
        time: Duration::from_millis(1_000),
        grace: Duration::from_millis(50),
        ..SandboxLimits::default()
    }
}

/// Whether any thread of a process is there. The first one may be a zombie while others still end; until then the process
/// cannot be reaped.
fn is_alive(process: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return false };
    threads.filter_map(Result::ok).any(|thread| {
        let status = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    })
}
