//! A sandbox with a fixed clock and fixed randomness, and shortcuts to run code in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_sandbox::{
    RunOutcome, RunPermissions, Sandbox, SandboxError, SandboxHost, SandboxJob, SandboxLimits,
};

/// 5 March 2026, 19:30:05 UTC.
pub(crate) const NOW: i64 = 1_772_739_005_000;

pub(crate) fn host() -> SandboxHost {
    let guard = Guard::dev();
    let next = AtomicU8::new(1);
    SandboxHost {
        client: HttpClient::new(guard.clone(), ClientSettings::default()),
        guard,
        clock: Arc::new(|| NOW),
        random: Arc::new(move |bytes: &mut [u8]| bytes.fill(next.fetch_add(1, Ordering::Relaxed))),
    }
}

pub(crate) fn sandbox(limits: SandboxLimits) -> Sandbox {
    Sandbox::new(limits, host())
}

pub(crate) fn job(source: &str) -> SandboxJob {
    with_args(source, "{}")
}

pub(crate) fn with_args(source: &str, args: &str) -> SandboxJob {
    let args = RawValue::from_string(args.to_owned()).unwrap();
    SandboxJob {
        source: source.into(),
        name: "plugin.js".to_owned(),
        args,
        permissions: RunPermissions::default(),
    }
}

pub(crate) async fn run(sandbox: &Sandbox, job: SandboxJob) -> Result<RunOutcome, SandboxError> {
    sandbox.run(job, CancellationToken::new(), &mut |_| ()).await
}
