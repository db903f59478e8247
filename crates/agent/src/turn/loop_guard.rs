//! Calls that lead nowhere: the same again and again, a tool that fails every time, calls that cannot be run. Each is
//! answered in words that let the model stop; what goes on all the same ends with the turn's steps.

use std::collections::HashMap;

use toolyard_core::{CallReply, executor::CallOutcome};
use toolyard_protocol::ErrorCode;

use super::budget::TurnLimits;
use crate::message::ModelToolCall;

/// What a turn has seen.
#[derive(Debug)]
pub(super) struct LoopGuard {
    corrections: usize,
    repeats: usize,
    /// Calls that could not be run as they were.
    wrong: usize,
    failed: HashMap<String, usize>,
    made: HashMap<(String, String), usize>,
}

impl LoopGuard {
    pub(super) fn new(limits: &TurnLimits) -> Self {
        let (corrections, repeats) = (limits.corrections, limits.repeats.max(1));
        Self { corrections, repeats, wrong: 0, failed: HashMap::new(), made: HashMap::new() }
    }

    /// Whether it is time for words.
    pub(super) fn is_exhausted(&self) -> bool {
        self.wrong > self.corrections
    }

    /// Why a call is not even tried.
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

    /// A call could not be run as it was: no such tool, or arguments that do not fit.
    pub(super) fn record_wrong_call(&mut self) {
        self.wrong += 1;
    }

    /// What a call came to.
    pub(super) fn record_outcome(&mut self, tool: &str, outcome: &CallOutcome) {
        match outcome {
            Err(error) if error.code == ErrorCode::InvalidArguments => self.record_wrong_call(),
            Err(_) => *self.failed.entry(tool.to_owned()).or_default() += 1,
            Ok(CallReply::Done(result)) if result.mcp.is_error() => {
                *self.failed.entry(tool.to_owned()).or_default() += 1;
            }
            // What went wrong before is forgiven.
            Ok(_) => {
                self.failed.remove(tool);
                self.wrong = 0;
            }
        }
    }
}
