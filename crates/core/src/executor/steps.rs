//! How long each step took.

use tokio::time::Instant;
use toolyard_protocol::api::StepTimes;

/// The steps of a call, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallStep {
    Find,
    Validate,
    Authorize,
    Ready,
    Invoke,
    Check,
}

/// Measures how long each step takes.
#[derive(Debug)]
pub(crate) struct StepTimer {
    times: StepTimes,
    current: CallStep,
    since: Instant,
    began: Instant,
}

impl StepTimer {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self { times: StepTimes::default(), current: CallStep::Find, since: now, began: now }
    }

    /// Ends the previous step and begins this one.
    pub(crate) fn enter(&mut self, step: CallStep) {
        let now = Instant::now();
        self.add_elapsed(now);
        self.current = step;
        self.since = now;
    }

    /// Whether the tool may have run.
    pub(crate) fn may_have_run(&self) -> bool {
        self.current >= CallStep::Invoke
    }

    /// The times of all steps, and the total in microseconds.
    pub(crate) fn finish(&mut self) -> (StepTimes, u64) {
        let now = Instant::now();
        self.add_elapsed(now);
        self.since = now;
        (self.times, to_micros(now - self.began))
    }

    fn add_elapsed(&mut self, now: Instant) {
        let place = match self.current {
            CallStep::Find => &mut self.times.find,
            CallStep::Validate => &mut self.times.validate,
            CallStep::Authorize => &mut self.times.authorize,
            CallStep::Ready => &mut self.times.ready,
            CallStep::Invoke => &mut self.times.invoke,
            CallStep::Check => &mut self.times.check,
        };
        *place += to_micros(now - self.since);
    }
}

fn to_micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
