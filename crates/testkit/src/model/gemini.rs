//! Gemini's streams. Calls come complete and without ids.

use serde_json::{Value, json};

use super::{
    reply::{ReplyPiece, ScriptedReply, VendorQuirk},
    server::StreamStep,
};

/// The reply as a stream.
pub(super) fn gemini_stream(reply: &ScriptedReply) -> Vec<StreamStep> {
    let mut out = Vec::new();
    let mut signature = None;
    for piece in &reply.pieces {
        let part = match piece {
            ReplyPiece::Text(text) => json!({ "text": text }),
            ReplyPiece::Reasoning(text) => json!({ "text": text, "thought": true }),
            ReplyPiece::Signature(text) => {
                signature = Some(text.clone());
                continue;
            }
            ReplyPiece::Call { name, arguments } => {
                let text = arguments.concat();
                let args: Value =
                    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
                let mut part = json!({ "functionCall": { "name": name, "args": args } });
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = signature.into();
                }
                part
            }
            ReplyPiece::Hold => {
                out.push(StreamStep::Hold);
                continue;
            }
            ReplyPiece::Error(error) => {
                out.push(gemini_event(&json!({ "error": error })));
                return out;
            }
            ReplyPiece::Cut => {
                out.push(StreamStep::Cut);
                return out;
            }
            ReplyPiece::Raw(text) => {
                out.push(StreamStep::Text(text.clone()));
                continue;
            }
        };
        out.push(gemini_event(
            &json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] }),
        ));
    }
    if !reply.has_quirk(VendorQuirk::NoDone) {
        let (input, output) = reply.usage.unwrap_or_default();
        let stop = reply.stop.as_deref().unwrap_or("STOP");
        out.push(gemini_event(&json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": stop }],
            "usageMetadata": { "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output } })));
    }
    out
}

fn gemini_event(body: &Value) -> StreamStep {
    StreamStep::Text(format!("data: {body}\r\n\r\n"))
}
