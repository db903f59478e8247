//! Whether a run is over, and why. The engine checks regularly while it computes; we check between its jobs.

use std::cell::RefCell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::SandboxError;
use crate::limits::SandboxLimits;

/// Processor time of the thread. Passed in for tests.
pub(super) type WorkFn = fn() -> Duration;

pub(super) struct RunWatch {
    pub(super) deadline: Instant,
    time: Duration,
    compute: Duration,
    stop: CancellationToken,
    work: WorkFn,
    /// Processor time of the thread before the run.
    before: Duration,
    /// The first reason wins.
    ended: RefCell<Option<SandboxError>>,
}

/// Processor time of this thread. Waiting does not count, nor does time that other threads used.
pub(crate) fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

impl RunWatch {
    pub(super) fn new(
        limits: &SandboxLimits,
        deadline: Instant,
        stop: CancellationToken,
        work: WorkFn,
    ) -> Self {
        Self {
            deadline,
            time: limits.time,
            compute: limits.compute,
            stop,
            work,
            before: work(),
            ended: RefCell::default(),
        }
    }

    /// Ends the run.
    pub(super) fn end_run(&self, why: SandboxError) {
        self.ended.borrow_mut().get_or_insert(why);
    }

    /// Why the run ended, if it did.
    pub(super) fn end_reason(&self) -> Option<SandboxError> {
        self.ended.borrow().clone()
    }

    /// Checks the clocks and the caller.
    pub(super) fn is_over(&self) -> bool {
        if self.ended.borrow().is_some() {
            return true;
        }
        let why = if self.stop.is_cancelled() {
            SandboxError::Cancelled
        } else if Instant::now() >= self.deadline {
            SandboxError::TimedOut { limit: self.time, stuck: false }
        } else if self.compute_time() > self.compute {
            SandboxError::TooMuchWork { limit: self.compute }
        } else {
            return false;
        };
        self.end_run(why);
        true
    }

    /// The same as a `Result`.
    pub(super) fn check_limits(&self) -> Result<(), SandboxError> {
        if self.is_over() { Err(self.end_reason().unwrap_or(SandboxError::Cancelled)) } else { Ok(()) }
    }

    /// Processor time so far.
    pub(super) fn compute_time(&self) -> Duration {
        (self.work)().saturating_sub(self.before)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static WORK: Cell<Duration> = const { Cell::new(Duration::from_secs(7)) };
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_is_not_compute_time_and_the_first_reason_wins() {
        let limits = SandboxLimits {
            time: Duration::from_secs(10),
            compute: Duration::from_secs(2),
            ..SandboxLimits::default()
        };
        let deadline = Instant::now() + limits.time;
        let watch = RunWatch::new(&limits, deadline, CancellationToken::new(), || WORK.get());
        tokio::time::advance(Duration::from_secs(9)).await;
        WORK.set(Duration::from_secs(9));
        assert_eq!(watch.check_limits(), Ok(()));
        WORK.set(Duration::from_millis(9_001));
        assert_eq!(watch.check_limits(), Err(SandboxError::TooMuchWork { limit: limits.compute }));
        tokio::time::advance(Duration::from_secs(10)).await;
        watch.end_run(SandboxError::Cancelled);
        assert_eq!(watch.end_reason(), Some(SandboxError::TooMuchWork { limit: limits.compute }));
    }

    #[tokio::test(start_paused = true)]
    async fn the_caller_who_leaves_counts_before_the_time() {
        let limits = SandboxLimits::default();
        let stop = CancellationToken::new();
        let watch = RunWatch::new(&limits, Instant::now() + limits.time, stop.clone(), || Duration::ZERO);
        let late =
            RunWatch::new(&limits, Instant::now() + limits.time, CancellationToken::new(), || Duration::ZERO);
        tokio::time::advance(limits.time).await;
        stop.cancel();
        assert_eq!(watch.check_limits(), Err(SandboxError::Cancelled));
        assert_eq!(late.check_limits(), Err(SandboxError::TimedOut { limit: limits.time, stuck: false }));
    }

    #[test]
    fn a_thread_that_works_has_used_the_processor() {
        let before = processor_time();
        while processor_time() == before {
            std::hint::spin_loop();
        }
    }
}
