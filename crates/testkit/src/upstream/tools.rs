//! The tools: a handful of plain ones for tests, and the way into those of the conformance suite.

use serde_json::{Value, json};

use super::{
    conformance,
    message::{Call, Failure, text, tool_error},
    state::{Inner, List},
};

/// Most steps that the tool `steps` takes.
const MAX_STEPS: u64 = 1_000;

/// Tools that answer what they are told.
pub(super) fn definitions() -> Vec<Value> {
    vec![
        json!({
            "name": "echo",
            "title": "Echo",
            "description": "Says the text again.",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            },
            "annotations": { "readOnlyHint": true },
        }),
        json!({
            "name": "add",
            "description": "Adds two numbers.",
            "inputSchema": {
                "type": "object",
                "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
                "required": ["a", "b"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "sum": { "type": "number" } },
                "required": ["sum"],
            },
        }),
        json!({
            "name": "fail",
            "description": "Fails, and says so in its result.",
            "inputSchema": { "type": "object", "additionalProperties": false },
        }),
        json!({
            "name": "steps",
            "description": "Reports progress; each step waits to be let through.",
            "inputSchema": {
                "type": "object",
                "properties": { "count": { "type": "integer", "minimum": 1, "maximum": MAX_STEPS } },
                "required": ["count"],
            },
        }),
    ]
}

impl Inner {
    pub(super) async fn call_tool(&self, call: &Call) -> Result<Value, Failure> {
        let listed = self.script.lock().unwrap().lists.find(List::Tools, call.target());
        if listed.is_none() {
            return Err(Failure::params(format!("Unknown tool: {}", call.target())));
        }
        match call.target() {
            "echo" => Ok(text(call.argument("text").as_str().unwrap_or_default())),
            "add" => {
                let sum = call.argument("a").as_f64().zip(call.argument("b").as_f64()).map(|(a, b)| a + b);
                let sum = sum.ok_or_else(|| Failure::params("a and b have to be numbers"))?;
                let mut result = text(sum.to_string());
                result["structuredContent"] = json!({ "sum": sum });
                Ok(result)
            }
            "fail" => Ok(tool_error("It failed, as it was told to.")),
            "steps" => Ok(self.steps(call).await),
            _ => match conformance::call(self, call).await {
                Some(answer) => answer,
                // A tool that a test put on the list: it says what it was given.
                None => Ok(text(call.params["arguments"].to_string())),
            },
        }
    }

    async fn steps(&self, call: &Call) -> Value {
        let count = call.argument("count").as_u64().unwrap_or(1).min(MAX_STEPS);
        for step in 1..=count {
            self.gate.acquire().await.unwrap().forget();
            call.progress(step, count).await;
        }
        text(format!("{count} steps"))
    }
}
