//! Why a run has no result. The texts may be read by authors and by models.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A place in the author's code; both count from 1.
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
    /// The code threw an error and nobody caught it.
    #[error("{text}{}", position_suffix(.place))]
    Thrown { text: String, place: Option<SourcePosition> },
    /// The wall time is over.
    #[error("the code did not finish within {limit:?}")]
    TimedOut {
        limit: Duration,
        /// It did not notice either: its process was killed, or its thread was left alone. Code that does this should not
        /// be run again and again.
        stuck: bool,
    },
    /// It computed for too long.
    #[error("the code computed for longer than {limit:?}")]
    TooMuchWork { limit: Duration },
    /// It needs more memory. The engine cannot always tell this from a thrown `null`.
    #[error("the code needs more than {limit} bytes of memory")]
    OutOfMemory { limit: usize },
    /// Functions call each other too deep.
    #[error("the code calls itself too deep{}", position_suffix(.place))]
    StackOverflow { place: Option<SourcePosition> },
    /// It waits for something that nobody will do: no timer is set and no call is under way.
    #[error("the code waits for a promise that nothing can settle any more")]
    NeverSettled,
    #[error("the result is larger than {limit} bytes; return less")]
    OutputTooLarge { limit: usize },
    #[error("the result is nested deeper than {limit} levels; return something flatter")]
    OutputTooDeep { limit: usize },
    /// The result has no form in JSON.
    #[error("the result cannot be written as JSON: {text}")]
    NotJson { text: String },
    #[error("the code made more than {limit} calls of fetch and storage")]
    TooManyHostCalls { limit: usize },
    #[error("the code is larger than {limit} bytes")]
    SourceTooLarge { limit: usize },
    #[error("the arguments are larger than {limit} bytes")]
    InputTooLarge { limit: usize },
    /// The caller went away.
    #[error("the run was cancelled")]
    Cancelled,
    /// The process that ran it is gone, without having been asked to end.
    #[error("the process that ran the code ended unexpectedly ({reason})")]
    Crashed { reason: String },
    /// One user has as many runs under way as one user may have. The code did not run.
    #[error("too many runs of this user are under way (at most {limit}); wait for one to end")]
    TooManyRuns { limit: usize },
    /// No thread or process was free. The code did not run.
    #[error("too much other code is running; try again later")]
    Busy,
    /// The engine or the machine failed. It says nothing about the code.
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
    fn the_place_is_told_where_it_is_known() {
        let place = Some(SourcePosition { line: 3, column: 7 });
        let thrown = SandboxError::Thrown { text: "TypeError: x".into(), place };
        assert_eq!(thrown.to_string(), "TypeError: x (line 3, column 7)");
        let syntax = SandboxError::Syntax { text: "unexpected token".into(), place: None };
        assert_eq!(syntax.to_string(), "the code cannot be read: unexpected token");
    }
}
