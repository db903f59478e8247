//! How long each step took.

use tokio::time::Instant;
use toolyard_protocol::api::StepTimes;

/// The steps of a call, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Find,
    Validate,
    Authorize,
    Ready,
    Invoke,
    Check,
}

/// A watch that is told which step begins.
#[derive(Debug)]
pub(crate) struct Steps {
    times: StepTimes,
    current: Step,
    since: Instant,
    began: Instant,
}

impl Steps {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self { times: StepTimes::default(), current: Step::Find, since: now, began: now }
    }

    /// The step before ends, this one begins.
    pub(crate) fn enter(&mut self, step: Step) {
        let now = Instant::now();
        self.book(now);
        self.current = step;
        self.since = now;
    }

    /// Whether the tool may have run.
    pub(crate) fn may_have_run(&self) -> bool {
        self.current >= Step::Invoke
    }

    /// All times, and the whole.
    pub(crate) fn finish(&mut self) -> (StepTimes, u64) {
        let now = Instant::now();
        self.book(now);
        self.since = now;
        (self.times, micros(now - self.began))
    }

    fn book(&mut self, now: Instant) {
        let place = match self.current {
            Step::Find => &mut self.times.find,
            Step::Validate => &mut self.times.validate,
            Step::Authorize => &mut self.times.authorize,
            Step::Ready => &mut self.times.ready,
            Step::Invoke => &mut self.times.invoke,
            Step::Check => &mut self.times.check,
        };
        *place += micros(now - self.since);
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
