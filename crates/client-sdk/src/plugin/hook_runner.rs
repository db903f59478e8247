//! Runs what a plugin wrote: never for ever, and a panic in it is a failure like any other.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;

use super::HookError;

/// Runs a hook.
pub(super) async fn run_hook<T>(
    limit: Duration,
    hook: impl Future<Output = Result<T, HookError>>,
) -> Result<T, HookError> {
    // Whatever a hook left half done is its own; nothing of ours is touched by it.
    let caught = AssertUnwindSafe(hook).catch_unwind();
    match tokio::time::timeout(limit, caught).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_panic)) => Err(HookError::new("it panicked")),
        Err(_late) => Err(HookError::new(format!("it took longer than {limit:?}"))),
    }
}
