//! Sees to it that a call which nobody waits for any more still counts: the executor drops a call at its deadline, and an
//! upstream that never answers would otherwise never have failed.

use tokio::time::Instant;
use toolyard_core::CallContext;
use toolyard_protocol::PackageName;

use super::UpstreamSource;

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
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
    waits: Waits,
    settled: bool,
}

impl<'a> CallWatch<'a> {
    pub(super) fn new(
        source: &'a UpstreamSource,
        cx: &'a CallContext,
        package: &'a PackageName,
        waits: Waits,
    ) -> Self {
        Self { source, cx, package, waits, settled: false }
    }

    /// The wait is over, and whoever waited says what came of it.
    pub(super) fn settled(&mut self) {
        self.settled = true;
    }
}

impl Drop for CallWatch<'_> {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let late = Instant::now() >= self.cx.deadline;
        self.source.health_mut(self.package, |health| match (late, self.waits) {
            (false, _) => health.call_left(&self.cx.id),
            (true, Waits::Connection) => health.failed("it did not connect in time".to_owned()),
            (true, Waits::Answer) => health.call_failed("it did not answer in time"),
        });
    }
}
