//! Converts what the engine or the code threw to a sandbox error.

use rquickjs::{Ctx, Object, Value};

use super::script::HostScript;
use super::state::EngineState;
use crate::error::{SandboxError, SourcePosition};

/// The text before the author's first line, on the same line.
pub(super) const BEFORE: &str = "(async function (args) {";

/// The error that was not caught.
pub(super) fn uncaught_error<'js>(
    script: &HostScript<'js>,
    state: &EngineState,
    ctx: &Ctx<'js>,
) -> SandboxError {
    let value = ctx.catch();
    if let Some(ended) = state.end_reason() {
        return ended;
    }
    // If there is not even memory for the error, the engine throws null.
    let described = if value.is_null() { None } else { describe_thrown(script, value) };
    // Reading it may have run foreign code for too long.
    if let Some(ended) = state.end_reason() {
        return ended;
    }
    match described {
        Some((name, text, stack)) => to_sandbox_error(state, &name, &text, &stack),
        None => out_of_memory(state),
    }
}

fn describe_thrown<'js>(script: &HostScript<'js>, value: Value<'js>) -> Option<(String, String, String)> {
    let described: Object<'js> = script.describe.call((value,)).ok()?;
    Some((described.get("name").ok()?, described.get("text").ok()?, described.get("stack").ok()?))
}

pub(super) fn out_of_memory(state: &EngineState) -> SandboxError {
    SandboxError::OutOfMemory { limit: state.limits.memory }
}

/// The engine reports an exceeded limit only by these two names and texts. Code that throws the same itself only
/// misleads its author.
pub(super) fn to_sandbox_error(state: &EngineState, name: &str, text: &str, stack: &str) -> SandboxError {
    let place = innermost_position(stack, state.code_file());
    match (name, text) {
        ("InternalError", "out of memory") => out_of_memory(state),
        ("RangeError", "Maximum call stack size exceeded") => SandboxError::StackOverflow { place },
        ("", text) => SandboxError::Thrown { text: text.to_owned(), place },
        (name, text) => SandboxError::Thrown { text: format!("{name}: {text}"), place },
    }
}

/// The innermost position in the author's code.
fn innermost_position(stack: &str, file: &str) -> Option<SourcePosition> {
    stack.lines().find_map(|line| {
        let (_, numbers) = line.rsplit_once(&format!("{file}:"))?;
        let (line, column) = numbers.trim_end_matches(')').split_once(':')?;
        let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
        let before = if line == 1 { BEFORE.len() as u32 } else { 0 };
        Some(SourcePosition { line, column: column.saturating_sub(before).max(1) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_in_the_authors_code_counts() {
        let stack = "    at parse (native)\n    at parse (toolyard:sandbox:3:4)\n    at f (a.js:7:12)\n    at a.js:9:1\n";
        assert_eq!(innermost_position(stack, "a.js"), Some(SourcePosition { line: 7, column: 12 }));
        assert_eq!(
            innermost_position("    at a.js:1:25\n", "a.js"),
            Some(SourcePosition { line: 1, column: 1 })
        );
        assert_eq!(
            innermost_position("    at a.js:1:2\n", "a.js"),
            Some(SourcePosition { line: 1, column: 1 })
        );
    }

    #[test]
    fn a_stack_of_any_form_is_read() {
        for stack in ["", "a.js", "a.js:", "a.js:x:y", "a.js:1", "a.js:99999999999:1", "a.js:1:2:3"] {
            assert_eq!(innermost_position(stack, "a.js"), None, "{stack}");
        }
    }
}
