//! The tools that the official conformance suite calls by name, and the results that it expects.
//! Tools that ask the client are in `questions`, tools that become tasks in `jobs`.

use serde_json::{Value, json};

use super::{
    jobs,
    message::{RpcFailure, UpstreamCall, text_result, tool_error},
    questions,
    state::{OfferListKind, UpstreamShared},
};

/// A red pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// Silence.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

fn tool_definition(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "additionalProperties": false },
    })
}

fn tool_with(name: &str, description: &str, argument: &str, about: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": { argument: { "type": "string", "description": about } },
            "required": [argument],
        },
    })
}

/// The tools of the suite. The first one must run without arguments: the suite calls whichever is first.
pub(super) fn conformance_tools() -> Vec<Value> {
    let mut tools: Vec<_> = [
        ("test_simple_text", "Answers a text."),
        ("test_image_content", "Answers an image."),
        ("test_audio_content", "Answers a sound."),
        ("test_embedded_resource", "Answers a resource."),
        ("test_multiple_content_types", "Answers a text, an image and a resource."),
        ("test_tool_with_logging", "Logs three times."),
        ("test_logging_tool", "Logs once."),
        ("test_error_handling", "Fails."),
        ("test_tool_with_progress", "Reports progress three times."),
        ("test_missing_capability", "Runs only for clients that can sample."),
        ("test_trigger_tool_change", "Changes the list of tools."),
        ("test_trigger_prompt_change", "Changes the list of prompts."),
        ("test_trigger_resource_update", "Changes the watched resource."),
        ("test_reconnection", "Ends its stream before the answer, which waits for a reconnection."),
    ]
    .map(|(name, description)| tool_definition(name, description))
    .into();
    tools.extend(questions::TOOLS.map(|(name, description)| tool_definition(name, description)));
    tools.push(tool_with("test_sampling", "Asks the client's model.", "prompt", "What to ask"));
    tools.push(tool_with("test_elicitation", "Asks the user.", "message", "What to show"));
    tools.push(json!({
        "name": "test_x_mcp_header",
        "description": "Wants its arguments in headers as well.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "region": { "type": "string", "x-mcp-header": "Region" },
                "shard": { "type": "integer", "x-mcp-header": "Shard" },
            },
            "required": ["region"],
        },
    }));
    tools.push(json_schema_tool());
    tools
}

/// The suite compares this schema keyword by keyword.
fn json_schema_tool() -> Value {
    json!({
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        },
    })
}

fn resource_block(uri: &str, mime: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } })
}

/// Runs a tool of the suite. `None` if it is not one of them.
pub(super) async fn call_conformance_tool(
    inner: &UpstreamShared,
    call: &UpstreamCall,
) -> Option<Result<Value, RpcFailure>> {
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    Some(Ok(match call.target() {
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [image] }),
        "test_audio_content" => {
            json!({ "content": [{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }] })
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            json!({ "content": [resource_block("test://embedded-resource", "text/plain", text)] })
        }
        "test_multiple_content_types" => json!({ "content": [
            { "type": "text", "text": "Multiple content types test:" },
            image,
            resource_block("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ] }),
        "test_tool_with_logging" => {
            for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                call.send_log("info", line).await;
            }
            text_result("Logged three times.")
        }
        "test_logging_tool" => {
            call.send_log("info", "This is the log").await;
            text_result("Logged once.")
        }
        "test_error_handling" => tool_error("This tool intentionally returns an error for testing"),
        "test_tool_with_progress" => {
            for progress in [0, 50, 100] {
                call.report_progress(progress, 100).await;
            }
            text_result("Progress was reported.")
        }
        "test_missing_capability" if call.client_can("sampling") => text_result("The client can sample."),
        "test_missing_capability" => {
            return Some(Err(RpcFailure::missing_capability(json!({ "sampling": {} }))));
        }
        "test_trigger_tool_change" => {
            inner.toggle_and_announce(
                OfferListKind::Tools,
                tool_definition("test_changed_tool", "Comes and goes."),
            );
            text_result("The list of tools changed.")
        }
        "test_trigger_prompt_change" => {
            let prompt = json!({ "name": "test_changed_prompt", "description": "Comes and goes." });
            inner.toggle_and_announce(OfferListKind::Prompts, prompt);
            text_result("The list of prompts changed.")
        }
        "test_trigger_resource_update" => {
            inner.announce_resource("test://watched-resource");
            text_result("The watched resource changed.")
        }
        "test_reconnection" => text_result("The answer came after the reconnection."),
        "test_x_mcp_header" => {
            text_result(format!("region={} shard={}", call.argument("region"), call.argument("shard")))
        }
        "json_schema_2020_12_tool" => text_result("The schema was kept."),
        name => match questions::call_asking_tool(inner, call, name).await {
            Some(answer) => return Some(answer),
            None => return jobs::call_job_tool(inner, call).await,
        },
    }))
}

impl UpstreamShared {
    /// Really changes a list, so that clients that read it again see a difference, and announces the change.
    fn toggle_and_announce(&self, list: OfferListKind, item: Value) {
        self.script.lock().unwrap().lists.toggle_item(list, item);
        self.announce_list(list);
    }
}
