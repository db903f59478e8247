//! Converts the outcome of a run to the result or the error of the call.

use serde_json::{Value, value::RawValue};
use toolyard_core::{Tool, ToolError};
use toolyard_protocol::{
    ErrorCode,
    result::{McpResult, ToolResult},
};
use toolyard_sandbox::SandboxError;

/// A string becomes text. An object becomes structured content, with its JSON as text. Everything else becomes its
/// JSON.
pub(super) fn to_tool_result(json: &RawValue) -> ToolResult {
    let mcp = match serde_json::from_str(json.get()) {
        Ok(Value::String(text)) => McpResult::from_text(&text),
        Ok(Value::Object(_)) => McpResult::from_text(json.get()).with_structured(json),
        _ => McpResult::from_text(json.get()),
    };
    ToolResult::from_mcp(mcp)
}

/// Maps a sandbox error to an error code.
pub(super) fn to_tool_error(error: SandboxError, tool: &Tool) -> ToolError {
    let code = match &error {
        SandboxError::Syntax { .. }
        | SandboxError::Thrown { .. }
        | SandboxError::OutOfMemory { .. }
        | SandboxError::StackOverflow { .. }
        | SandboxError::NeverSettled
        | SandboxError::TooManyHostCalls { .. }
        | SandboxError::SourceTooLarge { .. }
        | SandboxError::Crashed { .. }
        | SandboxError::Broken { .. } => ErrorCode::ExecutionError,
        SandboxError::TimedOut { .. } | SandboxError::TooMuchWork { .. } => ErrorCode::Timeout,
        SandboxError::OutputTooLarge { .. }
        | SandboxError::OutputTooDeep { .. }
        | SandboxError::NotJson { .. } => ErrorCode::InvalidResponse,
        SandboxError::InputTooLarge { .. } => ErrorCode::InvalidArguments,
        SandboxError::Cancelled => ErrorCode::Cancelled,
        SandboxError::TooManyRuns { .. } | SandboxError::Busy => ErrorCode::Overloaded,
    };
    if let SandboxError::Broken { text } = error {
        // Not the fault of the code, and of no use to a model.
        let message = format!("{} could not be run: the sandbox failed.", tool.name);
        return ToolError::new(code, message).with_cause(text);
    }
    let failed = ToolError::new(code, format!("{} failed: {error}", tool.name));
    if code == ErrorCode::Timeout { failed.retryable_if(tool.definition.is_harmless()) } else { failed }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::raw::to_raw;

    use super::*;

    #[test]
    fn texts_objects_and_the_rest() {
        let of = |value: Value| {
            serde_json::from_str::<Value>(to_tool_result(&to_raw(&value)).mcp.raw().get()).unwrap()
        };
        let text = of("hi".into());
        assert_eq!((&text["content"][0]["text"], &text["structuredContent"]), (&"hi".into(), &Value::Null));
        let object = of(serde_json::json!({ "a": 1 }));
        assert_eq!(object["content"][0]["text"], r#"{"a":1}"#);
        assert_eq!(object["structuredContent"]["a"], 1);
        for (value, written) in [(serde_json::json!([1]), "[1]"), (5.into(), "5"), (Value::Null, "null")] {
            let result = of(value);
            assert_eq!(
                (&result["content"][0]["text"], &result["structuredContent"]),
                (&written.into(), &Value::Null)
            );
        }
    }
}
