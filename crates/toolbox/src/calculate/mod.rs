//! `calculate`: arithmetic of any precision, with units and percentages, by `fend-core`.
//!
//! What fend cannot interrupt is refused: see `form`. The rest is interrupted when the time is over. No variable
//! outlives a call, and there is no randomness, no date and no exchange rate.

mod form;

use std::time::Duration;

use fend_core::{Context, Interrupt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use form::CalculationStep;
pub use form::{MAX_DEPTH, MAX_EXPRESSION_CHARS, MAX_GROUPS};

use crate::blocking::{self, UnfinishedWork};
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};
use crate::text::truncate_text;

/// Default time limit of a calculation.
pub const DEFAULT_LIMIT: Duration = Duration::from_millis(500);

/// Longest result, in characters. More digits than this are of no use to a model.
pub const MAX_RESULT_CHARS: usize = 4_000;

/// fend recurses once for each operator in a row; the longest expression fits several times.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Longest part of an expression in an error, in characters.
const SHOWN_CHARS: usize = 80;

/// The arguments of `calculate`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalculateArguments {
    /// What to calculate, for example `15% of 80`, `5 km to miles`, `sqrt(2) to 20 dp`, `2^100`,
    /// `r = 3 cm; pi * r^2`. Variables end with the call.
    #[schemars(length(max = MAX_EXPRESSION_CHARS))]
    pub expression: String,
}

/// Why a calculation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalculateError {
    /// Nothing to calculate.
    #[error("the expression is empty; write for example `15% of 80`")]
    Empty,
    /// Over [`MAX_EXPRESSION_CHARS`].
    #[error("the expression has {0} characters, at most {MAX_EXPRESSION_CHARS} are possible; split it up")]
    TooLong(usize),
    /// Over [`MAX_DEPTH`].
    #[error("parentheses are nested deeper than {MAX_DEPTH} at character {0}; split it up: `a = ...; 2 * a`")]
    TooDeep(usize),
    /// Over [`MAX_GROUPS`].
    #[error("there are more than {MAX_GROUPS} pairs of parentheses; split the expression up")]
    TooManyGroups,
    /// A parenthesis without its counterpart.
    #[error("the `{which}` at character {at} has no counterpart; check the parentheses")]
    Unbalanced {
        /// The parenthesis.
        which: char,
        /// Counted from 1.
        at: usize,
    },
    /// An operator without an operand.
    #[error(
        "the expression is incomplete: nothing stands {side} the `{operator}` in `{part}`; add a number there, as in `2 + 3`"
    )]
    Incomplete {
        /// The operator.
        operator: String,
        /// `before` or `after`.
        side: &'static str,
        /// The part of the expression, possibly truncated.
        part: String,
    },
    /// Something that this calculator does not support.
    #[error("`{what}` at character {at} cannot be used here; {instead}")]
    NotOffered {
        /// What was written.
        what: String,
        /// Counted from 1.
        at: usize,
        /// What to write instead.
        instead: &'static str,
    },
    /// A statement whose value is not a number, but is used by the next ones.
    #[error("`{0}` is not a number; only numbers, with or without a unit, can be used by the next statement")]
    NotANumber(String),
    /// The calculator refused it.
    #[error(
        "cannot calculate `{expression}`: {reason}. Write it for example like `15% of 80`, `5 km to miles`, \
         `sqrt(2) to 20 dp`, `2^100`"
    )]
    Refused {
        /// As it was given, possibly truncated.
        expression: String,
        /// The calculator's message.
        reason: String,
    },
    /// The time limit is over.
    #[error("this takes too long to calculate, so it was stopped; use smaller numbers or an approximation")]
    TooSlow,
    /// The calculator failed.
    #[error("the calculator failed on this expression; write it in another way")]
    Failed,
}

/// The specification of `calculate`.
pub fn calculate_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "calculate",
        title: "Calculator",
        description: "Calculates exactly, with numbers of any size, percentages, physical units, unit conversion, \
                      roots, logarithms, trigonometry and number bases. Use it for every calculation beyond mental \
                      arithmetic.",
        input_schema: schema_of::<CalculateArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// Calculates off the caller's thread. Dropping the future usually ends the calculation as well: some functions of fend
/// cannot be interrupted. `place` is dropped when it has really ended.
pub async fn calculate<T: Send + 'static>(
    arguments: CalculateArguments,
    limit: Duration,
    place: T,
) -> Result<ToolboxOutput, CalculateError> {
    let work = move |is_over: &(dyn Fn() -> bool + Sync)| {
        let outcome = calculate_blocking(&arguments, is_over);
        drop(place);
        outcome
    };
    match blocking::run_until(limit, work).await {
        Ok(outcome) => outcome,
        Err(UnfinishedWork::TooSlow) => Err(CalculateError::TooSlow),
        Err(UnfinishedWork::Failed) => Err(CalculateError::Failed),
    }
}

/// Calculates on a thread with its own stack, and waits for it. Usually ends soon after `is_over` returns `true`: some
/// functions of fend cannot be interrupted. Servers should calculate in a process that can be killed.
pub fn calculate_blocking(
    arguments: &CalculateArguments,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<ToolboxOutput, CalculateError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("calculate".to_owned()).stack_size(STACK_BYTES);
        // A panic of fend ends the thread, not the process.
        let running = thread.spawn_scoped(scope, || calculate_here(arguments, is_over));
        running.map_err(|_| CalculateError::Failed)?.join().unwrap_or(Err(CalculateError::Failed))
    })
}

/// Calculates on this thread, which needs a stack of 32 MiB. fend may panic.
pub fn calculate_here(
    arguments: &CalculateArguments,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<ToolboxOutput, CalculateError> {
    let expression = arguments.expression.as_str();
    let steps = form::split_steps(expression)?;
    match evaluate_steps(&steps, is_over) {
        Ok(result) => Ok(calculation_output(expression, &result)),
        Err(CalculateError::Refused { reason, .. }) => {
            let expression = truncate_text(expression, SHOWN_CHARS);
            Err(CalculateError::Refused { expression, reason: truncate_text(&reason, SHOWN_CHARS * 2) })
        }
        Err(other) => Err(other),
    }
}

/// Evaluates the steps in order and returns the last result. All share one context, which is dropped here.
fn evaluate_steps(
    steps: &[CalculationStep],
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<String, CalculateError> {
    let mut context = Context::new();
    let mut evaluate = |code: &str, shows: bool| {
        // Printing a large number takes longer than calculating it, and only the last one is shown.
        context.set_echo_result(shows);
        match fend_core::evaluate_with_interrupt(code, &mut context, &InterruptCheck(is_over)) {
            Ok(done) => Ok(done.get_main_result().trim().to_owned()),
            Err(_) if is_over() => Err(CalculateError::TooSlow),
            Err(reason) => Err(CalculateError::Refused { expression: String::new(), reason }),
        }
    };
    let Some((last, before)) = steps.split_last() else { return Err(CalculateError::Empty) };
    for step in before {
        evaluate(&step.code, false)?;
        // Only numbers can be converted to a bool. `ans` is fend's name for the last result.
        if step.is_statement && matches!(evaluate("ans to bool", false), Err(CalculateError::Refused { .. }))
        {
            return Err(CalculateError::NotANumber(truncate_text(&step.code, SHOWN_CHARS)));
        }
    }
    let result = evaluate(&last.code, true)?;
    if result.is_empty() {
        let reason = "it has no result".to_owned();
        return Err(CalculateError::Refused { expression: String::new(), reason });
    }
    Ok(result)
}

fn calculation_output(expression: &str, result: &str) -> ToolboxOutput {
    let length = result.chars().count();
    let is_cut = length > MAX_RESULT_CHARS;
    let shown = truncate_text(result, MAX_RESULT_CHARS);
    let text = if is_cut {
        format!("{shown}\n(cut: the result has {length} characters; add `to 20 sf` for a rounded one)")
    } else {
        shown.clone()
    };
    let structured = json!({ "expression": expression, "result": shown, "cut": is_cut });
    ToolboxOutput { text, structured: Some(structured) }
}

struct InterruptCheck<'a>(&'a (dyn Fn() -> bool + Sync));

impl Interrupt for InterruptCheck<'_> {
    fn should_interrupt(&self) -> bool {
        (self.0)()
    }
}

#[cfg(test)]
mod tests;
