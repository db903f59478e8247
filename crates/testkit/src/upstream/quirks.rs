//! Messages of real servers that a client must survive.

use serde_json::{Value, json};

/// Invalid definitions; none may affect the valid ones.
pub fn bad_tools() -> Vec<Value> {
    vec![
        json!({ "name": "no_schema", "description": "Has no inputSchema." }),
        json!({ "name": 7, "inputSchema": { "type": "object" } }),
        json!({ "description": "Has no name.", "inputSchema": { "type": "object" } }),
        json!({ "name": "", "inputSchema": { "type": "object" } }),
        json!({ "name": "schema_is_text", "inputSchema": "object" }),
        json!({ "name": "output_is_true", "inputSchema": { "type": "object" }, "outputSchema": true }),
        json!({ "name": "bad_schema", "inputSchema": { "type": "object", "required": "not a list" } }),
        json!("not even an object"),
        Value::Null,
    ]
}

/// A valid definition with fields that no revision defines.
pub fn tool_with_unknown_fields() -> Value {
    json!({
        "name": "unknown_fields",
        "title": "Unknown fields",
        "description": "Carries fields of vendors and of later revisions.",
        "inputSchema": { "type": "object", "x-vendor": { "kept": true }, "additionalProperties": true },
        "annotations": { "readOnlyHint": true, "vendorHint": "kept" },
        "execution": { "taskSupport": "optional" },
        "securitySchemes": [{ "type": "noauth" }],
        "_meta": { "openai/outputTemplate": "ui://widget", "ui": { "resourceUri": "ui://widget" } },
        "fromTheFuture": [1, 2, 3],
    })
}

/// A result with a block of an undefined type, and undefined fields next to known ones.
pub fn unknown_content() -> Value {
    json!({
        "content": [
            { "type": "text", "text": "before", "vendorField": 1 },
            { "type": "hologram", "frames": [1, 2, 3] },
            { "type": "text", "text": "after" },
        ],
        "vendorResult": { "kept": true },
    })
}

/// A result with one text of this many bytes.
pub fn huge_result(bytes: usize) -> Value {
    json!({ "content": [{ "type": "text", "text": "x".repeat(bytes) }] })
}
