//! The tools: a few plain ones for tests, and the dispatch to those of the conformance suite.

use serde_json::{Value, json};

use super::{
    conformance,
    message::{RpcFailure, UpstreamCall, text_result, tool_error},
    state::{OfferListKind, UpstreamShared},
};

/// Maximum number of steps that the tool `steps` takes.
const MAX_STEPS: u64 = 1_000;

/// Plain tools.
pub(super) fn echo_tools() -> Vec<Value> {
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

impl UpstreamShared {
    pub(super) async fn call_tool(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        let listed = self.script.lock().unwrap().lists.find_item(OfferListKind::Tools, call.target());
        if listed.is_none() {
            return Err(RpcFailure::invalid_params(format!("Unknown tool: {}", call.target())));
        }
        match call.target() {
            "echo" => Ok(text_result(call.argument("text").as_str().unwrap_or_default())),
            "add" => {
                let sum = call.argument("a").as_f64().zip(call.argument("b").as_f64()).map(|(a, b)| a + b);
                let sum = sum.ok_or_else(|| RpcFailure::invalid_params("a and b have to be numbers"))?;
                let mut result = text_result(sum.to_string());
                result["structuredContent"] = json!({ "sum": sum });
                Ok(result)
            }
            "fail" => Ok(tool_error("It failed, as it was told to.")),
            "steps" => Ok(self.run_steps(call).await),
            _ => match conformance::call_conformance_tool(self, call).await {
                Some(answer) => answer,
                // A tool that a test added to the list: it returns its arguments.
                None => Ok(text_result(call.params["arguments"].to_string())),
            },
        }
    }

    async fn run_steps(&self, call: &UpstreamCall) -> Value {
        let count = call.argument("count").as_u64().unwrap_or(1).min(MAX_STEPS);
        for step in 1..=count {
            self.gate.acquire().await.unwrap().forget();
            call.report_progress(step, count).await;
        }
        text_result(format!("{count} steps"))
    }
}
