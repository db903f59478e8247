//! What a run has done so far, seen from its own thread: calls, timers, lines.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::chance::Chance;
use super::watch::Watch;
use crate::error::SandboxError;
use crate::job::Host;
use crate::limits::Limits;
use crate::link::{Ask, ToHost};
use crate::outcome::{LogLevel, LogLine};

/// The file name of our own part in stacks; no job can have it.
pub(super) const OWN_FILE: &str = "toolyard:sandbox";

pub(super) struct State {
    pub(super) limits: Arc<Limits>,
    pub(super) host: Host,
    pub(super) watch: Watch,
    pub(super) chance: Chance,
    /// The name of the author's code in stacks.
    pub(super) file: String,
    to_host: mpsc::Sender<ToHost>,
    next_id: Cell<u32>,
    asked: Cell<usize>,
    answered: Cell<usize>,
    timers: RefCell<Vec<(Instant, u32)>>,
    lines: Cell<usize>,
    dropped: Cell<usize>,
}

/// Details of a call of the storage.
#[derive(Deserialize)]
struct Entry {
    key: String,
    #[serde(default)]
    value: String,
}

impl State {
    pub(super) fn new(
        limits: Arc<Limits>,
        host: Host,
        watch: Watch,
        name: &str,
        to_host: mpsc::Sender<ToHost>,
    ) -> Self {
        let mut seed = [0; 32];
        (host.random)(&mut seed);
        Self {
            limits,
            host,
            watch,
            chance: Chance::new(seed),
            file: file_name(name),
            to_host,
            next_id: Cell::new(1),
            asked: Cell::default(),
            answered: Cell::default(),
            timers: RefCell::default(),
            lines: Cell::default(),
            dropped: Cell::default(),
        }
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
            self.watch.end(error);
            return Err(text);
        }
        let ask = self.read(kind, details)?;
        let id = self.id();
        if self.to_host.try_send(ToHost::Ask { id, ask }).is_err() {
            self.watch.end(SandboxError::Cancelled);
            return Err("the run is over".to_owned());
        }
        self.asked.set(self.asked.get() + 1);
        Ok(id)
    }

    /// Checks sizes in bytes; the script has checked them in characters, before it made copies.
    fn read(&self, kind: &str, details: &str) -> Result<Ask, String> {
        if kind == "fetch" {
            let request: crate::link::Request =
                serde_json::from_str(details).map_err(|error| error.to_string())?;
            let size = request.body.as_ref().map_or(0, String::len);
            within(size, self.limits.request_bytes, "the body")?;
            return Ok(Ask::Fetch(request));
        }
        if kind == "keys" {
            return Ok(Ask::Keys);
        }
        let Entry { key, value } = serde_json::from_str(details).map_err(|error| error.to_string())?;
        within(value.len(), self.limits.value_bytes, "the value")?;
        match kind {
            "get" => Ok(Ask::Get { key }),
            "set" => Ok(Ask::Set { key, value }),
            "delete" => Ok(Ask::Delete { key }),
            other => Err(format!("there is no call `{other}`")),
        }
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
        let _ = self.to_host.try_send(ToHost::Log(line));
    }
}

fn within(size: usize, limit: usize, what: &str) -> Result<(), String> {
    if size > limit { Err(format!("{what} is larger than {limit} bytes")) } else { Ok(()) }
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
