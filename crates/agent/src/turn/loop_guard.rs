//! Stops calls that lead nowhere: the same call again and again, a tool that fails every time, calls that cannot be
//! run. Each is answered with a text that lets the model stop. If it still does not, the step limit ends the turn.

use std::collections::HashMap;

use toolyard_core::{CallReply, executor::CallOutcome};
use toolyard_protocol::ErrorCode;

use super::budget::TurnLimits;
use crate::message::ModelToolCall;

/// What happened in a turn so far.
#[derive(Debug)]
pub(super) struct LoopGuard {
    corrections: usize,
    repeats: usize,
    /// Calls that could not be run as written.
    wrong: usize,
    failed: HashMap<String, usize>,
    made: HashMap<(String, String), usize>,
}

impl LoopGuard {
    pub(super) fn new(limits: &TurnLimits) -> Self {
        let (corrections, repeats) = (limits.corrections, limits.repeats.max(1));
        Self { corrections, repeats, wrong: 0, failed: HashMap::new(), made: HashMap::new() }
    }

    /// Whether the model must answer in text now.
    pub(super) fn is_exhausted(&self) -> bool {
        self.wrong > self.corrections
    }

    /// Why a call is refused, if it is.
    pub(super) fn refusal_text(&mut self, call: &ModelToolCall) -> Option<String> {
        let times = self.repeats;
        if self.failed.get(&call.name).is_some_and(|failed| *failed >= times) {
            return Some(format!(
                "{} failed {times} times, so it was not tried again. Do not call it now; tell the user what did not work.",
                call.name
            ));
        }
        let made = self.made.entry((call.name.clone(), call.arguments.get().to_owned())).or_default();
        *made += 1;
        (*made > times).then(|| {
            format!(
                "{} was called {times} times with these arguments, so it was not run again; the results are above. \
                 Answer with what is known.",
                call.name
            )
        })
    }

    /// Records a call that could not be run: no such tool, or invalid arguments.
    pub(super) fn record_wrong_call(&mut self) {
        self.wrong += 1;
    }

    /// Records the outcome of a call.
    pub(super) fn record_outcome(&mut self, tool: &str, outcome: &CallOutcome) {
        match outcome {
            Err(error) if error.code == ErrorCode::InvalidArguments => self.record_wrong_call(),
            Err(_) => *self.failed.entry(tool.to_owned()).or_default() += 1,
            Ok(CallReply::Done(result)) if result.mcp.is_error() => {
                *self.failed.entry(tool.to_owned()).or_default() += 1;
            }
            // A success clears earlier failures.
            Ok(_) => {
                self.failed.remove(tool);
                self.wrong = 0;
            }
        }
    }
}
