//! The outcome of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A run that returned.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// What the code returned; `null` if nothing.
    pub json: Box<RawValue>,
    /// What it wrote to `console`, in order. If lines were dropped, the last one says how many.
    pub logs: Vec<LogLine>,
    pub used: RunUsage,
}

/// One line of `console`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub level: LogLevel,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "debug" => Self::Debug,
            "warn" => Self::Warn,
            "error" => Self::Error,
            _ => Self::Info,
        }
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunUsage {
    /// Wall time since the call of `run`.
    pub time: Duration,
    /// Processor time.
    pub compute: Duration,
    pub host_calls: usize,
    /// Memory of the engine after the code returned, in bytes. The engine does not report its peak.
    pub memory: usize,
}
