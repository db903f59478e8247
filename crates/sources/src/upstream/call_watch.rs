//! Counts abandoned calls: the executor drops a call at its deadline, so an upstream that never responds would
//! otherwise never count as failed.

use tokio::time::Instant;
use toolyard_core::CallContext;
use toolyard_protocol::PackageName;

use super::UpstreamSource;

/// What a call is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPhase {
    /// A connection.
    Connection,
    /// The response.
    Answer,
}

/// A call that waits for an upstream. If it is dropped before it is settled, the call was abandoned: at its deadline,
/// which counts against the upstream, or by its caller, which does not.
pub(super) struct CallWatch<'a> {
    source: &'a UpstreamSource,
    cx: &'a CallContext,
    package: &'a PackageName,
    phase: CallPhase,
    settled: bool,
}

impl<'a> CallWatch<'a> {
    pub(super) fn new(
        source: &'a UpstreamSource,
        cx: &'a CallContext,
        package: &'a PackageName,
        waits: CallPhase,
    ) -> Self {
        Self { source, cx, package, phase: waits, settled: false }
    }

    /// The wait is over, and the caller records the result.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }
}

impl Drop for CallWatch<'_> {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let late = Instant::now() >= self.cx.deadline;
        self.source.health_mut(self.package, |health| match (late, self.phase) {
            (false, _) => health.record_call_left(&self.cx.id),
            (true, CallPhase::Connection) => {
                health.record_unreachable("it did not connect in time".to_owned())
            }
            (true, CallPhase::Answer) => health.record_call_failure("it did not answer in time"),
        });
    }
}
