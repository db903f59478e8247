//! Runs the hooks of plugins with a timeout. A panic in a hook is an error like any other.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;

use super::HookError;

/// Runs a hook with a timeout.
pub(super) async fn run_hook<T>(
    limit: Duration,
    hook: impl Future<Output = Result<T, HookError>>,
) -> Result<T, HookError> {
    // A panic can only leave the plugin's own state inconsistent.
    let caught = AssertUnwindSafe(hook).catch_unwind();
    match tokio::time::timeout(limit, caught).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_panic)) => Err(HookError::new("it panicked")),
        Err(_late) => Err(HookError::new(format!("it took longer than {limit:?}"))),
    }
}
