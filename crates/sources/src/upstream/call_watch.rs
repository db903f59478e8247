//! Sees to it that a call which nobody waits for any more still counts: the executor drops a call at its deadline, and an
//! upstream that never answers would otherwise never have failed.

use tokio::time::Instant;
use toolyard_core::CallContext;
use toolyard_protocol::PackageName;

use super::UpstreamSource;

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPhase {
    /// A connection.
    Connection,
    /// The answer.
    Answer,
}

/// A call that waits for an upstream. Dropped before it is settled, the call was given up: by its deadline, which speaks
/// against the upstream, or by its caller, which does not.
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

    /// The wait is over, and whoever waited says what came of it.
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
