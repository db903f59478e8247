//! Why a run has no result. The texts may be shown to authors and models.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A position in the author's code; line and column count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    pub line: u32,
    pub column: u32,
}

impl std::fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum SandboxError {
    /// The code is not a function body. Nothing of it ran.
    #[error("the code cannot be read: {text}{}", position_suffix(.place))]
    Syntax { text: String, place: Option<SourcePosition> },
    /// The code threw an error that was not caught.
    #[error("{text}{}", position_suffix(.place))]
    Thrown { text: String, place: Option<SourcePosition> },
    /// The wall time is over.
    #[error("the code did not finish within {limit:?}")]
    TimedOut {
        limit: Duration,
        /// The run did not stop by itself: its process was killed, or its thread was abandoned. Code that does this
        /// should not be run repeatedly.
        stuck: bool,
    },
    /// The code used too much processor time.
    #[error("the code computed for longer than {limit:?}")]
    TooMuchWork { limit: Duration },
    /// The code needs more memory. The engine cannot always distinguish this from a thrown `null`.
    #[error("the code needs more than {limit} bytes of memory")]
    OutOfMemory { limit: usize },
    /// The call stack is too deep.
    #[error("the code calls itself too deep{}", position_suffix(.place))]
    StackOverflow { place: Option<SourcePosition> },
    /// The code waits for something that cannot happen: no timer is set and no call is pending.
    #[error("the code waits for a promise that nothing can settle any more")]
    NeverSettled,
    #[error("the result is larger than {limit} bytes; return less")]
    OutputTooLarge { limit: usize },
    #[error("the result is nested deeper than {limit} levels; return something flatter")]
    OutputTooDeep { limit: usize },
    /// The result cannot be written as JSON.
    #[error("the result cannot be written as JSON: {text}")]
    NotJson { text: String },
    #[error("the code made more than {limit} calls of fetch and storage")]
    TooManyHostCalls { limit: usize },
    #[error("the code is larger than {limit} bytes")]
    SourceTooLarge { limit: usize },
    #[error("the arguments are larger than {limit} bytes")]
    InputTooLarge { limit: usize },
    /// The caller left.
    #[error("the run was cancelled")]
    Cancelled,
    /// The process that ran the code ended unexpectedly.
    #[error("the process that ran the code ended unexpectedly ({reason})")]
    Crashed { reason: String },
    /// The user has reached the limit of concurrent runs. The code did not run.
    #[error("too many runs of this user are under way (at most {limit}); wait for one to end")]
    TooManyRuns { limit: usize },
    /// No thread or process was free. The code did not run.
    #[error("too much other code is running; try again later")]
    Busy,
    /// The engine or the machine failed, not the code.
    #[error("the sandbox failed: {text}")]
    Broken { text: String },
}

fn position_suffix(place: &Option<SourcePosition>) -> String {
    place.map_or_else(String::new, |place| format!(" ({place})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_position_if_it_is_known() {
        let place = Some(SourcePosition { line: 3, column: 7 });
        let thrown = SandboxError::Thrown { text: "TypeError: x".into(), place };
        assert_eq!(thrown.to_string(), "TypeError: x (line 3, column 7)");
        let syntax = SandboxError::Syntax { text: "unexpected token".into(), place: None };
        assert_eq!(syntax.to_string(), "the code cannot be read: unexpected token");
    }
}
