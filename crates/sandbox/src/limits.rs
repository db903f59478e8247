//! All limits of this crate.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one run may use, and how many runs are allowed. No limit can be switched off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Wall time of a run, including the wait for a free thread.
    pub time: Duration,
    /// Processor time; waiting does not count.
    pub compute: Duration,
    /// Extra time after `time` for a run to stop; after that its thread is abandoned.
    pub grace: Duration,
    /// Memory of the engine, in bytes: objects, strings, code.
    pub memory: usize,
    /// Stack of the engine, in bytes. At most 8 MiB.
    pub stack: usize,
    /// The code, in bytes.
    pub source_bytes: usize,
    /// The arguments, in bytes of JSON.
    pub input_bytes: usize,
    /// The result, in bytes of JSON.
    pub output_bytes: usize,
    /// Nesting depth of arrays and objects in the result. JSON parsers stop at 128.
    pub output_depth: usize,
    /// Calls to `fetch` and `storage` per run.
    pub host_calls: usize,
    /// Concurrent calls; further ones wait.
    pub host_calls_at_once: usize,
    /// Concurrent timers.
    pub timers: usize,
    /// Body of a request, in bytes.
    pub request_bytes: usize,
    /// Body of a response, in bytes.
    pub response_bytes: usize,
    /// Headers of a request.
    pub request_headers: usize,
    /// One header of a request, in characters.
    pub header_length: usize,
    /// Redirects that a fetch follows.
    pub redirects: usize,
    /// Key in the storage, in characters.
    pub key_length: usize,
    /// Value in the storage, in bytes of JSON.
    pub value_bytes: usize,
    /// Lines of `console` that are kept.
    pub log_lines: usize,
    /// One line of `console`, in characters.
    pub log_line_length: usize,
    /// Text of an error, in characters.
    pub error_length: usize,
    /// Concurrent runs, over all callers.
    pub runs: usize,
    /// Runs that wait for a thread; further ones are refused.
    pub waiting: usize,
    /// Abandoned threads, in addition to those of `runs`.
    pub abandoned: usize,
}

/// Least memory with which the engine starts.
const MIN_MEMORY: usize = 1024 * 1024;
/// Least stack with which the engine starts.
const MIN_STACK: usize = 64 * 1024;
/// From 16 MiB on, the engine treats the stack as unlimited.
const MAX_STACK: usize = 8 * 1024 * 1024;
/// Upper bound for everything that is counted and queued.
const MAX_COUNT: usize = 10_000;
/// Upper bound for the time of a run.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            compute: Duration::from_secs(5),
            grace: Duration::from_millis(250),
            memory: 32 * 1024 * 1024,
            stack: 512 * 1024,
            source_bytes: 128 * 1024,
            input_bytes: 256 * 1024,
            output_bytes: 256 * 1024,
            output_depth: 100,
            host_calls: 64,
            host_calls_at_once: 4,
            timers: 64,
            request_bytes: 256 * 1024,
            response_bytes: 1024 * 1024,
            request_headers: 32,
            header_length: 4096,
            redirects: 5,
            key_length: 200,
            value_bytes: 64 * 1024,
            log_lines: 100,
            log_line_length: 2000,
            error_length: 2000,
            runs: 8,
            waiting: 64,
            abandoned: 4,
        }
    }
}

impl SandboxLimits {
    /// Replaces values that would switch a limit off, or that no machine can hold.
    pub(crate) fn clamped(mut self) -> Self {
        // The engine treats a limit of zero as none.
        self.memory = self.memory.max(MIN_MEMORY);
        self.stack = self.stack.clamp(MIN_STACK, MAX_STACK);
        self.time = self.time.min(MAX_TIME);
        self.grace = self.grace.min(MAX_TIME);
        self.runs = self.runs.clamp(1, MAX_COUNT);
        self.host_calls_at_once = self.host_calls_at_once.clamp(1, MAX_COUNT);
        for count in [
            &mut self.host_calls,
            &mut self.timers,
            &mut self.log_lines,
            &mut self.waiting,
            &mut self.abandoned,
        ] {
            *count = (*count).min(MAX_COUNT);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_switches_a_limit_off() {
        for number in [0, usize::MAX] {
            let limits = SandboxLimits {
                memory: number,
                stack: number,
                runs: number,
                host_calls: number,
                host_calls_at_once: number,
                log_lines: number,
                timers: number,
                waiting: number,
                abandoned: number,
                time: Duration::MAX,
                grace: Duration::MAX,
                ..SandboxLimits::default()
            }
            .clamped();
            assert!(limits.memory >= MIN_MEMORY);
            assert!((MIN_STACK..=MAX_STACK).contains(&limits.stack));
            assert!((1..=MAX_COUNT).contains(&limits.runs));
            assert!((1..=MAX_COUNT).contains(&limits.host_calls_at_once));
            assert!(limits.host_calls.max(limits.log_lines).max(limits.timers) <= MAX_COUNT);
            assert!(limits.waiting.max(limits.abandoned) <= MAX_COUNT);
            assert!(limits.time.max(limits.grace) <= MAX_TIME);
        }
        assert_eq!(SandboxLimits::default().clamped(), SandboxLimits::default());
    }
}
