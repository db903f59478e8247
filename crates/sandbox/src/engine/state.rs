//! What a run has done so far, seen from its own thread: calls, timers, lines. The engine is made before it is known what
//! it will run, so what belongs to the run itself is added when that begins.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::SendToHost;
use super::chance::Chance;
use super::watch::Watch;
use crate::error::SandboxError;
use crate::job::{ClockFn, RandomFn};
use crate::limits::Limits;
use crate::link::{Ask, ToHost};
use crate::outcome::{LogLevel, LogLine};

/// The file name of our own part in stacks; no job can have it.
pub(super) const OWN_FILE: &str = "toolyard:sandbox";

pub(super) struct State {
    pub(super) limits: Arc<Limits>,
    pub(super) chance: Chance,
    random: Arc<RandomFn>,
    started: OnceCell<RunState>,
    next_id: Cell<u32>,
    asked: Cell<usize>,
    answered: Cell<usize>,
    timers: RefCell<Vec<(Instant, u32)>>,
    lines: Cell<usize>,
    dropped: Cell<usize>,
}

/// What is known once there is something to run.
pub(super) struct RunState {
    pub(super) watch: Watch,
    /// The name of the author's code in stacks.
    file: String,
    /// Only with the permission.
    clock: Option<Arc<ClockFn>>,
    send: Box<SendToHost>,
}

impl RunState {
    pub(super) fn new(watch: Watch, name: &str, clock: Option<Arc<ClockFn>>, send: Box<SendToHost>) -> Self {
        Self { watch, file: file_name(name), clock, send }
    }
}

/// Details of a call of the storage.
#[derive(Deserialize)]
struct Entry {
    key: String,
    #[serde(default)]
    value: String,
}

impl State {
    pub(super) fn new(limits: Arc<Limits>, random: Arc<RandomFn>) -> Self {
        let mut seed = [0; 32];
        random(&mut seed);
        Self {
            limits,
            chance: Chance::new(seed),
            random,
            started: OnceCell::new(),
            next_id: Cell::new(1),
            asked: Cell::default(),
            answered: Cell::default(),
            timers: RefCell::default(),
            lines: Cell::default(),
            dropped: Cell::default(),
        }
    }

    /// The run begins. An engine has one run, so a second beginning changes nothing.
    pub(super) fn start(&self, run: RunState) {
        let _ = self.started.set(run);
    }

    fn watch(&self) -> Option<&Watch> {
        self.started.get().map(|run| &run.watch)
    }

    pub(super) fn is_over(&self) -> bool {
        self.watch().is_some_and(Watch::is_over)
    }

    pub(super) fn check(&self) -> Result<(), SandboxError> {
        self.watch().map_or(Ok(()), Watch::check)
    }

    pub(super) fn ended(&self) -> Option<SandboxError> {
        self.watch().and_then(Watch::ended)
    }

    pub(super) fn end(&self, why: SandboxError) {
        if let Some(watch) = self.watch() {
            watch.end(why);
        }
    }

    pub(super) fn compute(&self) -> Duration {
        self.watch().map_or(Duration::ZERO, Watch::compute)
    }

    /// When the run is over; now if there is none.
    pub(super) fn deadline(&self) -> Instant {
        self.watch().map_or_else(Instant::now, |watch| watch.deadline)
    }

    pub(super) fn file(&self) -> &str {
        self.started.get().map_or("", |run| &run.file)
    }

    /// The present in milliseconds, for code that may know it.
    pub(super) fn now(&self) -> Option<i64> {
        self.started.get()?.clock.as_ref().map(|clock| clock())
    }

    pub(super) fn fill_random(&self, bytes: &mut [u8]) {
        (self.random)(bytes);
    }

    fn send(&self, message: ToHost) -> bool {
        self.started.get().is_some_and(|run| (run.send)(message))
    }

    fn id(&self) -> u32 {
        let id = self.next_id.get();
        self.next_id.set(id.wrapping_add(1));
        id
    }

    /// Passes a call on. The text is for the code that made it.
    pub(super) fn ask(&self, kind: &str, details: &str) -> Result<u32, String> {
        if self.asked.get() >= self.limits.host_calls {
            let error = SandboxError::TooManyHostCalls { limit: self.limits.host_calls };
            let text = error.to_string();
            self.end(error);
            return Err(text);
        }
        let ask = read(kind, details)?;
        ask.check(&self.limits)?;
        let id = self.id();
        if !self.send(ToHost::Ask { id, ask }) {
            self.end(SandboxError::Cancelled);
            return Err("the run is over".to_owned());
        }
        self.asked.set(self.asked.get() + 1);
        Ok(id)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.answered.get() < self.asked.get()
    }

    pub(super) fn answered(&self) {
        self.answered.set(self.answered.get() + 1);
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.get()
    }

    /// Sets a timer. What is due after the end of the run never fires.
    pub(super) fn set_timer(&self, milliseconds: f64) -> Result<u32, String> {
        let mut timers = self.timers.borrow_mut();
        if timers.len() >= self.limits.timers {
            return Err(format!("at most {} timers at a time", self.limits.timers));
        }
        // Also for what is not a number, or below zero.
        let delay = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0).unwrap_or(Duration::MAX);
        let longest = self.limits.time;
        let id = self.id();
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

    /// Passes a line on, or counts it among the dropped.
    pub(super) fn log(&self, level: &str, text: String) {
        if self.lines.get() >= self.limits.log_lines {
            self.dropped.set(self.dropped.get() + 1);
            return;
        }
        self.lines.set(self.lines.get() + 1);
        let text = text.chars().take(self.limits.log_line_length).collect();
        self.send_line(LogLine { level: LogLevel::parse(level), text });
    }

    /// Says how many lines were dropped, if any.
    pub(super) fn close_log(&self) {
        if self.dropped.get() > 0 {
            let text = format!("{} more lines were dropped", self.dropped.get());
            self.send_line(LogLine { level: LogLevel::Warn, text });
        }
    }

    fn send_line(&self, line: LogLine) {
        // Nobody listens any more: the run will notice by itself.
        let _ = self.send(ToHost::Log(line));
    }
}

fn read(kind: &str, details: &str) -> Result<Ask, String> {
    match kind {
        "fetch" => {
            return serde_json::from_str(details).map(Ask::Fetch).map_err(|error| error.to_string());
        }
        "keys" => return Ok(Ask::Keys),
        _ => {}
    }
    let Entry { key, value } = serde_json::from_str(details).map_err(|error| error.to_string())?;
    match kind {
        "get" => Ok(Ask::Get { key }),
        "set" => Ok(Ask::Set { key, value }),
        "delete" => Ok(Ask::Delete { key }),
        other => Err(format!("there is no call `{other}`")),
    }
}

/// A name that can be found in a stack again.
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
