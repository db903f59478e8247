//! The state of a run on its own thread: calls, timers, lines. The engine is prepared before it is known what it will
//! run, so the part that belongs to the run is added when it begins.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::SendToHost;
use super::random::RandomGenerator;
use super::watch::RunWatch;
use crate::error::SandboxError;
use crate::job::{ClockFn, RandomFn};
use crate::limits::SandboxLimits;
use crate::link::{HostCall, ToHost};
use crate::outcome::{LogLevel, LogLine};

/// The file name of our own script in stacks; no job can have it.
pub(super) const OWN_FILE: &str = "toolyard:sandbox";

pub(super) struct EngineState {
    pub(super) limits: Arc<SandboxLimits>,
    pub(super) generator: RandomGenerator,
    random: Arc<RandomFn>,
    started: OnceCell<RunState>,
    next_id: Cell<u32>,
    calls_made: Cell<usize>,
    calls_answered: Cell<usize>,
    timers: RefCell<Vec<(Instant, u32)>>,
    lines: Cell<usize>,
    dropped: Cell<usize>,
}

/// The part of the state that is known once a run begins.
pub(super) struct RunState {
    pub(super) watch: RunWatch,
    /// The name of the author's code in stacks.
    file: String,
    /// Only with the permission `clock`.
    clock: Option<Arc<ClockFn>>,
    send: Box<SendToHost>,
}

impl RunState {
    pub(super) fn new(
        watch: RunWatch,
        name: &str,
        clock: Option<Arc<ClockFn>>,
        send: Box<SendToHost>,
    ) -> Self {
        Self { watch, file: file_name(name), clock, send }
    }
}

/// Details of a storage call.
#[derive(Deserialize)]
struct StorageCallDetails {
    key: String,
    #[serde(default)]
    value: String,
}

impl EngineState {
    pub(super) fn new(limits: Arc<SandboxLimits>, random: Arc<RandomFn>) -> Self {
        let mut seed = [0; 32];
        random(&mut seed);
        Self {
            limits,
            generator: RandomGenerator::new(seed),
            random,
            started: OnceCell::new(),
            next_id: Cell::new(1),
            calls_made: Cell::default(),
            calls_answered: Cell::default(),
            timers: RefCell::default(),
            lines: Cell::default(),
            dropped: Cell::default(),
        }
    }

    /// Begins the run. An engine has one run, so a second call changes nothing.
    pub(super) fn begin_run(&self, run: RunState) {
        let _ = self.started.set(run);
    }

    fn run_watch(&self) -> Option<&RunWatch> {
        self.started.get().map(|run| &run.watch)
    }

    pub(super) fn is_over(&self) -> bool {
        self.run_watch().is_some_and(RunWatch::is_over)
    }

    pub(super) fn check_limits(&self) -> Result<(), SandboxError> {
        self.run_watch().map_or(Ok(()), RunWatch::check_limits)
    }

    pub(super) fn end_reason(&self) -> Option<SandboxError> {
        self.run_watch().and_then(RunWatch::end_reason)
    }

    pub(super) fn end_run(&self, why: SandboxError) {
        if let Some(watch) = self.run_watch() {
            watch.end_run(why);
        }
    }

    pub(super) fn compute_time(&self) -> Duration {
        self.run_watch().map_or(Duration::ZERO, RunWatch::compute_time)
    }

    /// The deadline of the run; now if there is no run.
    pub(super) fn deadline(&self) -> Instant {
        self.run_watch().map_or_else(Instant::now, |watch| watch.deadline)
    }

    pub(super) fn code_file(&self) -> &str {
        self.started.get().map_or("", |run| &run.file)
    }

    /// The current time in milliseconds, for code that may know it.
    pub(super) fn current_millis(&self) -> Option<i64> {
        self.started.get()?.clock.as_ref().map(|clock| clock())
    }

    pub(super) fn fill_random(&self, bytes: &mut [u8]) {
        (self.random)(bytes);
    }

    fn send_to_host(&self, message: ToHost) -> bool {
        self.started.get().is_some_and(|run| (run.send)(message))
    }

    fn next_id(&self) -> u32 {
        let id = self.next_id.get();
        self.next_id.set(id.wrapping_add(1));
        id
    }

    /// Forwards a call. The error text is for the code that made it.
    pub(super) fn start_call(&self, kind: &str, details: &str) -> Result<u32, String> {
        if self.calls_made.get() >= self.limits.host_calls {
            let error = SandboxError::TooManyHostCalls { limit: self.limits.host_calls };
            let text = error.to_string();
            self.end_run(error);
            return Err(text);
        }
        let ask = parse_call(kind, details)?;
        ask.check_sizes(&self.limits)?;
        let id = self.next_id();
        if !self.send_to_host(ToHost::Ask { id, ask }) {
            self.end_run(SandboxError::Cancelled);
            return Err("the run is over".to_owned());
        }
        self.calls_made.set(self.calls_made.get() + 1);
        Ok(id)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.calls_answered.get() < self.calls_made.get()
    }

    pub(super) fn count_answer(&self) {
        self.calls_answered.set(self.calls_answered.get() + 1);
    }

    pub(super) fn call_count(&self) -> usize {
        self.calls_made.get()
    }

    /// Sets a timer. A timer that is due after the end of the run never fires.
    pub(super) fn set_timer(&self, milliseconds: f64) -> Result<u32, String> {
        let mut timers = self.timers.borrow_mut();
        if timers.len() >= self.limits.timers {
            return Err(format!("at most {} timers at a time", self.limits.timers));
        }
        // Also handles NaN and negative values.
        let delay = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0).unwrap_or(Duration::MAX);
        let longest = self.limits.time;
        let id = self.next_id();
        timers.push((Instant::now() + delay.min(longest), id));
        Ok(id)
    }

    pub(super) fn clear_timer(&self, id: u32) {
        self.timers.borrow_mut().retain(|(_, timer)| *timer != id);
    }

    /// The timer that is due first; of several, the one that was set first.
    pub(super) fn next_timer(&self) -> Option<(Instant, u32)> {
        self.timers.borrow().iter().min().copied()
    }

    /// Forwards a line, or counts it as dropped.
    pub(super) fn log_line(&self, level: &str, text: String) {
        if self.lines.get() >= self.limits.log_lines {
            self.dropped.set(self.dropped.get() + 1);
            return;
        }
        self.lines.set(self.lines.get() + 1);
        let text = text.chars().take(self.limits.log_line_length).collect();
        self.send_line(LogLine { level: LogLevel::parse(level), text });
    }

    /// Reports how many lines were dropped, if any.
    pub(super) fn close_log(&self) {
        if self.dropped.get() > 0 {
            let text = format!("{} more lines were dropped", self.dropped.get());
            self.send_line(LogLine { level: LogLevel::Warn, text });
        }
    }

    fn send_line(&self, line: LogLine) {
        // Without a receiver the run will notice by itself.
        let _ = self.send_to_host(ToHost::Log(line));
    }
}

fn parse_call(kind: &str, details: &str) -> Result<HostCall, String> {
    match kind {
        "fetch" => {
            return serde_json::from_str(details).map(HostCall::Fetch).map_err(|error| error.to_string());
        }
        "keys" => return Ok(HostCall::Keys),
        _ => {}
    }
    let StorageCallDetails { key, value } =
        serde_json::from_str(details).map_err(|error| error.to_string())?;
    match kind {
        "get" => Ok(HostCall::Get { key }),
        "set" => Ok(HostCall::Set { key, value }),
        "delete" => Ok(HostCall::Delete { key }),
        other => Err(format!("there is no call `{other}`")),
    }
}

/// A name that can be found again in a stack.
fn file_name(name: &str) -> String {
    const MAX_NAME: usize = 80;
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    let name: String = name.chars().filter(plain).take(MAX_NAME).collect();
    if name.is_empty() { "code.js".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_plain() {
        assert_eq!(file_name("com.example/get_time.js"), "com.example/get_time.js");
        assert_eq!(file_name("a b\n(c:1:2)"), "abc12");
        assert_eq!(file_name("\u{0}()"), "code.js");
        assert_eq!(file_name(&"x".repeat(1000)).len(), 80);
    }
}
