//! Whether the store accepts writes.

use tokio::{
    sync::Mutex,
    time::{Duration, Instant},
};
use toolyard_core::ports::StoreError;

/// How long the outcome of a check is reused: readiness is checked by anyone, and each check is a write.
const PROBE_LIFETIME: Duration = Duration::from_secs(1);

/// The last check whether writes work.
#[derive(Debug, Default)]
pub(crate) struct WriteProbe(Mutex<Option<(Instant, Result<(), StoreError>)>>);

impl WriteProbe {
    /// The outcome of the last check, or of `write` if that is old.
    pub(crate) async fn check(
        &self,
        write: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        let mut last = self.0.lock().await;
        if let Some((at, outcome)) = &*last
            && at.elapsed() < PROBE_LIFETIME
        {
            return outcome.clone();
        }
        let outcome = write.await;
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }
}
